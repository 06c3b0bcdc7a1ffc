"""Any noise on the line, log-concave or not: a global search on a grid, then Newton, with a bound.

**Cells.** With points a_1 < .. < a_n, half-gaps L_i, R_i to the midpoints on both sides, density f,
law F:

    cost     = sum_i int_0^{R_i} P(a_i + t < X < a_i + R_i) dh(t)  +  the same to the left
    gradient = int_0^{L_i} f(a_i - t) dh(t)  -  int_0^{R_i} f(a_i + t) dh(t)

so only the density and the two tails of the law are needed. int .. dh is summed by Gauss rules on
panels that are dyadic toward 0, where h may be steep: Gauss-Jacobi in the first for t ** p. Panels
of a callable follow its corners and jumps.

**The measure dh** of an increasing callable is known by the values of h only. h may be steep at 0,
bend and jump anywhere. `smooth_panels` finds panels of (0, reach) on each of
which h is a polynomial to rounding, or which are as narrow as a float allows; `increments` turns
the values of h at the nodes of such panels, or of parts of them, into weights of dh.

**Newton** keeps the order of the points: the cost never rises, and no two points meet.

**The search.** Without log-concavity a stationary set may be no optimum, and the optimum of
symmetric noise may be asymmetric: 0.9 Laplace(1) + 0.1 Laplace(0.05), k = 2, has its optimum at
-0.0281 and 27.6971. So all k-sets of a grid of candidates are searched, V_n(j) = min_i V_{n-1}(i) +
c(i, j), with c(i, j) the cost between neighbors i and j; the winner is polished.

The certificate is a lower bound over all k-sets, not those of the grid alone: a point within
delta_i of candidate i serves nobody better than h(max(distance to i - delta_i, 0)), so the same
program with this h, and with every quadrature rounded down, stays below the optimum.

O(k m**2) for m candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost
from askew.placement.laplace_line import legendre
from askew.placement.noise import LineNoise
from askew.placement.problem import (
    Cap,
    Certificate,
    Disutility,
    Increasing,
    Log1p,
    Placement,
    Power,
    Saturating,
    Threshold,
    check_k,
)

Array = NDArray[np.float64]

_NODES = 20
_PANELS = 6  # of halving width: the farthest half-gap is some 40 units long, its law one unit
_FINEST_PANELS = 40


class Sides(NamedTuple):
    """The two half-gaps of every point; `left_pull` is how the left one grows with its point."""

    left: Array
    right: Array
    left_pull: Array


class Gradient(NamedTuple):
    """First derivatives of the cost, and the diagonals of the second."""

    value: Array
    diagonal: Array
    beside: Array


@dataclass(frozen=True)
class LineCells:
    """One noise law and one disutility. `reach`: the noise beyond it costs nothing that counts."""

    noise: LineNoise
    h: Disutility
    reach: float

    @classmethod
    def of(cls, noise: LineNoise, h: Disutility) -> LineCells:
        """Raises InfiniteCost where the tails of the noise are too heavy for h."""
        return cls(noise, h, _reach(noise, h))

    def whole_line(self, points: Array) -> Sides:
        """Half-gaps of points that serve the whole line."""
        half = np.diff(points) / 2
        ends = (max(points[0] + self.reach, 0.0), max(self.reach - points[-1], 0.0))
        left, right = np.append(ends[0], half), np.append(half, ends[1])
        pull = np.full(len(points), 0.5)
        pull[0] = 0.0
        return Sides(left, right, pull)

    def half_line(self, points: Array, *, odd: bool) -> Sides:
        """Half-gaps of the positive points of a symmetric set, with a point at 0 or not."""
        half = np.diff(points) / 2
        left = np.append(points[0] / 2 if odd else points[0], half)
        right = np.append(half, max(self.reach - points[-1], 0.0))
        pull = np.full(len(points), 0.5)
        pull[0] = 0.5 if odd else 1.0
        return Sides(left, right, pull)

    def cost(self, points: Array, sides: Sides) -> float:
        """The part of the cost that these cells hold."""
        return self._one_side(points, sides.right, 1.0) + self._one_side(points, sides.left, -1.0)

    def half_cost(self, points: Array, *, odd: bool) -> float:
        """The cost on the positive half-line of a symmetric set, its half of the cell of 0 too."""
        cost = self.cost(points, self.half_line(points, odd=odd)) if len(points) else 0.0
        if odd:
            middle = points[0] / 2 if len(points) else self.reach
            cost += self._one_side(np.zeros(1), np.array([middle]), 1.0)
        return cost

    def gradient(self, points: Array, sides: Sides) -> Gradient:
        """Derivatives of that part in each point. f' is a difference: it only sets the pace."""
        step = 1e-5 * self.noise.unit
        pulls, bends, edges = [], [], []
        for sign, lengths in ((-1.0, sides.left), (1.0, sides.right)):
            t, weights = self._rule(points, lengths, sign)
            x = points[:, None] + sign * t
            pulls.append(np.einsum("iq,iq->i", weights, self.noise.pdf(x)))
            bend = (self.noise.pdf(x + step) - self.noise.pdf(x - step)) / (2 * step)
            bends.append(np.einsum("iq,iq->i", weights, bend))
            safe = np.maximum(lengths, 1e-300)
            edges.append(self.noise.pdf(points + sign * lengths) * self.h.slope(safe))
        edges[1][-1] = 0.0  # the far end of the last cell does not move
        diagonal = bends[0] - bends[1] + sides.left_pull * edges[0] + edges[1] / 2
        return Gradient(pulls[0] - pulls[1], diagonal, -edges[1][:-1] / 2)

    def _smooth_panels(self, longest: float) -> Array:
        """Panels of a callable h up to a distance that holds the longest half-gap."""
        whole = self._panels
        return np.append(whole[whole < longest], longest)

    @cached_property
    def _panels(self) -> Array:
        # A half-gap may be longer than the reach by as much as its point stands beyond 0.
        return smooth_panels(cast("Increasing", self.h), self.noise.unit, 2 * self.reach)

    def pull(self, point: float, length: float, sign: float) -> float:
        """int_0^length f(point + sign t) dh(t)."""
        t, weights = self._rule(np.array([point]), np.array([length]), sign)
        return float((weights * self.noise.pdf(point + sign * t)).sum())

    def _one_side(self, points: Array, lengths: Array, sign: float) -> float:
        t, weights = self._rule(points, lengths, sign)
        inner = points[:, None] + sign * t
        outer = np.broadcast_to((points + sign * lengths)[:, None], inner.shape)
        low, high = (inner, outer) if sign > 0 else (outer, inner)
        return float((weights * self.noise.mass(low, high)).sum())

    def _rule(self, points: Array, lengths: Array, sign: float) -> tuple[Array, Array]:
        """Nodes (n, q) and weights of int_0^length .. dh for each length (n,)."""
        h = self.h
        if isinstance(h, Cap):
            lengths = np.minimum(lengths, h.limit)
        edges = self._edges(points, lengths, sign)
        if isinstance(h, Increasing):
            t, weights = increments(h, edges)
            return _flat(t), _flat(weights)
        nodes, weights = legendre(_NODES)
        width = np.diff(edges)[:, :, None]
        t = edges[:, :-1, None] + width * nodes
        first = width[:, 0]
        if isinstance(h, Power):
            inner, heights = _power_rule(h.exponent)
            t[:, 0] = first * inner
        weights = width * weights * h.slope(np.maximum(t, 1e-300))
        if isinstance(h, Power):
            weights[:, 0] = first**h.exponent * heights
        return _flat(t), _flat(weights)

    def _edges(self, points: Array, lengths: Array, sign: float) -> Array:
        """Panels of each half-gap: dyadic toward 0, and cut where the density has a corner."""
        longest = max(float(lengths.max()), 1e-300)
        panels = _PANELS
        if isinstance(self.h, Saturating | Log1p):
            panels += min(max(0, int(np.ceil(np.log2(longest / self.h.scale)))), 60)
        elif isinstance(self.h, Power) and self.noise.corners:
            panels = _FINEST_PANELS  # a corner may cut any panel, and h stays steep behind the cut
        if isinstance(self.h, Increasing):
            edges = np.minimum(self._smooth_panels(longest), lengths[:, None])
        else:
            edges = lengths[:, None] * np.concatenate([[0.0], 2.0 ** np.arange(-panels, 1)])
        if not self.noise.corners:
            return np.asarray(edges)
        cuts = sign * (np.array(self.noise.corners) - points[:, None])
        whole = np.broadcast_to(lengths[:, None], cuts.shape)
        # A cut in the first panel would leave h steep behind it, and there is no mass to cut.
        cuts = np.where((cuts > edges[:, 1:2]) & (cuts < whole), cuts, whole)
        return np.sort(np.concatenate([edges, cuts], axis=1), axis=1)


def _flat(panels: Array) -> Array:
    return np.asarray(panels.reshape(len(panels), -1))


@lru_cache(maxsize=64)
def _power_rule(exponent: float) -> tuple[Array, Array]:
    """Nodes and Gauss-Jacobi weights of d(t ** exponent) on [0, 1]."""
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(_NODES, 0.0, exponent - 1)
    return (nodes + 1) / 2, exponent * 0.5**exponent * weights


def _reach(noise: LineNoise, h: Disutility) -> float:
    """Where h times the tail of the noise has fallen below 1e-18 of a typical cost."""
    far = 4 * noise.unit
    typical = float(h(np.array([noise.unit]))[0]) + 1e-300
    before = np.inf
    for _ in range(60):
        x = np.array([far])
        with np.errstate(over="ignore", invalid="ignore"):
            tail = noise.cdf(-x) + noise.sf(x)
            left = float((h(x) * tail)[0])
        if left <= 1e-18 * typical:
            return far
        if tail[0] == 0 or not np.isfinite(left):
            if before <= 1e-12 * typical:
                return far / 1.25  # h may have overflown since
            break  # the tail has underflown while it still counted
        before = left
        far *= 1.25
    raise InfiniteCost("disutility", h, "of finite expected cost: the noise has heavier tails")


_FINEST = 40  # panels of halving width toward 0
_WIDENING = 1.25  # of the panels beyond the unit, so that tails of a law are resolved as well
_SPLITS = 48
_MOST = 100_000  # a function full of corners is taken as it is from here on
_NARROW = 4e-14  # relative to the distance; narrower panels hold all of their increment at once
_CHECKED = np.array([0.0, 0.07, 0.37, 0.5, 0.93, 1.0])


def smooth_panels(h: Increasing, unit: float, reach: float) -> Array:
    """Ascending edges from 0 to reach. O(panels) calls of h on arrays."""
    wide = int(np.ceil(np.log(max(reach / unit, 1.0)) / np.log(_WIDENING)))
    steps = np.concatenate([2.0 ** np.arange(-_FINEST, 1), _WIDENING ** np.arange(1, wide)])
    whole = np.concatenate([[0.0], unit * steps[unit * steps < reach], [reach]])
    least = 1e-14 * (float(h(np.array([unit]))[0]) + abs(h.at_zero))
    cuts = np.empty(0)
    low, high = whole[1:-1], whole[2:]  # in the first panel all of h counts as one step
    for _ in range(_SPLITS):
        coarse = ~_fits(h, low, high, least) & (high - low > _NARROW * high)
        if not coarse.any() or len(cuts) > _MOST:
            break
        low, high = low[coarse], high[coarse]
        middle = low + (high - low) / 2
        cuts = np.concatenate([cuts, middle])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return _coarsened(h, whole, np.sort(cuts), least)


def _coarsened(h: Increasing, whole: Array, cuts: Array, least: float) -> Array:
    """The edges without the cuts that only led to a corner or a jump and are not at it."""
    for turn in range(_SPLITS):
        edges = np.sort(np.concatenate([whole, cuts]))
        at = np.searchsorted(edges, cuts)
        # No two neighbors in one turn, or the panel that replaces them goes unchecked.
        spare = _fits(h, edges[at - 1], edges[at + 1], least) & (at % 2 == turn % 2)
        cuts = cuts[~spare]
        if not spare.any() and turn % 2:
            break
    return np.sort(np.concatenate([whole, cuts]))


def _fits(h: Increasing, low: Array, high: Array, least: float) -> NDArray[np.bool_]:
    """Whether h is a polynomial on each panel; true as well where it overflows."""
    nodes, _ = legendre(_NODES)
    width = (high - low)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        fitted = h(low[:, None] + width * nodes) @ _interpolation().T
        rest = np.abs(fitted - h(low[:, None] + width * _CHECKED)).max(axis=1)
        # Relative to the lower end: the noise may fall as fast within the panel as h grows.
        return np.asarray(~(rest > 1e-12 * h(low) + least))


def increments(h: Increasing, edges: Array) -> tuple[Array, Array]:
    """Nodes t and weights of dh, both (n, p, q), for panels with edges (n, p + 1)."""
    nodes, weights = legendre(_NODES)
    width = np.diff(edges)
    t = edges[:, :-1, None] + width[:, :, None] * nodes
    found = (h(t) @ _derivative_matrix().T) * weights
    narrow = width <= _NARROW * edges[:, 1:]
    narrow |= edges[:, :-1] == 0
    found[narrow] = (np.diff(h(edges))[narrow])[:, None] * weights
    return t, found


@lru_cache(maxsize=1)
def _interpolation() -> Array:
    """Takes values at the nodes of [0, 1] to those of their polynomial at the checked places."""
    nodes, _ = legendre(_NODES)
    scales = _scales(nodes)
    matrix = 1 / scales / (_CHECKED[:, None] - nodes)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


@lru_cache(maxsize=1)
def _derivative_matrix() -> Array:
    """Takes values at the nodes of [0, 1] to the derivative of the polynomial through them."""
    nodes, _ = legendre(_NODES)
    scales = _scales(nodes)
    matrix = scales[:, None] / scales / (nodes[:, None] - nodes + np.eye(_NODES))
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return np.asarray(matrix)


def _scales(nodes: Array) -> Array:
    """prod_{j != i} (x_i - x_j)."""
    return np.asarray((nodes[:, None] - nodes + np.eye(len(nodes))).prod(axis=1))


CostOf = Callable[[Array], float]
GradientOf = Callable[[Array], Gradient]

_TURNS = 100
_STEP = 1e-13  # relative to the unit of the noise
_DAMPING = (0.0, *10.0 ** np.arange(-3.0, 6.0))
_PARTS = (1.0, 0.5, 0.25)


def descend(
    points: Array,
    cost_of: CostOf,
    gradient_of: GradientOf,
    *,
    unit: float,
    least: float = -np.inf,
) -> Array:
    """A local minimum near ascending points, all above `least`. O(n) a turn beside the calls."""
    cost = cost_of(points)
    for _ in range(_TURNS):
        moved, cost = _downhill(points, cost, cost_of, gradient_of(points), least)
        length = float(np.abs(moved - points).max())
        points = moved
        if length <= _STEP * unit:
            break
    return points


def _downhill(
    points: Array, cost: float, cost_of: CostOf, gradient: Gradient, least: float
) -> tuple[Array, float]:
    """Newton's step, or one damped by more and more of the identity where the cost is not convex;
    the points as they are if none keeps the order and the cost.
    """
    size = float(np.abs(gradient.diagonal).max()) + 1e-300
    for damping in _DAMPING:
        move = _solved(gradient.diagonal + damping * size, gradient.beside, gradient.value)
        if move is None:
            continue
        for part in _PARTS:
            moved = points - part * move
            if moved[0] <= least or (np.diff(moved) <= 0).any():
                continue
            reached = cost_of(moved)
            # Costs at the optimum agree to rounding while the points still settle.
            if reached <= cost * (1 + 1e-14):
                return moved, reached
    return points, cost


def _solved(diagonal: Array, beside: Array, right: Array) -> Array | None:
    """The solution of a symmetric tridiagonal system, or None where it is not positive."""
    from scipy.linalg.lapack import dptsv

    if len(diagonal) == 1:
        return right / diagonal if diagonal[0] > 0 else None
    _, _, solution, failed = dptsv(diagonal, beside, right)
    return None if failed else np.asarray(solution)


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
    cells = LineCells.of(noise, h)
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


def _polished(cells: LineCells, points: Array) -> tuple[Array, float, float]:
    def cost_of(points: Array) -> float:
        return cells.cost(points, cells.whole_line(points))

    def gradient_of(points: Array) -> Gradient:
        return cells.gradient(points, cells.whole_line(points))

    points = descend(points, cost_of, gradient_of, unit=cells.noise.unit)
    return points, cost_of(points), float(np.abs(gradient_of(points).value).max())


def _candidates(cells: LineCells, count: int) -> Array:
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
    def measured(cls, cells: LineCells, grid: Array) -> _Costs:
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
    def rounded_down(cls, cells: LineCells, grid: Array) -> _Costs:
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


def _best_cover(cells: LineCells, radius: float, k: int) -> Placement:
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


def _intervals(cells: LineCells, grid: Array) -> tuple[Array, Array]:
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
