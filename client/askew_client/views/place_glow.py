"""What a server can know of a place from its signal: the law of the noise, seen from the signal.

In kilometers of the device's plane the density of the noise is proportional to exp(-rate g), with
g the gauge of the hexagonal law and rate = epsilon / 1.1545:

    t = 15 y / 13,   g(x, y) = max(|x + t/2|, |t|, |x - t/2|)

The law is symmetric, so with no other knowledge this is also the density of the true place around a
signal. u = rate g is the depth at which a point lies; the law keeps 1 - (1 + u) exp(-u) of its
weight above depth u. Rounding to the lattice and to its grain is left out: a picture does not show
it. Source: `askew.noise.hexagonal`, whose law on the lattice this is in the limit of a small step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, exp, pi, sin
from typing import Final

from askew.spaces.metric.position import Position
from askew.spaces.metric.region import COSINE_PARTS, KM_OF_LATITUDE, KM_OF_LONGITUDE

HALF: Final = 1.6783469900166603  # the depth above which half of the law lies
MOST: Final = 3.8897201698674286  # the same for nine tenths
_GAUGE = 1.1545  # gauge a crow's kilometer, at most
_CORNERS = 24  # of the hexagon's outline: where its box is read off


@dataclass(frozen=True)
class Town:
    """A town of the device's own list. Public."""

    name: str
    at: Position
    population: int


@dataclass(frozen=True)
class PlaceGlow:
    """The glow of a signal. epsilon: per crow's kilometer. cosine: of the device's plane, in parts
    of 1/65536. All of it is public once the signal has left.
    """

    signal: Position
    epsilon: float
    cosine: int

    def kilometers(self, at: Position) -> tuple[float, float]:
        """East and north of the signal in the device's plane, the short way around."""
        east = (at.longitude - self.signal.longitude + 180) % 360 - 180
        return self._east * east, float(KM_OF_LATITUDE) * (at.latitude - self.signal.latitude)

    def position(self, x: float, y: float) -> Position:
        """The position so many kilometers east and north of the signal, kept on Earth."""
        latitude = self.signal.latitude + y / float(KM_OF_LATITUDE)
        longitude = self.signal.longitude + x / self._east
        return Position(max(-90.0, min(90.0, latitude)), (longitude + 180) % 360 - 180)

    def depth(self, at: Position) -> float:
        """u at a position: 0 at the signal, more the less likely the true place is there."""
        x, y = self.kilometers(at)
        t = 15 * y / 13
        return self.epsilon / _GAUGE * max(abs(x + t / 2), abs(t), abs(x - t / 2))

    def outline(self, depth: float) -> tuple[Position, ...]:
        """Points that are as deep as this, all around the signal."""
        points = []
        for corner in range(_CORNERS):
            angle = 2 * pi * corner / _CORNERS
            x, y = cos(angle), sin(angle)
            t = 15 * y / 13
            reach = depth * _GAUGE / self.epsilon / max(abs(x + t / 2), abs(t), abs(x - t / 2))
            points.append(self.position(reach * x, reach * y))
        return tuple(points)

    def reach(self, depth: float) -> float:
        """Kilometers from the signal straight east to this depth."""
        return depth * _GAUGE / self.epsilon

    @property
    def _east(self) -> float:
        return float(KM_OF_LONGITUDE) * self.cosine / COSINE_PARTS


@dataclass(frozen=True)
class LikelyTown:
    """A town, and its share of the odds among all people of the list."""

    town: Town
    share: float = field(repr=False)


def share_above(depth: float) -> float:
    """How often the true place lies above this depth, over the draws of the noise."""
    return 1 - (1 + depth) * exp(-depth)


def likeliest(towns: Sequence[Town], glow: PlaceGlow, count: int = 3) -> tuple[LikelyTown, ...]:
    """Where a server would look first that knows no more than the list: population times density.

    The shares are among all towns of the list, so they sum to at most one. Nothing for no people.
    """
    weights = [(town.population * exp(-glow.depth(town.at)), town) for town in towns]
    total = sum(weight for weight, _ in weights)
    best = sorted(weights, key=lambda each: -each[0])[:count]
    return tuple(LikelyTown(town, weight / total) for weight, town in best if total and weight)


def people_within(towns: Sequence[Town], glow: PlaceGlow, depth: float = HALF) -> int:
    """How many people of the list live above this depth: those whom you are hidden among."""
    return sum(town.population for town in towns if glow.depth(town.at) <= depth)
