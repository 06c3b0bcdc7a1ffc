"""The rule from a signal to k items: what it promises, and where it looks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_world import made_encoder

from askew import offset_rule
from askew.errors import ParameterError
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.offset_rule import OffsetRule
from askew.placement import Laplace, place
from askew.protocol.signal import Signal

Array = NDArray[np.float64]
RNG = np.random.default_rng(6)
SCORING = RNG.normal(size=(30, 3)).astype(np.float32)
ENCODER = made_encoder()
LATTICE = LatticeLaplace.for_epsilon(Fraction(4))


def signal_at(*coordinates: float) -> Signal:
    return Signal("00" * 16, LATTICE, tuple(round(c / LATTICE.step) for c in coordinates))


COORDINATES = st.integers(-COORDINATE_LIMIT, COORDINATE_LIMIT)


@given(st.tuples(COORDINATES, COORDINATES), st.sampled_from([1, 2, 7, 30]))
def test_any_signal_gets_k_distinct_items_in_ascending_order(
    values: tuple[int, int], k: int
) -> None:
    answer = OffsetRule(ENCODER, SCORING).answer(Signal("00" * 16, LATTICE, values), k)
    assert len(answer) == k
    assert list(answer) == sorted(set(answer) & set(range(30)))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("held", [0, 12])
def test_each_probe_takes_the_best_item_that_is_left(k: int, held: int) -> None:
    """Of those that devices do not hold. Planted bug: of all items."""
    rule, signal = OffsetRule(ENCODER, SCORING, held=held), signal_at(0.5, 1.75)
    chosen: list[int] = []
    tastes = ENCODER.decode(rule.probes(signal, k))
    for number in range(k):
        found = SCORING @ tastes[number % len(tastes)]
        left = [item for item in range(held, 30) if item not in chosen]
        chosen.append(max(left, key=lambda item: float(found[item])))
    assert rule.answer(signal, k) == tuple(sorted(chosen))
    for beyond in (0, 31 - held):
        with pytest.raises(ParameterError, match=f"the number of items, {30 - held}"):
            rule.answer(signal, beyond)


@pytest.mark.parametrize("k", [1, 9, 13])
def test_of_equal_items_the_lowest_ids_come_first(k: int) -> None:
    """Planted bug: equal vectors get numbers that differ in their last digits."""
    encoder = made_encoder(ranking=32)
    encoder = replace(encoder, origin=np.full(32, 0.1, np.float32))
    row = np.random.default_rng(0).normal(size=32).astype(np.float32)
    rule = OffsetRule(encoder, np.tile(row, (13, 1)))
    assert rule.answer(signal_at(0.5, 1.75), k) == tuple(range(k))


def test_far_from_the_edges_the_probes_are_the_optimal_offsets() -> None:
    wide = made_encoder(d=1, ranking=1, unit=64.0)
    probes = OffsetRule(wide, np.ones((9, 1), np.float32)).probes(signal_at(32.0), 5)
    offsets = place(Laplace(4.0), k=5).offsets
    assert sorted(probes[:, 0].tolist()) == pytest.approx((32.0 + offsets).tolist(), abs=1e-9)


def test_no_probe_is_wasted_beyond_the_edge() -> None:
    """Planted bug: clamping probes into the box, which puts several on its edge."""
    line = made_encoder(d=1, ranking=1)
    probes = OffsetRule(line, np.ones((9, 1), np.float32)).probes(signal_at(-0.5), 5)[:, 0]
    assert len(np.unique(np.round(probes, 9))) == 5
    assert probes.min() > 0
    assert probes.max() < 2


def quantile_as_written(levels: Array, point: Array, epsilon: float, unit: float) -> Array:
    """Q(G(offset)) by both halves of the law of Laplace at each end, without a shortcut."""

    def law(t: Array) -> Array:
        return np.where(t < 0, 0.5 * np.exp(-np.abs(t)), 1 - 0.5 * np.exp(-np.abs(t)))

    center = np.clip(point, 0.0, unit)
    low, high = law(epsilon * -center), law(epsilon * (unit - center))
    q = low + levels * (high - low)
    tail = np.log(2 * np.clip(np.minimum(q, 1 - q), 1e-300, 0.5))
    return np.asarray(np.clip(center + np.where(q < 0.5, tail, -tail) / epsilon, 0.0, unit))


@pytest.mark.parametrize("epsilon", [1 / 1024, 0.1, 1.0, 3.7, 1024.0])
def test_a_probe_is_to_the_bit_where_the_formula_puts_it(epsilon: float) -> None:
    """Planted bugs: the upper edge's tail for the lower; the middle counted to the lower half."""
    rng = np.random.default_rng(6)
    for unit in (0.5, 1.5, 64.0):
        levels = np.vstack([rng.random((200, 3)), np.tile([[0.0], [0.5], [1.0]], 3)])
        for point in [*rng.normal(unit / 2, unit, (40, 3)), unit * np.array([0, 0.5, 1])]:
            expected = quantile_as_written(levels, point, epsilon, unit)
            np.testing.assert_array_equal(
                offset_rule._inside(levels, point, epsilon, unit), expected
            )
