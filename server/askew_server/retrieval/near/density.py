"""Where people are expected to be: a public density on a grid, at every resolution.

The people of each town are spread around it by a normal law whose width grows with the town, and
three tenths of all people are spread evenly over the whole space: without that floor whoever lives
far from every town of the list would be served worst. (A tenth serves people in towns no better,
and those in villages a sixth worse.) Nothing in it comes from who asked.

Shapes: d coordinates; the grid has at most 2**20 cells, a power of two on each axis; each next
level joins two cells into one on every axis that has two. Complexity: O(cells) for each of about
five widths when made; a window is bounded by `_WINDOW` cells, whatever a signal says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, log2, prod, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter

from askew_server.collections.model import Towns
from askew_server.retrieval.near.frame import Frame, Points

FLOOR = 0.3
_LOG2_CELLS = 20
_WINDOW = 2304
Mode = Literal["wrap", "reflect"]  # at the ends of an axis
WIDE = 32.0  # cells; a normal law beyond it is approximated
_FINEST = -24  # the level at which a cell of the grid was cut in two this often


@dataclass(frozen=True, eq=False)
class Window:
    """Some cells: their centers on each axis, their size (d,), and the people of each."""

    centers: list[Points]
    cell: Points
    people: NDArray[np.float32] = field(repr=False)


class Density:
    """People on a grid over the box of a frame, and on coarser ones."""

    def __init__(self, frame: Frame, people: NDArray[np.float32]) -> None:
        self._extent, self._levels = frame.extent, [people]
        self._rings: list[bool] = frame.rings.tolist()
        while self._levels[-1].size > 1:
            self._levels.append(_joined(self._levels[-1]))

    @classmethod
    def of_towns(cls, frame: Frame, towns: Towns) -> Density:
        """The people of the towns that lie in the space, each spread by its size, and the floor."""
        grid = frame.grid(towns.coordinates)
        here = ((grid >= 0) & (grid <= frame.extent)).all(axis=1)
        people = _spread(frame, grid[here], towns.people[here].astype(np.float64))
        people *= (1 - FLOOR) / max(float(people.sum(dtype=np.float64)), 1e-30)
        return cls(frame, people + np.float32(FLOOR / people.size))

    def window(self, center: Points, half: Points) -> Window:
        """The cells within `half` (d,) of a center (d,) inside, as fine as the limit allows."""
        low = ((center - half) / self._extent).tolist()
        high = ((center + half) / self._extent).tolist()
        sides = [min(b - a, 1.0) * n for a, b, n in zip(low, high, self._shape(0), strict=True)]
        level = max(_FINEST, floor(log2(prod(sides) / _WINDOW) / len(sides)))
        while True:
            ranges = [
                _cells(*each)
                for each in zip(low, high, self._shape(level), self._rings, strict=True)
            ]
            if prod(map(len, ranges)) <= _WINDOW:
                return self._window(level, ranges)
            level += 1

    def _shape(self, level: int) -> tuple[int, ...]:
        """Cells on each axis; a level below 0 cuts the cells of the grid."""
        if level < 0:
            return tuple([n << -level for n in self._levels[0].shape])
        return self._levels[min(level, len(self._levels) - 1)].shape

    def _window(self, level: int, ranges: list[range]) -> Window:
        shape = np.array(self._shape(level))
        cell = self._extent / shape
        numbers = [np.arange(each.start, each.stop) for each in ranges]
        places = [(n % size) >> max(0, -level) for n, size in zip(numbers, shape, strict=True)]
        centers = [(n + 0.5) * side for n, side in zip(numbers, cell, strict=True)]
        held = self._levels[min(max(0, level), len(self._levels) - 1)]
        return Window(centers, cell, held[np.ix_(*places)])


def _cells(low: float, high: float, size: int, ring: bool) -> range:
    """Which of `size` cells reach from low to high, in parts of the axis; a ring once around."""
    first, last = floor(low * size), ceil(high * size)
    if ring:
        return range(first, max(first + 1, min(last, first + size)))
    first = min(max(first, 0), size - 1)
    return range(first, max(first + 1, min(last, size)))


def _joined(people: NDArray[np.float32]) -> NDArray[np.float32]:
    """Half as many cells on each axis that has two."""
    for axis, size in enumerate(people.shape):
        if size > 1:
            people = np.add.reduceat(people, np.arange(0, size, 2), axis=axis)
    return people


def _spread(frame: Frame, grid: Points, people: Points) -> NDArray[np.float32]:
    """The people of towns on the finest grid: one blur for all towns of about one width."""
    reach = frame.extent * frame.units
    shape = _shape_of(reach)
    rows = np.minimum((grid / frame.extent * shape).astype(np.int64), np.array(shape) - 1)
    flat = np.ravel_multi_index(tuple(rows.T), shape)
    classes = np.rint(np.log2(_width(people))).astype(np.int64)
    modes: list[Mode] = ["wrap" if ring else "reflect" for ring in frame.rings]
    total = np.zeros(shape, np.float32)
    for each in np.unique(classes):
        of_class = classes == each
        held = np.bincount(flat[of_class], people[of_class], total.size).astype(np.float32)
        sigma = (2.0**each / (reach / shape)).tolist()
        total += blurred(held.reshape(shape), sigma, modes)
    return total


def blurred(
    people: NDArray[np.float32], sigma: list[float], modes: list[Mode]
) -> NDArray[np.float32]:
    """People spread by a normal law of these standard deviations, in cells.

    A wide law is four means in a row, whose work does not grow with it and whose density is off by
    a part .04 at most; twice as wide as the space is as good as even.
    """
    if max(sigma) <= WIDE:
        return np.asarray(gaussian_filter(people, sigma, mode=modes, truncate=3))
    widths = [min(each, 2.0 * n) for each, n in zip(sigma, people.shape, strict=True)]
    sizes = [2 * round((sqrt(3 * each**2 + 1) - 1) / 2) + 1 for each in widths]
    for _ in range(4):
        people = uniform_filter(people, sizes, mode=modes)
    return people


def _width(people: Points) -> Points:
    """The standard deviation of a town in kilometers: its area grows a little slower than it."""
    return np.maximum(0.25, 3.5 * (people / 100_000) ** 0.4)


def _shape_of(reach: Points) -> tuple[int, ...]:
    """Powers of two that make cells about as long as wide, and at most 2**20 of them."""
    side = (_LOG2_CELLS - np.log2(reach).sum()) / len(reach)
    exponents = np.maximum(0, np.floor(np.log2(reach) + side + 0.5)).astype(int)
    while exponents.sum() > _LOG2_CELLS:
        exponents[exponents.argmax()] -= 1
    return tuple((1 << exponents).tolist())
