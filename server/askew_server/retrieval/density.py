"""Where people are expected to be: a public density, and a sample of those who may have sent a
signal.

*The density* is a grid at every resolution, a mixture of three public laws:

    TOWNS    the people of the towns of a list, each town spread by a normal law whose width grows
             with it
    ITEMS    the items that are asked for: where there are some, there are people; spread by a
             normal law half as wide as items would be apart if they were spread evenly
    the rest evenly over the whole space

Without the last whoever lives far from every town and every item would be served worst, and without
the items whoever lives in a place that the list does not have. Nothing in it comes from who asked.
Shapes: d coordinates; the grid has at most 2**20 cells, a power of two on each axis; each next
level joins two cells into one on every axis that has two. Complexity: O(cells) for each of about
six widths when made; a window is bounded by `_WINDOW` cells, whatever a signal says.

*The sample* is a few hundred positions and the share of the people that each stands for, without
coins. By the noise alone: signal + noise at fixed quantiles (the law is symmetric), clamped into
the space, all shares alike. By a density of people, with e = d / (d + 1):

    weight w of a cell  proportional to  people in it * P(signal | its center)
    sample i of m       the cell at the fraction (i + 1/2) / m of the running sum of w**e,
                        and within it the i-th point of an R_d sequence
    its share           proportional to w**(1 - e)

Few of many results lie where few people are, and there one result serves a wide part. The results
of least mean distance stand as densely as w**e, so each of them has as many positions to be chosen
by as the next. With e = 1, in proportion to people, a far part had one position or none, and 64
results were 5 to 15 % farther from people in the country.

Both are functions of the signal alone: the same bytes make the same sample. Complexity: the cells
of a window and m, whatever numbers a device sends. Source: systematic sampling, with importance
weights; the density of optimal points, Zador 1982; R_d, Roberts 2018 (points of low discrepancy
from the generalized golden ratio).

*What depends on epsilon and k alone* is kept for the last that devices asked by. Devices choose
both, so this needs a limit. Whether one was asked by before shows in the time of an answer. It
tells which epsilon and k others chose, which are no secret, and nothing of where they are: neither
a position nor the plane of a map's signal, which is that of somebody's country, is a key.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, floor, log2, prod, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, uniform_filter

from askew.protocol.signal import Signal
from askew_server.collections.model import Towns
from askew_server.retrieval.index import Points, SpaceFrame

CACHED_LAWS = 256  # of the last epsilons and ks that somebody asked by
TOWNS, ITEMS = 0.2, 0.35
_NARROW = 0.25  # the least width of a town or an item, in units of distance
_LOG2_CELLS = 20
_LOG2_AXIS = 12  # a blur along one axis takes its cells times the width of a town in cells
_WINDOW = 2304
Mode = Literal["wrap", "reflect"]  # at the ends of an axis
WIDE = 32.0  # cells; a normal law beyond it is approximated
# Level 0 is the grid, and those above it are coarser; level -j cuts a cell of the grid in 2**j on
# each axis, every part with all of its people: only ratios matter.
_FINEST = -24


class Density:
    """People per cell, on a grid over the box of a frame and on coarser ones."""

    def __init__(self, frame: SpaceFrame, people: NDArray[np.float32]) -> None:
        self._extent, self._levels = frame.extent, [people]
        self._goes_around = frame.goes_around
        while self._levels[-1].size > 1:
            finer = self._levels[-1]
            for axis, size in enumerate(finer.shape):
                if size > 1:
                    finer = np.add.reduceat(finer, np.arange(0, size, 2), axis=axis)
            self._levels.append(finer)

    @classmethod
    def of_towns(cls, frame: SpaceFrame, towns: Towns, items: Points) -> Density:
        """Return the density of people, .2 of them around the towns that lie in the space, by their
        sizes, .35 around items (n, d), in the coordinates of a collection, and the rest, .45,
        evenly; where no town lies in the space, .65 evenly. Its cells add to 1.
        """
        grid = frame.grid(towns.coordinates)
        here = ((grid >= 0) & (grid <= frame.extent)).all(axis=1)
        size = towns.people[here].astype(np.float64)
        # A standard deviation in kilometers: a town's area grows a little slower than the town.
        width = np.maximum(_NARROW, 3.5 * (size / 100_000) ** 0.4)
        people = TOWNS * _shares(_spread(frame, grid[here], size, width))
        apart = (np.prod(frame.extent * frame.units) / len(items)) ** (1 / len(frame.extent))
        widths = np.full(len(items), max(_NARROW, apart / 2))
        people += ITEMS * _shares(_spread(frame, frame.grid(items), np.ones(len(items)), widths))
        return cls(frame, people + np.float32((1 - people.sum(dtype=np.float64)) / people.size))

    def window(
        self, center: Points, half: Points
    ) -> tuple[list[Points], Points, NDArray[np.float32]]:
        """Return the cells within `half` (d,) of a center (d,), both grid coordinates, at the
        finest level with at most 2,304 cells: the cells' centers on each axis, their size (d,), and
        the share of all people in each, one array dimension an axis. At a level finer than the
        grid, each part of a cell has the whole share of that cell.
        """
        low = ((center - half) / self._extent).tolist()
        high = ((center + half) / self._extent).tolist()
        sides = [min(b - a, 1.0) * n for a, b, n in zip(low, high, self._shape(0), strict=True)]
        level = max(_FINEST, floor(log2(prod(sides) / _WINDOW) / len(sides)))
        while True:
            shape = self._shape(level)
            ranges = [_cells(*ends) for ends in zip(low, high, shape, strict=True)]
            if self._goes_around:  # the ends of the last axis are one: at most once around
                first = floor(low[-1] * shape[-1])
                last = min(ceil(high[-1] * shape[-1]), first + shape[-1])
                ranges[-1] = range(first, max(first + 1, last))
            if prod(map(len, ranges)) <= _WINDOW:
                break
            level += 1
        cell = self._extent / np.array(shape)
        numbers = [np.arange(part.start, part.stop) for part in ranges]
        places = [(n % size) >> max(0, -level) for n, size in zip(numbers, shape, strict=True)]
        centers = [(n + 0.5) * side for n, side in zip(numbers, cell, strict=True)]
        people = self._levels[min(max(0, level), len(self._levels) - 1)]
        return centers, cell, people[np.ix_(*places)]

    def _shape(self, level: int) -> tuple[int, ...]:
        # A level below 0 cuts the cells of the grid.
        if level < 0:
            return tuple([n << -level for n in self._levels[0].shape])
        return self._levels[min(level, len(self._levels) - 1)].shape


def _cells(low: float, high: float, size: int) -> range:
    # Which of `size` cells reach from low to high, in parts of the axis.
    first = min(max(floor(low * size), 0), size - 1)
    return range(first, max(first + 1, min(ceil(high * size), size)))


def _shares(people: NDArray[np.float32]) -> NDArray[np.float32]:
    return people * np.float32(1 / max(float(people.sum(dtype=np.float64)), 1e-30))


def _spread(frame: SpaceFrame, grid: Points, people: Points, widths: Points) -> NDArray[np.float32]:
    # On the finest grid, every town by a normal law of its width: one blur for all points of about
    # one width.
    reach = frame.extent * frame.units
    # Powers of two that make cells about as long as wide, and at most 2**20 of them.
    side = (_LOG2_CELLS - np.log2(reach).sum()) / len(reach)
    exponents = np.clip(np.floor(np.log2(reach) + side + 0.5), 0, _LOG2_AXIS).astype(int)
    while exponents.sum() > _LOG2_CELLS:
        exponents[exponents.argmax()] -= 1
    shape = tuple((1 << exponents).tolist())
    rows = np.minimum((grid / frame.extent * shape).astype(np.int64), np.array(shape) - 1)
    flat = np.ravel_multi_index(tuple(rows.T), shape)
    classes = np.rint(np.log2(widths)).astype(np.int64)
    modes: list[Mode] = ["reflect"] * len(shape)
    if frame.goes_around:
        modes[-1] = "wrap"
    total = np.zeros(shape, np.float32)
    for kind in np.unique(classes):
        of_class = classes == kind
        of_cells = np.bincount(flat[of_class], people[of_class], total.size).astype(np.float32)
        sigma = (2.0**kind / (reach / shape)).tolist()
        total += blurred(of_cells.reshape(shape), sigma, modes)
    return total


def blurred(
    people: NDArray[np.float32], sigma: list[float], modes: list[Mode]
) -> NDArray[np.float32]:
    """Return people (one number a cell) spread by a normal law of these standard deviations, in
    cells of each axis; their sum stays.

    A wide law is four means in a row, whose work does not grow with it and whose density is off by
    a part .04 at most; twice as wide as the space is as good as even.
    """
    if max(sigma) <= WIDE:
        return np.asarray(gaussian_filter(people, sigma, mode=modes, truncate=3))
    widths = [min(width, 2.0 * n) for width, n in zip(sigma, people.shape, strict=True)]
    sizes = [2 * round((sqrt(3 * width**2 + 1) - 1) / 2) + 1 for width in widths]
    for _ in range(4):
        people = uniform_filter(people, sizes, mode=modes)
    return people


SAMPLES = 256
_REACH = 6.0  # of a window, in 1 / epsilon


class ByNoise:
    """Whom a server expects where once it has a signal, by the noise alone: anywhere alike. count:
    positions in a sample.
    """

    def __init__(self, frame: SpaceFrame, count: int = SAMPLES) -> None:
        self._frame, self._count = frame, count
        self._moves = lru_cache(CACHED_LAWS)(self.moves)

    def sample(self, signal: Signal) -> tuple[Points, Points]:
        """Return positions around the signal at fixed quantiles of the noise, clamped into the
        space, (m, d) grid coordinates, and their shares, 1 / m each.
        """
        frame = self._frame
        moves = frame.spread(signal, self._moves(frame.epsilon(signal)))
        points = frame.inside(frame.inside(frame.aim(signal)) + moves)
        return points, np.full(self._count, 1 / self._count)

    def moves(self, epsilon: float) -> Points:
        """Return the way from a signal of this epsilon to each of the m positions, as noise offsets
        (m, d): always the same, as the quantiles of the noise are spread evenly by
        `low_discrepancy`.
        """
        dimension = len(self._frame.extent)
        first = (np.arange(self._count) + 0.5) / self._count
        others = low_discrepancy(self._count, dimension - 1)
        uniform = np.column_stack([first, others])
        return self._frame.noise(epsilon, uniform)


class ByDensity:
    """Whom a server expects where once it has a signal, by a density of people. count: positions in
    a sample.
    """

    def __init__(self, frame: SpaceFrame, density: Density, count: int = SAMPLES) -> None:
        self._frame, self._density = frame, density
        self._jitter = low_discrepancy(count, len(frame.extent)) - 0.5
        self._fractions = (np.arange(count) + 0.5) / count
        self._power = len(frame.extent) / (len(frame.extent) + 1)

    def sample(self, signal: Signal) -> tuple[Points, Points]:
        """Return positions by the posterior, within 6 / epsilon of the signal, (m, d) grid
        coordinates, and their shares of the people, (m,), which add to 1.
        """
        frame = self._frame
        center = frame.inside(frame.aim(signal))
        reach = np.full((1, len(center)), _REACH / frame.epsilon(signal))
        centers, cell, people = self._density.window(center, frame.spread(signal, reach)[0])
        logs = frame.log_likelihood(signal, centers)
        people = (people * np.exp(logs - logs.max())).ravel()
        reached = np.cumsum(people**self._power, dtype=np.float64)
        cells = np.searchsorted(reached, self._fractions * reached[-1])
        cells = np.minimum(cells, len(reached) - 1)
        places = np.unravel_index(cells, logs.shape)
        middle = np.stack([c[at] for c, at in zip(centers, places, strict=True)], axis=1)
        shares = people[cells] ** (1 - self._power)
        return frame.inside(middle + self._jitter * cell), shares / shares.sum()


def low_discrepancy(count: int, dimension: int) -> Points:
    """Return the first `count` points of the R_d sequence, (count, dimension), in [0, 1): point n,
    from 1 on, has what n / g, n / g^2 ... have behind the point; g^(dimension + 1) = g + 1. Of one
    dimension they are .618, .236 ..., of two (.755, .570), (.510, .140) ...
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1, dimension + 1)
    return np.asarray(np.arange(1, count + 1)[:, None] * steps % 1)
