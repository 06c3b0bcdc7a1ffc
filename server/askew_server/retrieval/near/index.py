"""The nearest items of points, by a k-d tree: exact, and built in a fraction of a second.

Distances: on a map along the great circle of a sphere with the Earth's mean radius (queries compare
chords, which order alike); on axes l1, the short way on rings. Memory: the points twice,
and about as much for the tree. A query takes O(log n) expected.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from askew.errors import DimensionMismatch, OutOfRange
from askew.metric.map_space import MetricSpace
from askew_server.retrieval.near.frame import Frame, Points, frame_of

Rows = NDArray[np.int64]
_BESIDE = 2  # times as many items as are looked for, on both sides


class _Tree:
    """Tree points under a k-d tree: unbalanced and of large leaves, which builds fastest. It is
    made twice, the second time of points in the order of the first: where those of a leaf stand
    together in memory, a query takes three quarters of the time.
    """

    def __init__(self, frame: Frame, points: Points) -> None:
        self.frame = frame
        # On a sphere the ends of a coordinate are one as they are.
        wraps = frame.norm == 1 and frame.rings.any()
        around = np.where(frame.rings, frame.extent, 0.0) if wraps else None
        made = partial(cKDTree, leafsize=32, balanced_tree=False, boxsize=around)
        self._order: Rows = made(points, compact_nodes=False).indices
        self._tree = made(points[self._order])

    def __len__(self) -> int:
        """The number n of items."""
        return int(self._tree.n)

    def nearest(self, grid: Points, count: int = 1) -> Rows:
        """The `count` items nearest to each point of grid coordinates (m, d), nearest first.

        (m, count); count at most n.
        """
        return self.reach(self.frame.tree(grid), count)[1]

    def reach(self, points: Points, count: int = 1) -> tuple[Points, Rows]:
        """The same of tree points (m, e), with the distances: twice (m, count)."""
        away, places = self._found(points, count)
        return away, self._order[places]

    def _found(self, points: Points, count: int) -> tuple[Points, Rows]:
        """The distances of the nearest, and their places in the tree, twice (m, count)."""
        away, places = self._tree.query(points, count, p=self.frame.norm)
        shape = len(points), count
        return np.asarray(away).reshape(shape), np.asarray(places).reshape(shape)


class Part(_Tree):
    """Some items of an index, to be asked by themselves; they keep their ids."""

    def __init__(self, frame: Frame, points: Points, rows: Rows) -> None:
        super().__init__(frame, points)
        self._rows = rows

    def reach(self, points: Points, count: int = 1) -> tuple[Points, Rows]:
        """As of the whole index, among these items."""
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
        self._coordinates = coordinates

    def grid(self, rows: Rows) -> Points:
        """Where items are, in grid coordinates (c, d)."""
        return self.frame.grid(self._coordinates[rows])

    def part(self, rows: Rows) -> Part:
        """The items of these ids."""
        return Part(self.frame, self.points[rows], rows)

    def within(self, grid: Points, distance: float) -> Rows:
        """The ids of the items within a distance of one point (d,), on a map of the chord."""
        found = self._tree.query_ball_point(self.frame.tree(grid), distance, p=self.frame.norm)
        return np.sort(self._order[np.asarray(found, np.int64)])

    def distances(self, rows: Rows, grid: Points) -> NDArray[np.float32]:
        """From points of grid coordinates (m, d) to items (c,): (m, c), on a map chords."""
        total = self.compared(rows, self.frame.tree(grid))
        return self.measured(total).T

    def nearest_and_radius(self, points: Points, count: int) -> tuple[Points, Rows, float]:
        """The nearest item of each tree point (m, e), as `reach`, and a distance within which the
        first of them has `count` items at least: hardly more than the least such, for a third of
        the time, of items that stand beside its nearest in the tree.
        """
        away, places = self._found(points, 1)
        first = max(0, min(int(places[0, 0]), len(self) - _BESIDE * count) - _BESIDE * count)
        beside = self._tree.data[first:][: 2 * _BESIDE * count]
        around = self.apart(points[:1], beside)
        around.partition(count - 1)
        return away, self._order[places], float(around[count - 1])

    def apart(self, points: Points, others: Points) -> Points:
        """The distance of tree points (m, e) from others (..., m, e): (..., m)."""
        away = points - others
        if self.frame.norm == 2:
            return np.asarray(np.sqrt(np.vecdot(away, away)))
        np.abs(away, out=away)
        around = np.where(self.frame.rings, np.abs(self.frame.extent - away), away)
        return np.asarray(np.minimum(away, around).sum(axis=-1))

    def compared(self, rows: Rows, points: Points) -> NDArray[np.float32]:
        """What orders distances from items (c,) to tree points (m, e) as they are: (c, m), of a
        norm 2 their squares. An item's stand together in memory: there are more people than items,
        and long rows are fast.

        Each entry by the same operations in the same order, whatever the number of threads.
        """
        items = self.points[rows]
        middle = points[0]  # differences are small numbers, which float32 holds well
        points = (points - middle).T.astype(np.float32, order="C")
        items = (items - middle).astype(np.float32)
        total = np.zeros((len(rows), len(points[0])), np.float32)
        away = np.empty_like(total)
        for axis, point in enumerate(points):
            np.subtract(point, items[:, axis : axis + 1], out=away)
            if self.frame.norm == 2:
                np.multiply(away, away, out=away)
            else:
                np.abs(away, out=away)
                if self.frame.rings[axis]:
                    around = np.float32(self.frame.extent[axis])
                    np.minimum(away, np.abs(around - away), out=away)
            total += away
        return total

    def measured(self, compared: NDArray[np.float32]) -> NDArray[np.float32]:
        """The distances of what `compared` gave; may overwrite it."""
        return np.sqrt(compared, out=compared) if self.frame.norm == 2 else compared
