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

from functools import lru_cache, partial
from math import log1p
from typing import Protocol

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


class SpaceFrame(Protocol):
    """What a rule must know of a space."""

    norm: int  # of tree points
    extent: Points  # (d,), the box of grid coordinates
    units: Points  # (d,), about how much distance one of each grid coordinate is
    goes_around: bool  # whether the ends of the last coordinate are one

    def grid(self, coordinates: Points) -> Points:
        """Return the grid coordinates (m, d) of coordinates of a collection (m, d)."""

    def tree(self, grid: Points) -> Points:
        """Return the tree points (m, e) of grid coordinates (m, d)."""

    def inside(self, grid: Points) -> Points:
        """Return grid coordinates clamped into the box; wrapped where the last one goes around."""

    def epsilon(self, signal: Signal) -> float:
        """Return the epsilon of the signal's noise per unit of distance: per kilometer on a map."""

    def aim(self, signal: Signal) -> Points:
        """Return where a signal points to, (d,) grid coordinates, perhaps outside the box."""

    def spread(self, signal: Signal, offsets: Points, /) -> Points:
        """Return noise offsets (m, d) as differences of grid coordinates (m, d)."""

    def log_likelihood(self, signal: Signal, axes: list[Points]) -> Points:
        """Return log P(signal | point), up to a constant, for all points of d axes of grid
        coordinates: one array dimension an axis.
        """

    def noise(self, signal: Signal, uniform: Points) -> Points:
        """Return noise offsets (m, d) at quantiles (m, d) in (0, 1) of the signal's law."""

    def offsets(self, signal: Signal, disutility: Disutility, k: int) -> Points:
        """Return the placed noise offsets (k', d), 1 <= k' <= k, the nearest to zero first."""


def frame_of(space: MetricSpace) -> SpaceFrame:
    """Return the frame of a space: a MapFrame for a map, else an AxisFrame."""
    return MapFrame(space.area) if isinstance(space, MapSpace) else AxisFrame(space)


class MapFrame:
    """An area of the Earth."""

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

    def noise(self, signal: Signal, uniform: Points) -> Points:
        """Return offsets in kilometers east and north, (m, 2), by a hexagon's radius, of a Gamma(2)
        law at the first quantile, and a place on its edge by the second.
        """
        radius = gammaincinv(2.0, uniform[:, 0]) * (float(GAUGE) / self.epsilon(signal))
        side, along = np.divmod(6 * uniform[:, 1], 1)
        corner = side.astype(np.int64) % 6
        edge = (1 - along)[:, None] * _CORNERS[corner] + along[:, None] * _CORNERS[corner - 5]
        return np.asarray(radius[:, None] * edge)

    def offsets(self, signal: Signal, disutility: Disutility, k: int) -> Points:
        """Return the placed offsets east and north, in kilometers, (k', 2), the nearest to zero
        first.
        """
        return place_on_map(self.epsilon(signal), k, disutility).offsets

    def _plane(self, signal: Signal) -> Points:
        # Kilometers of the device's plane a degree, of latitude and of longitude.
        cosine = signal.map_noise.cosine / COSINE_PARTS
        return np.array([_LATITUDE, _LONGITUDE * cosine])


class AxisFrame:
    """Lines; distances add."""

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

    def noise(self, signal: Signal, uniform: Points) -> Points:
        """Return offsets (m, d), in units of distance: the numbers at these quantiles of the
        Laplace law, below 0 for quantiles below 1/2.
        """
        tail = 2 * np.minimum(uniform, 1 - uniform)
        return np.asarray(np.sign(0.5 - uniform) * np.log(tail) / self.epsilon(signal))

    def offsets(self, signal: Signal, disutility: Disutility, k: int) -> Points:
        """Return the placed offsets (k', d), in units of distance, the nearest to zero first."""
        return _placed(self.epsilon(signal), len(self.units), k, disutility)


@lru_cache(maxsize=256)
def _placed(epsilon: float, dimension: int, k: int, disutility: Disutility) -> Points:
    # Of the Laplace law, (k', d), the nearest to zero first.
    found = place(Laplace(epsilon, dimension), disutility, k, on_demand=False).offsets
    offsets = found.reshape(-1, dimension)
    return frozen(offsets[np.argsort(np.abs(offsets).sum(axis=1), kind="stable")])


Rows = NDArray[np.int64]
_BESIDE = 2  # times as many items as are looked for, on both sides


class _Tree:
    """Tree points under a k-d tree: unbalanced and of large leaves, which builds fastest. It is
    made twice, the second time of points in the order of the first: where those of a leaf stand
    together in memory, a query takes three quarters of the time.
    """

    def __init__(self, frame: SpaceFrame, points: Points) -> None:
        self.frame = frame
        build = partial(cKDTree, leafsize=32, balanced_tree=False)
        self._order: Rows = build(points, compact_nodes=False).indices
        self._tree = build(points[self._order])

    def __len__(self) -> int:
        """Return the number n of items."""
        return int(self._tree.n)

    def nearest(self, grid: Points, count: int = 1) -> Rows:
        """Return the ids of the `count` items nearest to points of grid coordinates (m, d), nearest
        first, (m, count).

        count: at most n.
        """
        return self.reach(self.frame.tree(grid), count)[1]

    def reach(self, points: Points, count: int = 1) -> tuple[Points, Rows]:
        """Return distances and ids of the `count` items nearest to tree points (m, e), nearest
        first: (m, count) each. On a map distances are chords, in kilometers. count: at most n.
        """
        away, places = self._found(points, count)
        return away, self._order[places]

    def _found(self, points: Points, count: int) -> tuple[Points, Rows]:
        away, places = self._tree.query(points, count, p=self.frame.norm)
        shape = len(points), count
        return np.asarray(away).reshape(shape), np.asarray(places).reshape(shape)


class IndexPart(_Tree):
    """Some items of an index, to be asked by themselves; they keep their ids."""

    def __init__(self, frame: SpaceFrame, points: Points, rows: Rows) -> None:
        super().__init__(frame, points)
        self._rows = rows

    def reach(self, points: Points, count: int = 1) -> tuple[Points, Rows]:
        """Return distances from tree points (m, e) to the `count` nearest of these items, nearest
        first, and their ids in the whole index: (m, count) each. count: at most the number of these
        items.
        """
        away, found = super().reach(points, count)
        return away, self._rows[found]


class MetricIndex(_Tree):
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
        super().__init__(frame, self.points)

    def distances(self, points: Points, rows: Rows) -> NDArray[np.float32]:
        """Return the distances from tree points (m, e) to the items of these ids (c,): (m, c), on a
        map chords in kilometers.
        """
        return self.to_distances(self._between(points, self.points[rows], points[0]))

    def nearest_and_radius(self, points: Points, count: int) -> tuple[Points, Rows, float]:
        """Return the distance and the id of the item nearest to each tree point (m, e), (m, 1)
        each, and an upper bound of the distance within which the first point has `count` items.

        The bound is not the least, but hardly more, for a third of the time: it is taken among the
        items that stand beside the point's nearest in the tree's order.
        """
        away, places = self._found(points, 1)
        first = max(0, min(int(places[0, 0]), len(self) - _BESIDE * count) - _BESIDE * count)
        beside = self._tree.data[first:][: 2 * _BESIDE * count]
        around = self.apart(points[:1], beside)
        around.partition(count - 1)
        return away, self._order[places], float(around[count - 1])

    def apart(self, points: Points, others: Points) -> Points:
        """Return the distance of each tree point, (m, e), from the one at its place in others,
        (..., m, e): (..., m); on a map chords in kilometers.
        """
        away = points - others
        if self.frame.norm == 2:
            return np.asarray(np.sqrt(np.vecdot(away, away)))
        return np.asarray(np.abs(away).sum(axis=-1))

    def squares_or_distances(self, rows: Rows, points: Points) -> NDArray[np.float32]:
        """Return numbers that order the items of these ids (c,) by distance to tree points (m, e):
        (c, m); on a map squares of chords, on axes distances.

        An item's entries stand together in memory: there are more people than items, and long rows
        are fast. Every entry is computed by the same operations in the same order, whatever the
        number of threads.
        """
        return self._between(self.points[rows], points, points[0])

    def _between(self, some: Points, others: Points, middle: Points) -> NDArray[np.float32]:
        # Differences from a point in their middle are small numbers, which float32 holds well.
        firsts = (some - middle).astype(np.float32)
        seconds = (others - middle).T.astype(np.float32, order="C")
        total = np.zeros((len(some), len(others)), np.float32)
        away = np.empty_like(total)
        for axis, second in enumerate(seconds):
            np.subtract(second, firsts[:, axis : axis + 1], out=away)
            if self.frame.norm == 2:
                np.multiply(away, away, out=away)
            else:
                np.abs(away, out=away)
            total += away
        return total

    def to_distances(self, found: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the distances of the numbers that `squares_or_distances` returned, of the same
        shape; may overwrite them.
        """
        return np.sqrt(found, out=found) if self.frame.norm == 2 else found
