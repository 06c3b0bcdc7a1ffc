"""How a metric space lies: its frame for items, signals and people. The one module that asks
whether a space is a map or a list of axes.

Grid coordinates u, (m, d): on a map degrees north of the south edge and degrees east of the west
edge; on axes (value - low) / scale. The box [0, extent] holds the space; a ring's ends are one.
Tree points, (m, e): on a map the point of the sphere with the Earth's mean radius, in kilometers,
so that nearest in the straight line is nearest by great circle, at 180 degrees too; on axes u.
Noise offsets, (m, d): kilometers east and north in the device's plane, which has the cosine that
comes with the signal; on axes units of distance.
"""

from __future__ import annotations

from math import log1p
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from askew.hexagonal import GAUGE, NEIGHBORS, RISE
from askew.metric.area import Area
from askew.metric.axes import AxisSpace
from askew.metric.map_space import MapSpace, MetricSpace
from askew.metric.position import MICRODEGREES
from askew.metric.region import COSINE_PARTS, KM_OF_LATITUDE, KM_OF_LONGITUDE
from askew.placement.axes import offsets_on_axes
from askew.placement.hexagonal import place_on_map
from askew.placement.problem import Disutility
from askew.signal import Signal

Points = NDArray[np.float64]
EARTH_RADIUS = 6371.0088  # km, the mean radius
_CORNERS = np.array([(i - j / 2, float(RISE) * j) for i, j in NEIGHBORS])  # of a hexagon, in steps
_LATITUDE, _LONGITUDE = float(KM_OF_LATITUDE), float(KM_OF_LONGITUDE)


class Frame(Protocol):
    """What a rule must know of a space."""

    norm: int  # of tree points
    extent: Points  # (d,), the box of grid coordinates
    units: Points  # (d,), about how much distance one of each grid coordinate is
    rings: NDArray[np.bool_]  # (d,), whether the ends of a coordinate are one

    def grid(self, coordinates: Points) -> Points:
        """Coordinates of a collection (m, d) -> grid coordinates (m, d)."""

    def tree(self, grid: Points) -> Points:
        """Grid coordinates (m, d) -> tree points (m, e)."""

    def inside(self, grid: Points) -> Points:
        """Clamped into the box; wrapped on rings."""

    def epsilon(self, signal: Signal) -> float:
        """Epsilon per unit of distance of the signal's noise."""

    def aim(self, signal: Signal) -> Points:
        """Where a signal points to, (d,) grid coordinates, perhaps outside the box."""

    def spread(self, signal: Signal, offsets: Points, /) -> Points:
        """Noise offsets (m, d) as differences of grid coordinates (m, d)."""

    def log_likelihood(self, signal: Signal, axes: list[Points]) -> Points:
        """log P(signal | point), up to a constant, on the grid of these d axes of coordinates."""

    def noise(self, signal: Signal, uniform: Points) -> Points:
        """Noise offsets (m, d) at these quantiles (m, d) in (0, 1) of the signal's law."""

    def offsets(self, signal: Signal, disutility: Disutility, k: int) -> Points:
        """The placed noise offsets (k', d), 1 <= k' <= k, the nearest to zero first."""

    def effort(self, k: int, /) -> int:
        """What `offsets` takes of a law that was never asked by, in answers of 2 to 3 ms."""


def frame_of(space: MetricSpace) -> Frame:
    """The frame of a space."""
    return MapFrame(space.area) if isinstance(space, MapSpace) else AxisFrame(space)


class MapFrame:
    """An area of the Earth; one that goes all the way around is a ring of longitudes."""

    norm = 2

    def __init__(self, area: Area) -> None:
        self._corner = np.array([area.south, area.west])
        self.extent = np.array([area.north - area.south, float(area.width)])
        middle = np.cos(np.radians(area.south + self.extent[0] / 2))
        self.units = np.array([_LATITUDE, _LONGITUDE * middle])
        self.rings = np.array([False, area.goes_around])

    def grid(self, coordinates: Points) -> Points:
        """Longitudes within half a turn of the region's middle."""
        away = coordinates - self._corner
        half = self.extent[1] / 2
        away[..., 1] = (away[..., 1] - half + 180) % 360 - 180 + half
        return np.asarray(away)

    def tree(self, grid: Points) -> Points:
        """Points of the sphere, (m, 3)."""
        turned = (grid + self._corner) * (np.pi / 180)
        away, height = np.cos(turned), np.sin(turned)
        points = np.empty((*grid.shape[:-1], 3))
        np.multiply(away[..., 0], away[..., 1], out=points[..., 0])
        np.multiply(away[..., 0], height[..., 1], out=points[..., 1])
        points[..., 2] = height[..., 0]
        points *= EARTH_RADIUS
        return points

    def inside(self, grid: Points) -> Points:
        """Clamped to the area's edges; wrapped at 180 degrees where it has none."""
        return _inside(grid, self.extent, self.rings)

    def epsilon(self, signal: Signal) -> float:
        """Per crow's kilometer."""
        return float(signal.map_noise.epsilon)

    def aim(self, signal: Signal) -> Points:
        """The noisy position, as `grid` has it: for one point numbers take less than arrays."""
        north, east = signal.values
        half = float(self.extent[1]) / 2
        away = east / MICRODEGREES - float(self._corner[1])
        turned = (away - half + 180) % 360 - 180 + half
        return np.array((north / MICRODEGREES - float(self._corner[0]), turned))

    def spread(self, signal: Signal, offsets: Points) -> Points:
        """Kilometers of the device's plane as degrees."""
        return offsets[:, ::-1] / self._plane(signal)

    def log_likelihood(self, signal: Signal, axes: list[Points]) -> Points:
        """-n log(1 + 1/q), n the steps of the lattice from the point to the signal."""
        lattice = signal.map_noise.lattice
        aim, plane, step = self.aim(signal), self._plane(signal), float(lattice.step)
        j = ((aim[0] - axes[0]) * (plane[0] / (step * float(RISE))))[:, None]
        i = ((aim[1] - axes[1]) * (plane[1] / step))[None, :] + j / 2
        steps = np.maximum(np.maximum(np.abs(i), np.abs(j)), np.abs(i - j))
        return np.asarray(steps * -log1p(1 / lattice.inverse_rate))

    def noise(self, signal: Signal, uniform: Points) -> Points:
        """A hexagon's radius by a Gamma(2) law, and a place on its edge."""
        radius = gammaincinv(2.0, uniform[:, 0]) * (float(GAUGE) / self.epsilon(signal))
        side, along = np.divmod(6 * uniform[:, 1], 1)
        corner = side.astype(np.int64) % 6
        edge = (1 - along)[:, None] * _CORNERS[corner] + along[:, None] * _CORNERS[corner - 5]
        return np.asarray(radius[:, None] * edge)

    def offsets(self, signal: Signal, disutility: Disutility, k: int) -> Points:
        """East and north, in kilometers."""
        return place_on_map(self.epsilon(signal), k, disutility).offsets

    def effort(self, _: int) -> int:
        """Codebooks are shipped."""
        return 0

    def _plane(self, signal: Signal) -> Points:
        """Kilometers of the device's plane a degree, of latitude and of longitude."""
        cosine = signal.map_noise.cosine / COSINE_PARTS
        return np.array([_LATITUDE, _LONGITUDE * cosine])


class AxisFrame:
    """Lines and rings; distances add."""

    norm = 1

    def __init__(self, space: AxisSpace) -> None:
        self._space = space
        self._low = np.array([axis.low for axis in space.axes])
        self._scale = np.array([axis.scale for axis in space.axes])
        self.extent = np.array([float(axis.size) for axis in space.axes])
        self.units = np.ones(space.dimension)
        self.rings = np.array([axis.wraps for axis in space.axes])

    def grid(self, coordinates: Points) -> Points:
        """Units of distance from the low ends."""
        return np.asarray((coordinates - self._low) / self._scale)

    def tree(self, grid: Points) -> Points:
        """The same, a ring's high end being its low end."""
        return self.inside(grid)

    def inside(self, grid: Points) -> Points:
        """Clamped on lines, wrapped on rings."""
        return _inside(grid, self.extent, self.rings)

    def epsilon(self, signal: Signal) -> float:
        """Per unit of distance."""
        return float(signal.lattice.epsilon)

    def aim(self, signal: Signal) -> Points:
        """The noisy point."""
        return signal.point()

    def spread(self, _: Signal, offsets: Points) -> Points:
        """The same."""
        return offsets

    def log_likelihood(self, signal: Signal, axes: list[Points]) -> Points:
        """The sum over the axes of -t log(1 + 1/q), t steps of the lattice; both ways on a ring."""
        rate = log1p(1 / signal.lattice.inverse_rate) / signal.lattice.step
        total = np.zeros([1] * len(axes))
        for number, (aim, axis) in enumerate(zip(self.aim(signal), axes, strict=True)):
            away = np.abs(axis - aim)
            if self.rings[number]:
                size = self.extent[number]
                away %= size
                logs = np.logaddexp(-rate * away, -rate * (size - away))
            else:
                logs = -rate * away
            total = total + logs.reshape([-1 if n == number else 1 for n in range(len(axes))])
        return total

    def noise(self, signal: Signal, uniform: Points) -> Points:
        """Laplace on each axis."""
        tail = 2 * np.minimum(uniform, 1 - uniform)
        return np.asarray(np.sign(0.5 - uniform) * np.log(tail) / self.epsilon(signal))

    def offsets(self, signal: Signal, disutility: Disutility, k: int) -> Points:
        """In units of distance."""
        return offsets_on_axes(self._space, signal.lattice, k, disutility)

    def effort(self, k: int) -> int:
        """A dynamic program around one ring: 17 ms for k = 8, 83 ms for k = 64."""
        return 4 + k // 2 if len(self.rings) == 1 and self.rings[0] else 0


def _inside(grid: Points, extent: Points, rings: NDArray[np.bool_]) -> Points:
    """Clamped into the box; wrapped on rings."""
    clamped = np.minimum(np.maximum(grid, 0.0), extent)  # np.clip takes twice as long
    if True not in rings.tolist():  # of so few, in a tenth of the time of `any`
        return clamped
    wrapped = grid % extent
    # A tiny negative number wraps to the extent itself, which is the low end.
    wrapped = np.where(wrapped >= extent, 0.0, wrapped)
    return np.where(rings, wrapped, clamped)
