"""A made-up country to ask questions in: real towns, and SIMULATED items and people around them.

They are scattered as the demo's places are (`askew_server.demo.places`): items around towns drawn
by their people to the power .8, people around towns drawn by their people, or evenly (*rural*). The
density that a rule may know is coarser than the list that people are drawn from: the towns of at
least 5,000 people and, to see what a poor density costs, a random half of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.metric.map_noise import MapNoise
from askew.metric.map_space import MapSpace
from askew.privacy import ANY_SPACE
from askew.signal import Signal
from askew_server.collections.model import Towns
from askew_server.demo.places import scattered
from askew_server.demo.places_model import GERMANY, LARGE
from askew_server.evaluation.places.ground import Array, Crowd, Known
from askew_server.training.simulated_noise import map_signals

_PEOPLE, _KNOWN, _ITEMS, _NOISE = range(4)  # streams of one seed


@dataclass(frozen=True, eq=False)
class Country:
    """A ground: a map of Germany."""

    towns: Towns
    space: MapSpace
    crowds: Mapping[Crowd, Array] = field(repr=False)
    densities: Mapping[Known, Towns] = field(repr=False)
    seed: int
    name: str = "map"

    @classmethod
    def of(cls, towns: Towns, n_people: int, seed: int) -> Country:
        """People of both crowds, and what a server may know of them. Deterministic."""
        rng = np.random.default_rng([seed, _PEOPLE])
        crowds: dict[Crowd, Array] = {
            "all": scattered(n_people, towns, GERMANY, rng, power=1.0),
            "rural": scattered(n_people, towns, GERMANY, rng, power=0.0),
        }
        return cls(towns, MapSpace(GERMANY), crowds, known_of(towns, seed), seed)

    def items(self, n: int) -> Array:
        """As in `Ground`."""
        rng = np.random.default_rng([self.seed, _ITEMS, n])
        return scattered(n, self.towns, GERMANY, rng)

    def signals(self, epsilon: Fraction, crowd: Crowd, draws: int) -> list[Signal]:
        """As in `Ground`."""
        noise = MapNoise.in_region(epsilon, GERMANY)
        rng = np.random.default_rng([self.seed, _NOISE, crowd == "rural"])
        people = np.repeat(self.crowds[crowd], draws, axis=0)
        rows = map_signals(noise, GERMANY, people, rng).tolist()
        return [Signal(ANY_SPACE, noise, tuple(row)) for row in rows]


def known_of(towns: Towns, seed: int) -> dict[Known, Towns]:
    """The towns of at least 5,000 people, and a random half of those."""
    rng = np.random.default_rng([seed, _KNOWN])
    larger = np.flatnonzero(towns.people >= LARGE)
    half = rng.permutation(larger)[: (len(larger) + 1) // 2]
    return {"towns": _some(towns, larger), "half of them": _some(towns, half)}


def _some(towns: Towns, rows: NDArray[np.int64]) -> Towns:
    return replace(towns, coordinates=towns.coordinates[rows], people=towns.people[rows])
