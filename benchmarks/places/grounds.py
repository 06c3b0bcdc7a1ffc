"""Where questions are asked: a space, people and items in it, and what a server knows of them.

A country of real towns, with SIMULATED items and people around them: items are scattered as the
demo's places are, around towns drawn by their people to the power .8; people around towns drawn by
their people, or evenly (*rural*). The density that a rule may know is coarser than the list that
people are drawn from: the towns of at least 5,000 people and, to see what a poor density costs, a
random half of those.

A line: 60 SIMULATED towns lie at random on an axis, the n-th most populous having 1/n of
the people of the first; a town reaches half a unit of distance. People and items are drawn as in
the country, and so is what a server may know of people: the larger half of the towns, and a random
half of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import Words
from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import NEIGHBORS, RISE, HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.metric_card import Want
from askew.protocol.signal import Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import (
    COSINE_PARTS,
    KM_OF_LATITUDE,
    KM_OF_LONGITUDE,
    MICRODEGREES,
    MapNoise,
    MapSpace,
    MetricSpace,
    Region,
)
from askew_server.collections.model import Towns
from askew_server.demo.places import CROWDING, GERMANY, LARGE, scattered
from askew_server.retrieval.near.index import MetricIndex
from askew_server.taste.model.held_out import simulate_signals

Array = NDArray[np.float64]
Crowd = Literal["all", "rural"]
Known = Literal["towns", "half of them"]
CROWDS: Final[tuple[Crowd, ...]] = ("all", "rural")


class Ground(Protocol):
    """crowds: where people are, (n, d) as a collection's coordinates. densities: what a rule may
    know of where people are: fewer towns than people come from, and a random half of those.
    """

    @property
    def name(self) -> str:
        """map or line."""

    @property
    def space(self) -> MetricSpace:
        """What a card would say."""

    @property
    def seed(self) -> int:
        """Of everything in it."""

    @property
    def crowds(self) -> Mapping[Crowd, Array]:
        """People."""

    @property
    def densities(self) -> Mapping[Known, Towns]:
        """Towns that a server may know."""

    def items(self, n: int) -> Array:
        """Where n SIMULATED items are, (n, d)."""

    def signals(self, epsilon: Fraction, crowd: Crowd, draws: int) -> list[Signal]:
        """`draws` signals of each person, simulated; those of one person together."""


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


LINE: Final = Axis("post", "km", 0.0, 600.0, scale=1.0)
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
        rng = np.random.default_rng([seed, _STREAM, 0])
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
        return "line"

    @property
    def space(self) -> AxisSpace:
        """As in `Ground`."""
        return AxisSpace((self.axis,))

    def items(self, n: int) -> Array:
        """As in `Ground`."""
        rng = np.random.default_rng([self.seed, _STREAM, 0, n])
        return _scattered(self.axis, self.towns, n, CROWDING, rng)

    def signals(self, epsilon: Fraction, crowd: Crowd, draws: int) -> list[Signal]:
        """As in `Ground`."""
        axis, version = self.axis, self.space.version
        lattice = LatticeLaplace.for_epsilon(epsilon)
        rng = np.random.default_rng([self.seed, _STREAM, 0, crowd == "rural", 0])
        points = (np.repeat(self.crowds[crowd], draws, axis=0) - axis.low) / axis.scale
        sent = simulate_signals(lattice, points, rng)
        return [Signal(version, lattice, (z,)) for z in sent[:, 0].tolist()]


def _scattered(axis: Axis, towns: Towns, n: int, power: float, rng: np.random.Generator) -> Array:
    """n values around towns that are drawn by their people to this power, (n, 1)."""
    odds = towns.people**power
    town = rng.choice(len(odds), n, p=odds / odds.sum())
    values = towns.coordinates[town] + _REACH * axis.scale * rng.standard_normal((n, 1))
    return np.clip(values, axis.low, axis.high)


Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlaceRun:
    """What people got: extra (n, draws), kilometers beyond the truly nearest item. filtered: for
    each share of items that pass a filter, the same among those, nan where none of a slate does.
    size: how many items an answer has, in mean.
    """

    extra: Array = field(repr=False)
    filtered: dict[float, Array] = field(repr=False)
    size: float


@dataclass(frozen=True, eq=False)
class Market:
    """Items (n, d), one kind each (n,). A person wants the nearest of all items or, behind a
    filter, the nearest of one kind; shares: of all items, one for each kind that a filter asks for.
    """

    ground: Ground
    items: Array = field(repr=False)
    kind: Ids = field(repr=False)
    shares: tuple[float, ...]

    @classmethod
    def of(cls, ground: Ground, n: int, shares: tuple[float, ...]) -> Market:
        """n items; kinds are dealt at random, and what the shares leave is one more kind."""
        rng = np.random.default_rng([ground.seed, n])
        odds = np.array([*shares, 1.0 - sum(shares)])
        return cls(ground, ground.items(n), rng.choice(len(odds), n, p=odds), shares)

    @property
    def wants(self) -> tuple[Want, ...]:
        """A fifth of all people accept one kind only, evenly."""
        return tuple(
            [Want("kind", 0.2 / len(self.shares), f"{n}") for n in range(len(self.shares))]
        )

    @property
    def kinds(self) -> Words:
        """The kinds as a column."""
        words = [f"{number}" for number in range(1 + len(self.shares))]
        return Words(self.kind.astype(np.int32), words)

    @cached_property
    def index(self) -> MetricIndex:
        """What rules look items up in."""
        return MetricIndex(self.ground.space, self.items)

    def run(self, crowd: Crowd, answers: Iterable[Ids]) -> PlaceRun:
        """What answers are worth: one a draw, those of one person together."""
        people = self._points(self.ground.crowds[crowd])
        nearest = self._nearest(crowd)
        best: list[Array] = []
        size = 0
        answers = list(answers)
        draws = len(answers) // len(people)
        for number, items in enumerate(answers):
            best.append(self._best(people[number // draws], items))
            size += len(items)
        extra = np.array(best).reshape(len(people), draws, -1) - nearest[:, None, :]
        extra[np.isinf(extra)] = np.nan
        filtered = {share: extra[:, :, 1 + i] for i, share in enumerate(self.shares)}
        return PlaceRun(extra[:, :, 0], filtered, size / len(answers))

    def _best(self, person: Array, items: Ids) -> Array:
        """How far the best item is: of all, and of each kind that a filter asks for."""
        away = self._apart(self._item_points[items], person)
        found = np.full(1 + len(self.shares), np.inf)
        found[0] = away.min()
        kinds = self.kind[items]
        for kind in range(len(self.shares)):
            found[1 + kind] = away[kinds == kind].min(initial=np.inf)
        return found

    def _nearest(self, crowd: Crowd) -> Array:
        """The same of the truly nearest items of each person, (people, 1 + filters)."""
        places = self.ground.crowds[crowd]
        points = self._points(places)
        groups = [np.arange(len(self.items))]
        groups += [np.flatnonzero(self.kind == kind) for kind in range(len(self.shares))]
        columns = []
        for group in groups:
            index = MetricIndex(self.ground.space, self.items[group])
            own = group[index.nearest(index.frame.grid(places))[:, 0]]
            columns.append(self._apart(self._item_points[own], points))
        return np.column_stack(columns)

    @cached_property
    def _item_points(self) -> Array:
        return self._points(self.items)

    def _points(self, coordinates: Array) -> Array:
        frame = self.index.frame
        return frame.tree(frame.grid(coordinates))

    def _apart(self, a: Array, b: Array) -> Array:
        """On a map the chord: at 50 km 13 cm less than the way along the ground."""
        frame = self.index.frame
        found: Array = np.linalg.norm(a - b, ord=frame.norm, axis=-1)
        return found


def hexagonal_signals(
    lattice: HexagonalLattice, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy lattice coordinates of points (n, 2) in kilometers, rounded to the grain, (n, 2)."""
    step, n = float(lattice.step), len(points)
    j = points[:, 1] / (float(RISE) * step)
    place = np.column_stack([points[:, 0] / step + j / 2, j])
    below = np.floor(place)
    shared = rng.random((n, 1))  # one for both coordinates
    near = below.astype(np.int64) + (shared < place - below)
    noisy = near + _hexagonal_moves(lattice.inverse_rate, n, rng)
    grain = lattice.grain
    coarse: NDArray[np.int64] = (noisy + grain // 2) // grain * grain
    return coarse


def map_signals(
    noise: MapNoise, region: Region, positions: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy latitudes and longitudes in microdegrees of positions (n, 2) in degrees, (n, 2)."""
    east = float(KM_OF_LONGITUDE) * noise.cosine / COSINE_PARTS
    north = float(KM_OF_LATITUDE)
    x = east * ((positions[:, 1] - region.west) % 360)
    y = north * (positions[:, 0] - region.south)
    coordinates = hexagonal_signals(noise.lattice, np.column_stack([x, y]), rng)
    step = float(noise.lattice.step)
    latitude = region.south + float(RISE) * step * coordinates[:, 1] / north
    longitude = region.west + step * (coordinates[:, 0] - coordinates[:, 1] / 2) / east
    turn = 360 * MICRODEGREES
    up = np.rint(np.clip(latitude, -90, 90) * MICRODEGREES).astype(np.int64)
    right = np.rint(longitude * MICRODEGREES).astype(np.int64)
    return np.column_stack([up, (right + turn // 2) % turn - turn // 2])


def _hexagonal_moves(inverse_rate: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws of the hexagon's law in lattice coordinates, (n, 2)."""
    stays = rng.random(n) < 1 / (1 + 6 * inverse_rate * (inverse_rate + 1))
    side = rng.integers(6, size=n)
    steps = rng.geometric(1.0 / (inverse_rate + 1), (n, 2))
    around = np.array(NEIGHBORS)
    moves = steps[:, :1] * around[side] + (steps[:, 1:] - 1) * around[(side + 1) % 6]
    found: NDArray[np.int64] = np.where(stays[:, None], 0, moves)
    return found
