"""What is served as `codebook` costs least by its objective, whether or not that was computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from near_world import BOTH, EARTH, INLAND, ISLANDS, LINE, Array, noisy, places, point_of

from askew.placement.problem import Disutility, Identity, Power, Saturating
from askew.protocol.metric_card import MetricRuleKind
from askew.protocol.signal import Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace, Region
from askew_server.retrieval.near.answers import near_rule_of, served_rule_of
from askew_server.retrieval.near.density import low_discrepancy
from askew_server.retrieval.near.index import MetricIndex, SpaceFrame, frame_of
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


# The same, computed the slow way for many signals.

K, PEOPLE, PLAIN_LEVELS = 8, 128, 65535


class Plain:
    """The rule without an index, a cache, or an array that is not needed."""

    def __init__(self, space: MetricSpace, coordinates: Array) -> None:
        self.frame: SpaceFrame = frame_of(space)
        self.items = self.frame.tree(self.frame.grid(coordinates))
        first = (np.arange(PEOPLE) + 0.5) / PEOPLE
        others = low_discrepancy(PEOPLE, space.dimension - 1)
        self.quantiles = np.column_stack([first, others])

    def choose(self, signal: Signal) -> list[int]:
        center = self.inside(self.frame.aim(signal))
        by_probe = self.distinct(center + self.offsets(signal))
        nearest = self.order(center)[:K].tolist()
        return sorted(
            min((by_probe, nearest), key=self.spending(signal, center, by_probe, nearest))
        )

    def offsets(self, signal: Signal) -> Array:
        return self.frame.spread(signal, self.frame.offsets(signal, Identity(), K))

    def inside(self, grid: Array) -> Array:
        found = np.clip(grid, 0.0, self.frame.extent)
        if self.frame.goes_around:
            found[..., 1] = grid[..., 1] % self.frame.extent[1]
        return found

    def order(self, grid: Array) -> np.ndarray:
        away = np.abs(self.items - self.frame.tree(self.inside(grid)[None]))
        if self.frame.norm == 2:
            return np.argsort((away**2).sum(axis=1), kind="stable")
        return np.argsort(away.sum(axis=1), kind="stable")

    def distinct(self, probes: Array) -> list[int]:
        orders = [self.order(probe) for probe in probes]
        turns = [orders[turn % len(probes)] for turn in range(K)]
        taken: list[int] = []
        late = [each for each in turns if not self.take(each[:1], taken)]
        for each in late:
            self.take(each, taken)
        return taken

    @staticmethod
    def take(items: np.ndarray, taken: list[int]) -> bool:
        free = [item for item in items.tolist() if item not in taken]
        taken += free[:1]
        return bool(free)

    def spending(
        self, signal: Signal, center: Array, *sets: list[int]
    ) -> Callable[[Iterable[int]], int]:
        moved = center + self.frame.spread(signal, self.frame.noise(signal, self.quantiles))
        people = self.frame.tree(self.inside(moved))
        every = [item for each in sets for item in sorted(each)]
        middle = people[0]
        a, b = ((each - middle).astype(np.float32) for each in (people, self.items[every]))
        away = np.abs(a[:, None] - b[None])
        squared = self.frame.norm == 2
        total = np.zeros(away.shape[:2], np.float32)
        for axis in range(away.shape[2]):
            total += away[..., axis] ** 2 if squared else away[..., axis]
        costs = np.sqrt(total) if squared else total
        column = {item: costs[:, at] for at, item in enumerate(every)}
        least = [np.min([column[item] for item in each], axis=0) for each in sets]
        scale = np.float32(PLAIN_LEVELS / max(float(each.max()) for each in least))
        spent = [int(np.rint(each * scale).astype(int).sum()) for each in least]
        return lambda items: spent[0] if items is sets[0] else spent[1]


def signals_of(area: Area, count: int) -> list[Signal]:
    """Half of them noisy beyond reason: they land outside, and their probes too."""
    plane = area if isinstance(area, Region) else INLAND
    homes = places(area, count, seed=5)
    half = count // 2
    usual = noisy(plane, homes[:half], Fraction(277, 1000))
    return usual + noisy(plane, np.clip(homes[half:], -80, 80), Fraction(1, 100), seed=2)


def points_of(space: AxisSpace, count: int) -> list[Signal]:
    rng = np.random.default_rng(4)
    extent = np.array([float(axis.size) for axis in space.axes])
    at = (rng.random((count, len(extent))) * 1.4 - 0.2) * extent
    return [point_of(space, *each, epsilon=Fraction(1, 4)) for each in at.tolist()]


def the_same(space: MetricSpace, coordinates: Array, signals: list[Signal]) -> None:
    plain = Plain(space, coordinates)
    served = served_rule_of(MetricRuleKind.CODEBOOK, MetricIndex(space, coordinates))
    for signal in signals:
        assert served.choose(signal, K).tolist() == plain.choose(signal)


@pytest.mark.slow
@pytest.mark.parametrize("area", [INLAND, ISLANDS, EARTH])
def test_the_slow_way_serves_the_same_on_a_map(area: Area) -> None:
    the_same(MapSpace(area), places(area, 400), signals_of(area, 600))


@pytest.mark.parametrize("space", [LINE, BOTH])
def test_the_slow_way_serves_the_same_on_axes(space: AxisSpace) -> None:
    extent = np.array([float(axis.size) for axis in space.axes])
    values = np.random.default_rng(1).random((300, len(extent))) * extent
    the_same(space, values, points_of(space, 400))


def test_either_set_is_served_to_some() -> None:
    """Else the comparisons above would say nothing of the choice between them."""
    index = MetricIndex(MapSpace(INLAND), places(INLAND, 400))
    served = served_rule_of(MetricRuleKind.CODEBOOK, index)
    nearest = near_rule_of(MetricRuleKind.NEAREST, index)
    same = [
        served.choose(signal, K).tolist() == nearest.choose(signal, K).tolist()
        for signal in signals_of(INLAND, 600)
    ]
    assert 30 < sum(same) < 570
