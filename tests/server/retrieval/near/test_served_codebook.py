"""What is served as `codebook` costs least by its objective, computed plainly for many signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from near_world import BOTH, EARTH, INLAND, ISLANDS, LINE, Array, noisy, places, point_of

from askew.placement.problem import Identity
from askew.protocol.metric_card import MetricRuleKind
from askew.protocol.signal import Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import Area, MapSpace, MetricSpace, Region
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.density import low_discrepancy
from askew_server.retrieval.index import MetricIndex, SpaceFrame, frame_of

TOWN = Fraction(277, 1000)


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
    served = near_rule_of(MetricRuleKind.CODEBOOK, MetricIndex(space, coordinates), served=True)
    for signal in signals:
        assert served.choose(signal, K).tolist() == plain.choose(signal)


@pytest.mark.thin
@pytest.mark.parametrize("area", [INLAND, ISLANDS, EARTH])
@pytest.mark.parametrize(("count", "signals"), [(400, 60), (10_000, 20)])
def test_the_slow_way_serves_the_same_on_a_map(area: Area, count: int, signals: int) -> None:
    """Planted bug: the costlier of the two sets is served."""
    the_same(MapSpace(area), places(area, count), signals_of(area, signals))


@pytest.mark.parametrize("space", [LINE, BOTH])
def test_the_slow_way_serves_the_same_on_axes(space: AxisSpace) -> None:
    extent = np.array([float(axis.size) for axis in space.axes])
    values = np.random.default_rng(1).random((300, len(extent))) * extent
    the_same(space, values, points_of(space, 400))


def test_either_set_is_served_to_some() -> None:
    """Else the comparisons above would say nothing of the choice between them."""
    index = MetricIndex(MapSpace(INLAND), places(INLAND, 400))
    served = near_rule_of(MetricRuleKind.CODEBOOK, index, served=True)
    nearest = near_rule_of(MetricRuleKind.NEAREST, index)
    same = [
        served.choose(signal, K).tolist() == nearest.choose(signal, K).tolist()
        for signal in signals_of(INLAND, 600)
    ]
    assert 30 < sum(same) < 570
