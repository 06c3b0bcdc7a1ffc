"""What an answer costs, and what is kept of the laws that somebody asked by."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from near_world import EARTH, EQUATOR, INLAND, ISLANDS, NORTH, places, signal_at
from small_collections import GERMANY, POSTS, posts

from askew.placement.problem import Disutility
from askew.protocol.cards import MetricRuleKind as Kind
from askew.protocol.signal import Query
from askew.spaces.map import MapNoise, MapSpace
from askew.wire.places import places_to_bytes
from askew.wire.queries import query_to_bytes
from askew_server.collections.model import model_of
from askew_server.retrieval.answers import MetricAnswers, near_rule_of
from askew_server.retrieval.density import CACHED_LAWS
from askew_server.retrieval.index import MapFrame, MetricIndex
from askew_server.retrieval.snapshot import SnapshotHolder
from askew_server.serving.call import Job
from askew_server.serving.retrieval import RetrievalService

SIGNAL = signal_at(49.0, 9.0, MapNoise.in_region(Fraction(277, 1000), INLAND))


@pytest.mark.parametrize(
    ("kind", "slots"), [(Kind.CODEBOOK, [0, 0, 0, 1, 2]), (Kind.ITEMS, [1, 1, 1, 2, 3])]
)
def test_an_answer_takes_slots_by_its_results_and_one_to_look_at_people(
    kind: Kind, slots: list[int]
) -> None:
    rule = near_rule_of(kind, MetricIndex(MapSpace(INLAND), places(INLAND, 90)), served=True)
    assert [rule.slots(SIGNAL, k) for k in (1, 20, 31, 32, 64)] == slots


@pytest.mark.parametrize("kind", [Kind.CODEBOOK, Kind.ITEMS])
def test_nothing_that_is_kept_tells_in_which_region_somebody_asked(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plane of a signal is that of somebody's country. Planted bug: laws by all that a noise
    says.
    """
    made = list[float]()

    def told(plain: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        def frame_with(frame: MapFrame, epsilon: float, *more: object) -> np.ndarray:
            made.append(epsilon)
            return plain(frame, epsilon, *more)

        return frame_with

    for name in ("noise", "offsets"):
        monkeypatch.setattr(MapFrame, name, told(getattr(MapFrame, name)))
    index, epsilon = MetricIndex(MapSpace(EARTH), places(EARTH, 3_000)), Fraction(277, 10_000)
    rule = near_rule_of(kind, index, served=True)
    asked = [
        signal_at(region.south + 1.0, region.west + 1.0, MapNoise.in_region(epsilon, region))
        for region in (NORTH, EQUATOR, ISLANDS)
    ]
    found = [rule.choose(signal, 20).tolist() for signal in asked]
    assert len(made) == (1 if kind is Kind.CODEBOOK else 2)
    assert found == [
        near_rule_of(kind, index, served=True).choose(signal, 20).tolist() for signal in asked
    ]


def test_only_the_last_laws_are_kept_and_a_law_in_use_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, plain = list[int](), MapFrame.offsets

    def counted(frame: MapFrame, epsilon: float, h: Disutility, k: int) -> np.ndarray:
        made.append(k)
        return plain(frame, epsilon, h, k)

    monkeypatch.setattr(MapFrame, "offsets", counted)
    rule = near_rule_of(Kind.CODEBOOK, MetricIndex(MapSpace(INLAND), places(INLAND, 300)))
    for k in (*range(1, CACHED_LAWS + 1), 1, CACHED_LAWS + 1, 1):
        rule.choose(SIGNAL, k)
    assert len(made) == CACHED_LAWS + 1
    rule.choose(SIGNAL, 2)
    assert len(made) == CACHED_LAWS + 2


def test_a_service_answers_a_cheap_question_at_once_and_gives_a_dear_one_as_a_job() -> None:
    model = model_of(GERMANY, [posts(GERMANY, 90)], rule=Kind.CODEBOOK)
    answers = MetricAnswers(model)
    service = RetrievalService(SnapshotHolder(answers.snapshot))
    for k, slots in ((8, 0), (64, 2)):
        query = Query(SIGNAL, k, POSTS)
        reply = service.methods["Retrieve"](query_to_bytes(query), tuple)
        if slots:
            assert isinstance(reply, Job)
            assert reply.slots == slots
            reply = reply.run()
        assert reply == places_to_bytes(answers.answer(query), model.card.collection(POSTS))
