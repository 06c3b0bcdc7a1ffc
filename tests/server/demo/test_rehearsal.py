"""The rows beside the demo's own: each is what it says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askew.dp.privacy import ANY_SPACE
from askew.errors import NotFound
from askew.protocol.metric_card import PlaceSlate
from askew.protocol.signal import Query, Signal
from askew.spaces.map import MICRODEGREES, MapNoise
from askew_server.collections.model import MetricModel
from askew_server.demo.places import GERMANY, places_model
from askew_server.demo.rehearsal import RehearsedRules
from askew_server.retrieval.answers import MetricAnswers

NOISE = MapNoise.in_region(Fraction(277, 1000), GERMANY)
HERE, THERE = (50.5, 9.7), (53.5, 10.1)
K = 7


@pytest.fixture(scope="module")
def model() -> MetricModel:
    return places_model()


@pytest.fixture(scope="module")
def rehearsal(model: MetricModel) -> RehearsedRules:
    return RehearsedRules(model)


def question(at: tuple[float, float], k: int = K, collection: int = 0) -> Query:
    values = tuple(round(each * MICRODEGREES) for each in at)
    return Query(Signal(ANY_SPACE, NOISE, values), k, collection)


def kilometers(slate: PlaceSlate, at: tuple[float, float]) -> list[float]:
    """On a plane that touches the Earth at this place."""
    away = np.array([each.coordinates for each in slate.listings]) - at
    away *= (111.2, 111.2 * np.cos(np.radians(at[0])))
    return sorted(np.linalg.norm(away, axis=1).tolist())


def test_nearest_are_the_nearest_to_the_signal(
    model: MetricModel, rehearsal: RehearsedRules
) -> None:
    found = rehearsal.answer("nearest", question(HERE))
    every = model.collections["food"]
    whole = PlaceSlate(every.card.version, every.listings(range(len(every))))
    assert kilometers(found, HERE) == kilometers(whole, HERE)[:K]


def test_served_is_what_the_server_answers(model: MetricModel, rehearsal: RehearsedRules) -> None:
    expected = MetricAnswers(model).answer(question(HERE))
    assert rehearsal.answer("served", question(HERE)).item_ids == expected.item_ids


def test_the_list_that_all_hold_does_not_look_at_who_holds_it(
    model: MetricModel, rehearsal: RehearsedRules
) -> None:
    """The nearest of one list, which is a fifth of all places. Planted bug: the nearest of all."""
    far = {at: rehearsal.answer("held", question(at, k=20)) for at in (HERE, THERE)}
    every = model.collections["food"]
    whole = PlaceSlate(every.card.version, every.listings(range(len(every))))
    for at, found in far.items():
        assert kilometers(whole, at)[0] <= kilometers(found, at)[0] < 6
        assert kilometers(found, at)[-1] > 1.5 * kilometers(whole, at)[19]


def test_every_collection_can_be_asked(rehearsal: RehearsedRules) -> None:
    for way in ("served", "nearest", "held"):
        slate = rehearsal.answer(way, question(HERE, collection=1))
        assert all("Pharmacy" in each.title for each in slate.listings)


def test_a_way_that_is_not_there_is_refused(rehearsal: RehearsedRules) -> None:
    with pytest.raises(NotFound):
        rehearsal.answer("guess", question(HERE))
