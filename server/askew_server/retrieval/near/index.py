"""The nearest items of points, by a k-d tree: exact, and built in a fraction of a second.

Distances: on a map along the great circle of a sphere with the Earth's mean radius (queries compare
chords, which order alike); on axes l1, the short way on rings. Memory: the tree's points and about
as much again. A query takes O(log n) expected; items at one place cost what they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from askew.errors import DimensionMismatch, OutOfRange
from askew.metric.map_space import MetricSpace
from askew_server.retrieval.near.frame import Frame, Points, frame_of

Rows = NDArray[np.int64]


class MetricIndex:
    """The items of a collection; an item's id is its row in the coordinates.

    coordinates: (n, d) float64, degrees of latitude and longitude on a map, else one value an axis.
    Raises DimensionMismatch for another dimension, OutOfRange for none, or one that is not finite.
    """

    def __init__(self, space: MetricSpace, coordinates: Points) -> None:
        if coordinates.ndim != 2 or coordinates.shape[1] != space.dimension:
            raise DimensionMismatch(coordinates.shape[-1], space.dimension)
        if not len(coordinates) or not np.isfinite(coordinates).all():
            raise OutOfRange("the coordinates of a collection", "finite, of one item at least")
        self.frame: Frame = frame_of(space)
        self._coordinates = coordinates
        points = self.frame.tree(self.frame.grid(coordinates))
        rings = self.frame.rings
        around = np.where(rings, self.frame.extent, 0.0) if rings.any() else None
        self._tree = cKDTree(points, balanced_tree=False, compact_nodes=False, boxsize=around)
        self._around = around

    def __len__(self) -> int:
        """The number n of items."""
        return int(self._tree.n)

    def grid(self, rows: Rows) -> Points:
        """Where items are, in grid coordinates (c, d)."""
        return self.frame.grid(self._coordinates[rows])

    def nearest(self, grid: Points, count: int = 1) -> Rows:
        """The `count` items nearest to each point of grid coordinates (m, d), nearest first.

        (m, count); count at most n.
        """
        ranks = np.arange(1, count + 1)
        _, found = self._tree.query(self.frame.tree(grid), ranks, p=self.frame.norm)
        return np.asarray(found, np.int64)

    def within(self, grid: Points, distance: float) -> Rows:
        """The items within a distance of one point (d,), on a map of the chord."""
        point = self.frame.tree(grid)
        found = self._tree.query_ball_point(point, distance, p=self.frame.norm)
        return np.sort(np.asarray(found, np.int64))

    def distances(self, rows: Rows, grid: Points) -> NDArray[np.float32]:
        """From items (c,) to points of grid coordinates (m, d): (c, m), on a map chords.

        Each entry by the same operations in the same order, whatever the number of threads.
        """
        items, points = self._tree.data[rows], self.frame.tree(grid)
        middle = points[0]  # differences are small numbers, which float32 holds well
        pairs = zip((items - middle).T, (points - middle).T, strict=True)
        total = np.zeros((len(rows), len(grid)), np.float32)
        for axis, (item, point) in enumerate(pairs):
            away = np.subtract.outer(item.astype(np.float32), point.astype(np.float32))
            if self.frame.norm == 2:
                away *= away
            else:
                np.abs(away, out=away)
                if self._around is not None and self._around[axis]:
                    np.minimum(away, np.abs(np.float32(self._around[axis]) - away), out=away)
            total += away
        return np.sqrt(total, out=total) if self.frame.norm == 2 else total
