"""Made-up maps and axes with items on them, and plain ways to measure them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.dp.privacy import ANY_SPACE
from askew.noise.hexagonal import NEIGHBORS
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import Area, MapNoise, Region, microdegrees

Array = NDArray[np.float64]

INLAND = Region(47.0, 6.0, 51.0, 12.0)
ISLANDS = Region(-21.0, 176.0, -15.0, -177.0)  # across the antimeridian
NORTH = Region(62.0, 5.0, 68.0, 16.0)
EQUATOR = Region(-3.0, -2.0, 3.0, 4.0)
REGIONS = (INLAND, ISLANDS, NORTH, EQUATOR)
EARTH = Area(-90.0, -180.0, 90.0, 180.0)
AREAS: tuple[Area, ...] = (*REGIONS, EARTH)

POSTS = Axis("post", "km", 0.0, 400.0, scale=1.0)
DAY = Axis("time", "h", 0.0, 24.0, scale=1.0)
LINE, BOTH = AxisSpace((POSTS,)), AxisSpace((POSTS, DAY))


def places(area: Area, count: int, seed: int = 1) -> Array:
    share = np.random.default_rng(seed).random((count, 2))
    latitude = area.south + share[:, 0] * (area.north - area.south)
    longitude = area.west + share[:, 1] * float(area.width)
    return np.column_stack([latitude, (longitude + 180) % 360 - 180])


def great_circle(a: Array, b: Array) -> Array:
    a, b = np.radians(a), np.radians(b)
    half = np.sin((a - b) / 2) ** 2
    chord = half[..., 0] + np.cos(a[..., 0]) * np.cos(b[..., 0]) * half[..., 1]
    return np.asarray(2 * 6371.0088 * np.arcsin(np.sqrt(chord)))


def along_axes(space: AxisSpace, a: Array, b: Array) -> Array:
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1])
    for number, axis in enumerate(space.axes):
        total += np.abs(a[..., number] - b[..., number]) / axis.scale
    return total


def signal_at(latitude: float, longitude: float, noise: MapNoise) -> Signal:
    values = microdegrees(Fraction(latitude), Fraction(longitude))
    return Signal(ANY_SPACE, noise, values)


def noisy(region: Region, homes: Array, epsilon: Fraction, seed: int = 0) -> list[Signal]:
    """A signal of each home by the law of the lattice, from a generator: exact coins are slow."""
    noise, rng = MapNoise.in_region(epsilon, region), np.random.default_rng(seed)
    rate, step = 1 / (noise.lattice.inverse_rate + 1), float(noise.lattice.step)
    first, second = rng.geometric(rate, (2, len(homes)))
    side = rng.integers(6, size=len(homes))
    corners = step * np.array([(i - j / 2, 13 / 15 * j) for i, j in NEIGHBORS])
    moved = first[:, None] * corners[side] + (second - 1)[:, None] * corners[(side + 1) % 6]
    degree = np.array([110.57, 111.31 * noise.cosine / 65536])
    found = homes + moved[:, ::-1] / degree
    return [signal_at(latitude, longitude, noise) for latitude, longitude in found.tolist()]


def point_of(space: AxisSpace, *coordinates: float, epsilon: Fraction = Fraction(1)) -> Signal:
    """A signal that points to these units of distance on each axis."""
    lattice = LatticeLaplace.for_epsilon(epsilon)
    return Signal(space.version, lattice, tuple(round(c / lattice.step) for c in coordinates))
