"""Any noise on the line, log-concave or not: a global dynamic program on a grid, then Newton.

Without log-concavity a stationary set may be no optimum, and the optimum of symmetric noise may be
asymmetric: 0.9 Laplace(1) + 0.1 Laplace(0.05), k = 2, has its optimum at -0.0281 and 27.6971. So
all k-sets of a grid of candidates are searched, V_n(j) = min_i V_{n-1}(i) + c(i, j), with c(i, j)
the cost between neighbors i and j; the winner is polished.

The certificate is a lower bound over all k-sets, not those of the grid alone: a point within
delta_i of candidate i serves nobody better than h(max(distance to i - delta_i, 0)), so the same
program with this h, and with every quadrature rounded down, stays below the optimum.

O(k m**2) for m candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.placement.answer import Certificate, Placement, check_k
from askew.placement.cells import Cells, Gradient
from askew.placement.disutility import Disutility, Threshold
from askew.placement.increasing import Increasing
from askew.placement.newton import descend
from askew.placement.noise import LineNoise

Array = NDArray[np.float64]

_CANDIDATES = 600
_PIECES = 6  # quadrature intervals between two candidates
_TABLE = 20_001
_COVER_CANDIDATES = 1600


def place_anywhere(
    noise: LineNoise, h: Disutility, k: int, *, candidates: int | None = None
) -> Placement:
    """The best k-set of a grid, polished, with a lower bound over all k-sets.

    candidates: size of the grid, default 600 or 6 k. Raises InfiniteCost where the tails of the
    noise are too heavy, ParameterError for k < 1.
    """
    check_k(k)
    cells = Cells.of(noise, h)
    if isinstance(h, Threshold):
        return _best_cover(cells, h.radius, k)
    grid = _candidates(cells, candidates or max(_CANDIDATES, 6 * k))
    start = _best_path(_Costs.measured(cells, grid), k)[0]
    bound = _best_path(_Costs.rounded_down(cells, grid), k)[1]
    points, cost, residual = _polished(cells, grid[start])
    method = "dynamic program on a grid, polished by Newton"
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    claim = f"no k-set costs less than the bound; searched globally on {len(grid)} candidates"
    certificate = Certificate(min(bound, cost) + fixed, residual, claim)
    return Placement(points, cost + fixed, method, certificate)


def _polished(cells: Cells, points: Array) -> tuple[Array, float, float]:
    def cost_of(points: Array) -> float:
        return cells.cost(points, cells.whole_line(points))

    def gradient_of(points: Array) -> Gradient:
        return cells.gradient(points, cells.whole_line(points))

    points = descend(points, cost_of, gradient_of, unit=cells.noise.unit)
    return points, cost_of(points), float(np.abs(gradient_of(points).value).max())


def _candidates(cells: Cells, count: int) -> Array:
    """Ascending points over all of the noise, denser where the density is high: quantiles of an
    even mix of sqrt(f) and f ** (1/4), since heavy tails must not go unsearched.
    """
    noise, reach = cells.noise, cells.reach
    # Even steps in asinh: fine near the middle, and no region is skipped.
    x = np.sinh(np.linspace(-1, 1, _TABLE) * np.arcsinh(reach / noise.unit * 50)) / 50 * noise.unit
    density = noise.pdf(x)
    below = np.zeros(_TABLE)
    for power in (0.5, 0.25):
        height = density**power
        part = np.concatenate([[0.0], np.cumsum((height[1:] + height[:-1]) / 2 * np.diff(x))])
        below += part / part[-1] / 2
    kept = np.concatenate([[True], np.diff(below) > 0])
    return np.asarray(np.interp((np.arange(count) + 0.5) / count, below[kept], x[kept]))


@dataclass(frozen=True)
class _Costs:
    """Costs for a grid of m points: before (m,) and after (m,) the ends, between (m, m)."""

    before: Array
    between: Array
    after: Array

    @classmethod
    def measured(cls, cells: Cells, grid: Array) -> _Costs:
        """The costs by the middle of every quadrature interval; within it, the sums are linear."""
        x, mass = _intervals(cells, grid)
        middle = (x[1:] + x[:-1]) / 2
        summed = _summed(mass * cells.h(np.abs(middle - grid[:, None])))
        whole = (grid[:, None] + grid) / 2
        place = np.clip(np.searchsorted(x, whole) - 1, 0, len(x) - 2)
        part = (whole - x[place]) / (x[place + 1] - x[place])
        rows = np.arange(len(grid))[:, None]
        at = summed[rows, place] * (1 - part) + summed[rows, place + 1] * part
        return cls._from(summed, x, grid, at, at.T)

    @classmethod
    def rounded_down(cls, cells: Cells, grid: Array) -> _Costs:
        """The costs by the nearest end of every interval, less the radius of a candidate."""
        x, mass = _intervals(cells, grid)
        gaps = np.diff(grid) / 2
        # Beyond the ends of the grid nothing is left to serve, so the ends have no outer radius.
        radius = np.maximum(np.append(gaps, 0.0), np.append(0.0, gaps))
        ends = np.abs(x - grid[:, None]) - radius[:, None]
        near = np.maximum(np.minimum(ends[:, 1:], ends[:, :-1]), 0.0)
        summed = _summed(mass * cells.h(near))
        whole = (grid[:, None] + grid) / 2
        rows = np.arange(len(grid))[:, None]
        down = summed[rows, np.maximum(np.searchsorted(x, whole, side="right") - 1, 0)]
        up = summed[rows, np.minimum(np.searchsorted(x, whole), len(x) - 1)]
        return cls._from(summed, x, grid, down, up.T)

    @classmethod
    def _from(cls, summed: Array, x: Array, grid: Array, left: Array, right: Array) -> _Costs:
        """left[i, j]: the sum of row i up to the middle of i and j; right[i, j]: that of row j."""
        own = summed[np.arange(len(grid)), np.searchsorted(x, grid)]
        between = (left - own[:, None]) + (own - right)
        between[np.tril_indices(len(grid))] = np.inf
        return cls(own, between, summed[:, -1] - own)


def _best_cover(cells: Cells, radius: float, k: int) -> Placement:
    """1{t > r}: k intervals of width 2 r that hold the most mass, on a grid that tiles exactly.

    A jump has no derivative to follow, so the grid is the answer. The bound lets every interval be
    a grid step wider, which holds the interval of any point in between.
    """
    step = radius / 8
    while cells.reach / step > _COVER_CANDIDATES / 2:
        step *= 2
    n = int(np.ceil(cells.reach / step))
    grid: Array = np.asarray(np.arange(-n, n + 1) * step, np.float64)

    def missed(radius: float) -> _Costs:
        low, high = grid + radius, grid - radius
        width = np.maximum(high[None, :] - low[:, None], 0.0)
        between = np.maximum(cells.noise.mass(low[:, None], low[:, None] + width), 0.0)
        between[np.tril_indices(len(grid))] = np.inf
        return _Costs(cells.noise.cdf(high), between, cells.noise.sf(low))

    path, cost = _best_path(missed(radius), k)
    bound = _best_path(missed(radius + step / 2), k)[1]
    claim = f"no k-set costs less than the bound; searched globally in steps of {step:g}"
    method = "dynamic program on a grid"
    return Placement(grid[path], cost, method, Certificate(min(bound, cost), np.nan, claim))


def _summed(pieces: Array) -> Array:
    zero = np.zeros((len(pieces), 1))
    return np.concatenate([zero, np.cumsum(pieces, axis=1)], axis=1)


def _intervals(cells: Cells, grid: Array) -> tuple[Array, Array]:
    """Edges of quadrature intervals, every candidate among them, and the exact mass of each."""
    parts = np.arange(_PIECES) / _PIECES
    inner = (grid[:-1, None] + np.diff(grid)[:, None] * parts).ravel()
    tails = np.geomspace(1e-3, 1, 8 * _PIECES)
    left = grid[0] - max(grid[0] + cells.reach, 1e-9) * tails[::-1]
    right = grid[-1] + max(cells.reach - grid[-1], 1e-9) * tails
    x = np.concatenate([left, inner, [grid[-1]], right])
    return x, cells.noise.mass(x[:-1], x[1:])


def _best_path(costs: _Costs, k: int) -> tuple[NDArray[np.int64], float]:
    """The cheapest k candidates in ascending order, and their cost."""
    value, came = costs.before, []
    for _ in range(k - 1):
        through = value[:, None] + costs.between
        came.append(np.argmin(through, axis=0))
        value = through[came[-1], np.arange(len(value))]
    total = value + costs.after
    path = [int(np.argmin(total))]
    for step in reversed(came):
        path.append(int(step[path[-1]]))
    return np.array(path[::-1]), float(total[path[0]])
