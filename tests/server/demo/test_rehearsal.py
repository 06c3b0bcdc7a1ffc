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
from askew_server.demo.places import GERMANY, german_towns, places_model
from askew_server.demo.rehearsal import RehearsedRules
from askew_server.retrieval.near.answers import MetricAnswers

NOISE = MapNoise.in_region(Fraction(277, 1000), GERMANY)
HERE, THERE = (50.5, 9.7), (53.5, 10.1)
K = 7


@pytest.fixture(scope="module")
def model() -> MetricModel:
    return places_model()


@pytest.fixture(scope="module")
def rehearsal(model: MetricModel) -> RehearsedRules:
    return RehearsedRules(model, german_towns().towns)


def question(at: tuple[float, float], k: int = K, collection: str = "food") -> Query:
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


def test_the_list_for_everybody_does_not_look_at_the_signal(rehearsal: RehearsedRules) -> None:
    """Planted bug: a list for whoever is near the signal."""
    here, there = (rehearsal.answer("everybody", question(at, k=20)) for at in (HERE, THERE))
    assert here.item_ids == there.item_ids
    assert len(here.item_ids) == 20


def test_the_list_for_everybody_is_as_near_to_all_as_twenty_places_can_be(
    rehearsal: RehearsedRules,
) -> None:
    """Of 300 people by the towns' populations: 38 km on average, to twenty places at random 50 to
    75. Planted bug: the first twenty.
    """
    towns = german_towns().towns
    weight = towns.people / towns.people.sum()
    some = np.random.default_rng(7).choice(len(weight), 300, p=weight)
    shared = rehearsal.answer("everybody", question(HERE, k=20))
    mean = np.mean([kilometers(shared, tuple(at))[0] for at in towns.coordinates[some].tolist()])
    assert 20 < mean < 45


def test_every_collection_can_be_asked(rehearsal: RehearsedRules) -> None:
    for way in ("served", "nearest", "everybody"):
        slate = rehearsal.answer(way, question(HERE, collection="pharmacies"))
        assert all("Pharmacy" in each.title for each in slate.listings)


def test_a_way_that_is_not_there_is_refused(rehearsal: RehearsedRules) -> None:
    with pytest.raises(NotFound):
        rehearsal.answer("guess", question(HERE))
