"""A made-up country to ask questions in: real towns, SIMULATED items and people around them.

A town's people and items lie around its center by a normal law whose standard deviation, on each
axis, is .006 km times the square root of its population (at least .3 km): 6 km for a million. People
are drawn by population, or evenly by town (*rural*); items by population to the power .8. The
density that a rule may know is made of fewer towns than the people are drawn from: the larger half,
and, to see what a poor density costs, a random half of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.metric.map_noise import MapNoise
from askew.metric.map_space import MapSpace
from askew.metric.region import KM_OF_LATITUDE, KM_OF_LONGITUDE, Region
from askew.signal import ANY_SPACE, Signal
from askew_server.collections.model import Towns
from askew_server.evaluation.places.ground import Array, Crowd, Known
from askew_server.training.simulated_noise import map_signals

_SPREAD = 0.006  # km a square root of a person
_LEAST_SPREAD = 0.3  # km
_ITEMS_POWER = 0.8
_MARGIN = 0.25  # degrees around the towns
_PEOPLE, _KNOWN, _ITEMS, _NOISE = range(4)  # streams of one seed


@dataclass(frozen=True, eq=False)
class Country:
    """A ground: a map around towns."""

    towns: Towns
    space: MapSpace
    crowds: Mapping[Crowd, Array] = field(repr=False)
    densities: Mapping[Known, Towns] = field(repr=False)
    seed: int
    name: str = "map"

    @classmethod
    def of(cls, towns: Towns, n_people: int, seed: int) -> Country:
        """People of both crowds, and what a server may know of them. Deterministic."""
        region = region_of(towns)
        rng = np.random.default_rng([seed, _PEOPLE])
        crowds: dict[Crowd, Array] = {
            "all": _inside(region, spread(towns, n_people, 1.0, rng)),
            "rural": _inside(region, spread(towns, n_people, 0.0, rng)),
        }
        return cls(towns, MapSpace(region), crowds, known_of(towns, seed), seed)

    def items(self, n: int) -> Array:
        """As in `Ground`."""
        rng = np.random.default_rng([self.seed, _ITEMS, n])
        return _inside(self.space.region, spread(self.towns, n, _ITEMS_POWER, rng))

    def signals(self, epsilon: Fraction, crowd: Crowd, draws: int) -> list[Signal]:
        """As in `Ground`."""
        region = self.space.region
        noise = MapNoise.in_region(epsilon, region)
        rng = np.random.default_rng([self.seed, _NOISE, crowd == "rural"])
        people = np.repeat(self.crowds[crowd], draws, axis=0)
        rows = map_signals(noise, region, people, rng).tolist()
        return [Signal(ANY_SPACE, noise, tuple(row)) for row in rows]


def known_of(towns: Towns, seed: int) -> dict[Known, Towns]:
    """The larger half of the towns, and a random half of those."""
    rng = np.random.default_rng([seed, _KNOWN])
    larger = np.argsort(-towns.people, kind="stable")[: (len(towns.people) + 1) // 2]
    half = rng.permutation(larger)[: (len(larger) + 1) // 2]
    return {"towns": _some(towns, larger), "half of them": _some(towns, half)}


def spread(towns: Towns, n: int, power: float, rng: np.random.Generator) -> Array:
    """n positions around towns that are drawn by their populations to this power, (n, 2)."""
    odds = towns.people**power
    town = rng.choice(len(odds), n, p=odds / odds.sum())
    deviation = np.maximum(_SPREAD * np.sqrt(towns.people[town]), _LEAST_SPREAD)
    north, east = deviation * rng.standard_normal((2, n))
    center = towns.coordinates[town]
    latitude = center[:, 0] + north / float(KM_OF_LATITUDE)
    degree = float(KM_OF_LONGITUDE) * np.cos(np.radians(center[:, 0]))
    return np.column_stack([latitude, center[:, 1] + east / degree])


def region_of(towns: Towns) -> Region:
    """The region around the towns."""
    south, west = (float(each) - _MARGIN for each in towns.coordinates.min(axis=0))
    north, east = (float(each) + _MARGIN for each in towns.coordinates.max(axis=0))
    return Region(south, west, north, east)


def _inside(region: Region, positions: Array) -> Array:
    """The same, moved to the nearest edge where they lie outside."""
    low, high = (region.south, region.west), (region.north, region.east)
    moved: Array = np.clip(positions, low, high)
    return moved


def _some(towns: Towns, rows: NDArray[np.int64]) -> Towns:
    return replace(towns, coordinates=towns.coordinates[rows], people=towns.people[rows])
