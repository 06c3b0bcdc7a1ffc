"""What is served as `codebook` costs least by its objective, whether or not that was computed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from near_world import BOTH, EARTH, INLAND, ISLANDS, LINE, Array, noisy, places, point_of

from askew.placement.problem import Disutility, Power, Saturating
from askew.protocol.signal import Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace, Region
from askew_server.retrieval.near.index import MetricIndex
from askew_server.retrieval.near.sampled import FEW, LEVELS, ServedCodebook

TOWN = Fraction(277, 1000)


class Thorough(ServedCodebook):
    """Never trusts the bounds but checks them, and counts how often they told, and what else was
    served.
    """

    told = against = 0

    def _is_better(self, by_probe: Array, from_signal: Array, radius: float) -> bool:
        self.now = super()._is_better(by_probe, from_signal, radius)
        self.bounds = by_probe + 1e-3, from_signal - radius - 1e-3
        return False  # so it is asked again, with the least radius

    def _cheaper(self, placed: np.ndarray, near: np.ndarray, people: Array) -> np.ndarray:
        most, least = self.bounds
        assert (self.away(placed, people) <= most).all()
        assert (self.away(near, people) >= least).all()
        self.told += self.now
        found = super()._cheaper(placed, near, people)
        assert found is placed or not self.now, "the bounds told what is not so"
        self.against += found is not placed
        return found

    def away(self, rows: np.ndarray, people: Array) -> Array:
        away = self._index.measured(self._index.compared(rows, people))
        return np.asarray(away.min(axis=0), np.float64)


def compared(
    space: MetricSpace, coordinates: Array, signals: Sequence[Signal], h: Disutility | None = None
) -> tuple[float, float]:
    """How often the bounds told, and how often `nearest` was served, both of all."""
    index, asked = MetricIndex(space, coordinates), 0
    fast, slow = ServedCodebook(index, h), Thorough(index, h)
    for signal in signals:
        for k in (1, 2, 5, 20):
            assert fast.choose(signal, k).tolist() == slow.choose(signal, k).tolist()
            asked += 1
    return slow.told / asked, slow.against / asked


@pytest.mark.thin
@pytest.mark.parametrize("area", [INLAND, ISLANDS, EARTH])
@pytest.mark.parametrize("count", [30, 300, 3_000, 30_000])
def test_on_a_map_of_any_density(area: Area, count: int) -> None:
    """Planted bugs: the distance from a probe to its item left out; the radius left out."""
    plane = area if isinstance(area, Region) else INLAND
    homes = np.clip(places(area, 40, seed=5), -80, 80)
    signals = [
        each for epsilon in (TOWN, TOWN / 10) for each in noisy(plane, homes, epsilon, seed=3)
    ]
    compared(MapSpace(area), places(area, count), signals)


@pytest.mark.parametrize("space", [LINE, BOTH])
@pytest.mark.parametrize("count", [40, 4_000])
def test_on_axes_of_any_density(space: AxisSpace, count: int) -> None:
    extent = np.array([float(axis.size) for axis in space.axes])
    rng = np.random.default_rng(4)
    at = (rng.random((60, len(extent))) * 1.4 - 0.2) * extent
    signals = [point_of(space, *each, epsilon=Fraction(1, 4)) for each in at.tolist()]
    compared(space, rng.random((count, len(extent))) * extent, signals)


@pytest.mark.thin
@pytest.mark.parametrize("h", [None, Power(2.0), Saturating(5.0)])
def test_the_bounds_tell_of_dense_items_and_not_of_sparse_ones(h: Disutility | None) -> None:
    """Else the comparisons above would say nothing: of either, or of one of the two."""
    signals = noisy(INLAND, places(INLAND, 50, seed=9), TOWN)
    told, against = compared(MapSpace(INLAND), places(INLAND, 100_000), signals, h)
    assert told > 0.1
    assert against < 0.1
    told, against = compared(MapSpace(INLAND), places(INLAND, 300), signals, h)
    assert told < 0.1
    assert against > 0.05


def test_bounds_nearer_than_costs_are_rounded_tell_nothing() -> None:
    """Planted bug: what rounding does left out."""
    rule = ServedCodebook(MetricIndex(LINE, np.arange(90.0)[:, None]))
    by_probe, from_signal = np.full(FEW, 1.0), np.full(FEW, 2.0)
    assert rule._is_better(by_probe, from_signal, 1 - 3 * 2 / LEVELS)
    assert not rule._is_better(by_probe, from_signal, 1 - 1 / LEVELS)
