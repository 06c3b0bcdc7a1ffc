"""What a law costs that nobody asked by before, and what is kept of those that somebody did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from near_world import (
    BOTH,
    DAY,
    EARTH,
    EQUATOR,
    INLAND,
    ISLANDS,
    LINE,
    NORTH,
    POSTS,
    RING,
    places,
    point_of,
    signal_at,
)
from small_collections import DAY as DAY_SPACE
from small_collections import GERMANY, posts

from askew.noise.lattice import LatticeLaplace
from askew.placement.axes import offsets_on_axes, place_on_axes
from askew.placement.problem import Identity
from askew.protocol.rule_kind import MetricRuleKind as Kind
from askew.protocol.signal import Query, Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import MapNoise, MapSpace
from askew.wire import convert
from askew_server.collections.model import model_of
from askew_server.retrieval.near import MetricAnswers, MetricIndex, served_rule_of
from askew_server.retrieval.near.density import CACHED_LAWS, Laws
from askew_server.retrieval.snapshot import Snapshot, SnapshotHolder
from askew_server.serving.call import Job
from askew_server.serving.retrieval import RetrievalService

WEEK = replace(DAY, name="week", high=168.0)
SPACES = (LINE, RING, BOTH, AxisSpace((DAY, WEEK)), AxisSpace((POSTS, DAY, WEEK)))


def on_axes(space: AxisSpace, epsilon: Fraction = Fraction(1, 4)) -> Signal:
    return point_of(space, *[3.0] * space.dimension, epsilon=epsilon)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("k", [1, 2, 9, 20, 64])
def test_offsets_alone_are_those_of_the_placement(space: AxisSpace, k: int) -> None:
    for epsilon in (Fraction(1, 8), Fraction(5, 3), Fraction(7)):
        lattice = LatticeLaplace.for_epsilon(epsilon)
        placed = place_on_axes(space, lattice, k).offsets
        assert np.array_equal(offsets_on_axes(space, lattice, k, Identity()), placed)


def test_on_one_ring_a_new_law_is_dear_and_free_once_it_is_known() -> None:
    rule = served_rule_of(Kind.CODEBOOK, MetricIndex(RING, np.linspace(0, 23, 90)[:, None]))
    first, second = on_axes(RING), on_axes(RING, Fraction(1, 3))
    assert rule.cost(first, 20) == 14
    rule.choose(first, 20)
    assert rule.cost(point_of(RING, 17.0, epsilon=Fraction(1, 4)), 20) == 0
    assert rule.cost(second, 20) == 14
    assert rule.cost(first, 8) == 8, "another k is another placement"


@pytest.mark.parametrize("space", [LINE, BOTH])
def test_where_offsets_are_at_hand_no_law_is_dear(space: AxisSpace) -> None:
    values = np.random.default_rng(1).random((90, space.dimension)) * 20
    rule = served_rule_of(Kind.CODEBOOK, MetricIndex(space, values))
    assert [rule.cost(on_axes(space), k) for k in (1, 20, 31, 32, 64)] == [0, 0, 0, 1, 2]


def test_who_looks_at_people_takes_a_place_and_more_for_many_results() -> None:
    index = MetricIndex(MapSpace(INLAND), places(INLAND, 90))
    signal = signal_at(49.0, 9.0, MapNoise.in_region(Fraction(277, 1000), INLAND))
    costs = [served_rule_of(kind, index).cost(signal, 20) for kind in (Kind.CODEBOOK, Kind.ITEMS)]
    assert costs == [0, 1]
    assert served_rule_of(Kind.ITEMS, index).cost(signal, 64) == 3
    ring = served_rule_of(Kind.ITEMS, MetricIndex(RING, np.linspace(0, 23, 90)[:, None]))
    assert ring.cost(on_axes(RING), 20) == 15


@pytest.mark.parametrize("kind", [Kind.CODEBOOK, Kind.ITEMS])
def test_nothing_that_is_kept_tells_in_which_region_somebody_asked(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plane of a signal is that of somebody's country.

    Planted bugs: laws by all that a noise says; what is kept made in the plane of the first.
    """
    made = list[Signal]()

    def counted(laws: Laws[Any], make: Callable[[Signal, int], Any]) -> None:
        def told(law: Signal, k: int) -> Any:
            made.append(law)
            return make(law, k)

        plain(laws, told)

    plain = Laws.__init__
    monkeypatch.setattr(Laws, "__init__", counted)
    index, epsilon = MetricIndex(MapSpace(EARTH), places(EARTH, 3_000)), Fraction(277, 10_000)
    rule = served_rule_of(kind, index)
    asked = [
        signal_at(region.south + 1.0, region.west + 1.0, MapNoise.in_region(epsilon, region))
        for region in (NORTH, EQUATOR, ISLANDS)
    ]
    found = [rule.choose(signal, 20).tolist() for signal in asked]
    assert len(made) == (1 if kind is Kind.CODEBOOK else 2)
    assert found == [served_rule_of(kind, index).choose(signal, 20).tolist() for signal in asked]
    assert len(set(map(repr, made))) == 1


def test_only_the_last_laws_are_kept_and_a_law_in_use_stays() -> None:
    made: list[tuple[Signal, int]] = []

    def make(law: Signal, k: int) -> np.ndarray:
        made.append((law, k))
        return np.full(2, k)

    laws, signal = Laws(make), on_axes(BOTH)
    for k in range(CACHED_LAWS):
        laws.of(signal, k)
    assert laws.of(signal, 0).tolist() == [0, 0]
    laws.of(signal, CACHED_LAWS)
    assert laws.knows(signal, 0)
    assert not laws.knows(signal, 1)
    assert len(made) == CACHED_LAWS + 1
    assert made[5] == (replace(signal, values=(0, 0)), 5), "of the law alone, not of the signal"


def test_a_service_answers_a_cheap_question_at_once_and_gives_a_dear_one_as_a_job() -> None:
    for space, signal, cost in (
        (GERMANY, signal_at(49.0, 9.0, MapNoise.in_region(Fraction(277, 1000), INLAND)), 0),
        (DAY_SPACE, on_axes(DAY_SPACE), 8),
    ):
        model = model_of(space, [posts(space)], rule=Kind.CODEBOOK)
        answers = MetricAnswers(model)
        service = RetrievalService(SnapshotHolder(Snapshot(model.card, answers)))
        query = Query(signal, 8, "posts")
        reply = service.methods["Retrieve"](convert.query_to_bytes(query), Nobody())
        if cost:
            assert isinstance(reply, Job)
            assert reply.cost == cost
            reply = reply.run()
        assert reply == convert.slate_to_bytes(answers.answer(query), model.card)


class Nobody:
    def authorization(self) -> tuple[str, ...]:
        return ()
