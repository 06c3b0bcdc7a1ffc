"""The items of a collection in a metric space: how the space lies, and the nearest items of points.

This is the one module that asks whether a space is a map or a list of axes.

Grid coordinates u, (m, d): on a map degrees north of the south edge and degrees east of the west
edge; on axes (value - low) / scale. The box [0, extent] holds the space.
Tree points, (m, e): on a map the point of the sphere with the Earth's mean radius, in kilometers,
so that nearest in the straight line is nearest by great circle, at 180 degrees too; on axes u.
Noise offsets, (m, d): kilometers east and north in the device's plane, which has the cosine that
comes with the signal; on axes units of distance.

Distances: on a map along the great circle (queries compare chords, which order alike); on axes l1.
The nearest items come from a k-d tree: exact, built in a fraction of a second, O(log n) expected
for a query. Memory: the points twice, and about as much for the tree.
"""

from __future__ import annotations

from functools import partial
from math import log1p

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import gammaincinv

from askew.errors import DimensionMismatch, OutOfRange
from askew.noise.hexagonal import GAUGE, NEIGHBORS, RISE
from askew.placement.hexagonal import place_on_map
from askew.placement.problem import Disutility, Laplace, frozen
from askew.placement.rule import place
from askew.protocol.signal import Signal
from askew.spaces.axes import AxisSpace
from askew.spaces.map import (
    COSINE_PARTS,
    KM_OF_LATITUDE,
    KM_OF_LONGITUDE,
    MICRODEGREES,
    Area,
    MapSpace,
    MetricSpace,
)

Points = NDArray[np.float64]
EARTH_RADIUS = 6371.0088  # km, the mean radius
_CORNERS = np.array([(i - j / 2, float(RISE) * j) for i, j in NEIGHBORS])  # of a hexagon, in steps
_LATITUDE, _LONGITUDE = float(KM_OF_LATITUDE), float(KM_OF_LONGITUDE)


class MapFrame:
    """An area of the Earth.

    norm: of tree points. extent: (d,), the box of grid coordinates. units: (d,), about how much
    distance one of each grid coordinate is. goes_around: whether the ends of the last grid
    coordinate are one.
    """

    norm = 2

    def __init__(self, area: Area) -> None:
        self._corner = np.array([area.south, area.west])
        self.extent = np.array([area.north - area.south, float(area.width)])
        middle = np.cos(np.radians(area.south + self.extent[0] / 2))
        self.units = np.array([_LATITUDE, _LONGITUDE * middle])
        self.goes_around = area.goes_around

    def grid(self, coordinates: Points) -> Points:
        """Return degrees north of the south edge and east of the west edge, (m, 2), of latitudes
        and longitudes (m, 2); longitudes are brought within half a turn of the region's middle.
        """
        away = coordinates - self._corner
        half = self.extent[1] / 2
        away[..., 1] = (away[..., 1] - half + 180) % 360 - 180 + half
        return np.asarray(away)

    def tree(self, grid: Points) -> Points:
        """Return the points of the sphere, (m, 3) in kilometers, of grid coordinates (m, 2)."""
        turned = (grid + self._corner) * (np.pi / 180)
        away, height = np.cos(turned), np.sin(turned)
        points = np.empty((*grid.shape[:-1], 3))
        np.multiply(away[..., 0], away[..., 1], out=points[..., 0])
        np.multiply(away[..., 0], height[..., 1], out=points[..., 1])
        points[..., 2] = height[..., 0]
        points *= EARTH_RADIUS
        return points

    def inside(self, grid: Points) -> Points:
        """Return grid coordinates clamped to the area's edges; longitudes wrap where the area goes
        around the Earth.
        """
        clamped = np.minimum(np.maximum(grid, 0.0), self.extent)  # np.clip takes twice as long
        if self.goes_around:
            longitudes = grid[..., 1] % self.extent[1]
            # A tiny negative number wraps to the extent itself, which is the low end.
            clamped[..., 1] = np.where(longitudes >= self.extent[1], 0.0, longitudes)
        return np.asarray(clamped)

    def epsilon(self, signal: Signal) -> float:
        """Return the epsilon of the signal's noise per straight-line kilometer."""
        return float(signal.map_noise.epsilon)

    def aim(self, signal: Signal) -> Points:
        """Return the noisy position, as degrees north of the south edge and east of the west edge,
        (2,), perhaps outside the box: for one point numbers take less than arrays.
        """
        north, east = signal.values
        half = float(self.extent[1]) / 2
        away = east / MICRODEGREES - float(self._corner[1])
        turned = (away - half + 180) % 360 - 180 + half
        return np.array((north / MICRODEGREES - float(self._corner[0]), turned))

    def spread(self, signal: Signal, offsets: Points) -> Points:
        """Return offsets (m, 2), kilometers east and north in the device's plane, as degrees north
        and east, (m, 2).
        """
        return offsets[:, ::-1] / self._plane(signal)

    def log_likelihood(self, signal: Signal, axes: list[Points]) -> Points:
        """Return -n log(1 + 1/q), n the steps of the lattice from a point to the signal, for all
        points of two axes: degrees north (a,) and degrees east (b,); (a, b).
        """
        lattice = signal.map_noise.lattice
        aim, plane, step = self.aim(signal), self._plane(signal), float(lattice.step)
        j = ((aim[0] - axes[0]) * (plane[0] / (step * float(RISE))))[:, None]
        i = ((aim[1] - axes[1]) * (plane[1] / step))[None, :] + j / 2
        steps = np.maximum(np.maximum(np.abs(i), np.abs(j)), np.abs(i - j))
        return np.asarray(steps * -log1p(1 / lattice.inverse_rate))

    def noise(self, epsilon: float, uniform: Points) -> Points:
        """Return offsets of noise in kilometers east and north, (m, 2), at quantiles (m, 2): the
        first is of a hexagon's radius, of a Gamma(2) law, the second of a place on its edge.
        """
        radius = gammaincinv(2.0, uniform[:, 0]) * (float(GAUGE) / epsilon)
        side, along = np.divmod(6 * uniform[:, 1], 1)
        corner = side.astype(np.int64) % 6
        edge = (1 - along)[:, None] * _CORNERS[corner] + along[:, None] * _CORNERS[corner - 5]
        return np.asarray(radius[:, None] * edge)

    def offsets(self, epsilon: float, _: Disutility, k: int) -> Points:
        """Return at most k placed offsets east and north, in kilometers, (k', 2), the nearest to
        zero first: the same for every disutility.
        """
        return place_on_map(epsilon, k).offsets

    def _plane(self, signal: Signal) -> Points:
        # Kilometers of the device's plane a degree, of latitude and of longitude.
        cosine = signal.map_noise.cosine / COSINE_PARTS
        return np.array([_LATITUDE, _LONGITUDE * cosine])


class AxisFrame:
    """Lines; distances add. Attributes as those of MapFrame."""

    norm = 1

    def __init__(self, space: AxisSpace) -> None:
        self._low = np.array([axis.low for axis in space.axes])
        self._scale = np.array([axis.scale for axis in space.axes])
        self.extent = np.array([float(axis.size) for axis in space.axes])
        self.units = np.ones(space.dimension)
        self.goes_around = False

    def grid(self, coordinates: Points) -> Points:
        """Return how far each value is from its axis' low end, in units of distance: (m, d)."""
        return np.asarray((coordinates - self._low) / self._scale)

    def tree(self, grid: Points) -> Points:
        """Return the grid coordinates (m, d) as they are: they are the tree's."""
        return grid

    def inside(self, grid: Points) -> Points:
        """Return grid coordinates clamped to the ends of the axes."""
        return np.asarray(np.minimum(np.maximum(grid, 0.0), self.extent))

    def epsilon(self, signal: Signal) -> float:
        """Return the epsilon of the signal's noise per unit of distance."""
        return float(signal.lattice.epsilon)

    def aim(self, signal: Signal) -> Points:
        """Return the noisy point, (d,) in units of distance from the low ends, perhaps outside the
        box.
        """
        return signal.point()

    def spread(self, _: Signal, offsets: Points) -> Points:
        """Return the offsets (m, d) as they are: they are grid coordinates' differences."""
        return offsets

    def log_likelihood(self, signal: Signal, axes: list[Points]) -> Points:
        """Return the sum over the axes of -t log(1 + 1/q), t the steps of the lattice from a point
        to the signal, for all points of the d axes of coordinates, (n1, ..., nd).
        """
        rate = log1p(1 / signal.lattice.inverse_rate) / signal.lattice.step
        total = np.zeros([1] * len(axes))
        for number, (aim, axis) in enumerate(zip(self.aim(signal), axes, strict=True)):
            logs = -rate * np.abs(axis - aim)
            total = total + logs.reshape([-1 if n == number else 1 for n in range(len(axes))])
        return total

    def noise(self, epsilon: float, uniform: Points) -> Points:
        """Return offsets (m, d), in units of distance: the numbers at these quantiles (m, d) of the
        Laplace law of scale 1 / epsilon, 0 at 1/2, and below 0 for quantiles below it.
        """
        tail = 2 * np.minimum(uniform, 1 - uniform)
        return np.asarray(np.sign(0.5 - uniform) * np.log(tail) / epsilon)

    def offsets(self, epsilon: float, disutility: Disutility, k: int) -> Points:
        """Return at most k placed offsets (k', d), in units of distance, the nearest to zero
        first.
        """
        found = place(Laplace(epsilon, len(self.units)), disutility, k).offsets
        offsets = found.reshape(-1, len(self.units))
        return frozen(offsets[np.argsort(np.abs(offsets).sum(axis=1), kind="stable")])


SpaceFrame = MapFrame | AxisFrame


def frame_of(space: MetricSpace) -> SpaceFrame:
    """Return the frame of a space: a MapFrame for a map, else an AxisFrame."""
    return MapFrame(space.area) if isinstance(space, MapSpace) else AxisFrame(space)


Rows = NDArray[np.int64]


class IndexPart:
    """Some items of an index, by their tree points (n, e) and their ids (n,), under a k-d tree:
    unbalanced and of large leaves, which builds fastest.
    """

    def __init__(self, frame: SpaceFrame, points: Points, ids: Rows) -> None:
        self.frame = frame
        build = partial(cKDTree, leafsize=32, balanced_tree=False)
        # Twice, the second time of points in the order of the first: where those of a leaf stand
        # together in memory, a query takes three quarters of the time.
        order = build(points, compact_nodes=False).indices
        self._tree, self._ids = build(points[order]), ids[order]

    def __len__(self) -> int:
        """Return the number n of items."""
        return int(self._tree.n)

    def nearest(self, points: Points, count: int = 1) -> Rows:
        """Return the ids of the `count` items nearest to tree points (m, e), nearest first, (m,
        count); count is at most n.
        """
        _, places = self._tree.query(points, count, p=self.frame.norm)
        return self._ids[np.asarray(places).reshape(len(points), count)]


class MetricIndex(IndexPart):
    """The items of a collection; an item's id is its row in the coordinates.

    coordinates: (n, d) float64, degrees of latitude and longitude on a map, else one value an axis.
    Raises DimensionMismatch for another dimension, OutOfRange for none, or one that is not finite.
    """

    def __init__(self, space: MetricSpace, coordinates: Points) -> None:
        if coordinates.ndim != 2 or coordinates.shape[1] != space.dimension:
            raise DimensionMismatch(coordinates.shape[-1], space.dimension)
        if not len(coordinates) or not np.isfinite(coordinates).all():
            raise OutOfRange("the coordinates of a collection", "finite, of one item at least")
        frame = frame_of(space)
        self.points: Points = frame.tree(frame.grid(coordinates))
        """The items as tree points, (n, e)."""
        super().__init__(frame, self.points, np.arange(len(coordinates)))

    def distances(self, points: Points, rows: Rows) -> NDArray[np.float32]:
        """Return the distances from tree points (m, e) to the items of these ids (c,), (m, c), as
        float32: on a map, whose tree points are in kilometers too, chords in kilometers; on axes
        sums over the axes.
        """
        # Differences from a point in their middle are small numbers, which float32 holds well.
        middle = points[0]
        firsts = (points - middle).astype(np.float32)
        seconds = (self.points[rows] - middle).T.astype(np.float32, order="C")
        total = np.zeros((len(points), len(rows)), np.float32)
        away = np.empty_like(total)
        for axis, second in enumerate(seconds):
            np.subtract(second, firsts[:, axis : axis + 1], out=away)
            if self.frame.norm == 2:
                np.multiply(away, away, out=away)
            else:
                np.abs(away, out=away)
            total += away
        return np.sqrt(total, out=total) if self.frame.norm == 2 else total
