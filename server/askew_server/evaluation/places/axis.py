"""A line and a ring to ask questions on: SIMULATED towns along an axis, items and people around.

60 towns lie at random on the axis, the n-th most populous having 1/n of the people of the first; a
town reaches half a unit of distance. People and items are drawn as in a country, and so is what a
server may know of people: the larger half of the towns, and a random half of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.metric.axes import Axis, AxisSpace
from askew.signal import Signal
from askew_server.collections.model import Towns
from askew_server.demo.places import CROWDING
from askew_server.evaluation.places.ground import Array, Crowd, Known
from askew_server.training.simulated_noise import lattice_signals

LINE: Final = Axis("post", "km", 0.0, 600.0, wraps=False, scale=1.0)
RING: Final = Axis("direction", "degree", 0.0, 360.0, wraps=True, scale=6.0)
_TOWNS = 60
_REACH = 0.5  # units of distance
_STREAM = 9


@dataclass(frozen=True, eq=False)
class Road:
    """A ground of one axis; its values and its units of distance differ by the axis's scale."""

    axis: Axis
    towns: Towns
    crowds: Mapping[Crowd, Array] = field(repr=False)
    densities: Mapping[Known, Towns] = field(repr=False)
    seed: int

    @classmethod
    def of(cls, axis: Axis, n_people: int, seed: int) -> Road:
        """Deterministic."""
        rng = np.random.default_rng([seed, _STREAM, axis.wraps])
        where = rng.uniform(axis.low, axis.high, (_TOWNS, 1))
        towns = Towns(where, 1e6 / np.arange(1, _TOWNS + 1), "SIMULATED towns")
        crowds: dict[Crowd, Array] = {
            "all": _scattered(axis, towns, n_people, 1.0, rng),
            "rural": _scattered(axis, towns, n_people, 0.0, rng),
        }
        some = np.arange(_TOWNS // 2)
        half = rng.permutation(some)[: len(some) // 2]
        densities: dict[Known, Towns] = {
            "towns": _some(towns, some),
            "half of them": _some(towns, half),
        }
        return cls(axis, towns, crowds, densities, seed)

    @property
    def name(self) -> str:
        """As in `Ground`."""
        return "ring" if self.axis.wraps else "line"

    @property
    def space(self) -> AxisSpace:
        """As in `Ground`."""
        return AxisSpace((self.axis,))

    def items(self, n: int) -> Array:
        """As in `Ground`."""
        rng = np.random.default_rng([self.seed, _STREAM, self.axis.wraps, n])
        return _scattered(self.axis, self.towns, n, CROWDING, rng)

    def signals(self, epsilon: Fraction, crowd: Crowd, draws: int) -> list[Signal]:
        """As in `Ground`."""
        axis, version = self.axis, self.space.version
        lattice = Lattice.for_epsilon(epsilon)
        rng = np.random.default_rng([self.seed, _STREAM, axis.wraps, crowd == "rural", 0])
        points = (np.repeat(self.crowds[crowd], draws, axis=0) - axis.low) / axis.scale
        sent = lattice_signals(lattice, points, rng)
        wrapped = sent % axis.steps(lattice) if axis.wraps else sent
        return [Signal(version, lattice, (z,)) for z in wrapped[:, 0].tolist()]


def _scattered(axis: Axis, towns: Towns, n: int, power: float, rng: np.random.Generator) -> Array:
    """n values around towns that are drawn by their people to this power, (n, 1)."""
    odds = towns.people**power
    town = rng.choice(len(odds), n, p=odds / odds.sum())
    values = towns.coordinates[town] + _REACH * axis.scale * rng.standard_normal((n, 1))
    if axis.wraps:
        return axis.low + (values - axis.low) % (axis.high - axis.low)
    return np.clip(values, axis.low, axis.high)


def _some(towns: Towns, rows: NDArray[np.int64]) -> Towns:
    return Towns(towns.coordinates[rows], towns.people[rows], towns.source)
