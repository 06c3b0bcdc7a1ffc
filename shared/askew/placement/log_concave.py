"""Symmetric log-concave noise on the line, any increasing h: the unique stationary k-set.

**Theorem.** For a symmetric log-concave density and an increasing h the stationary k-set is unique,
hence symmetric, and contains 0 iff k is odd. (Move the first point outward by d: log-concavity
gives f(a + d - t) / f(a - t) >= f(a + d + t) / f(a + t), so every half-gap after it can only grow,
and the last equation, whose half-gap is infinite already, fails.) So only the positive half is
solved for, any stationary point found is the optimum, and the direction in which even k is flat
under Laplace-like tails, a shift of all points, does not exist.

Newton with steps cut to keep the order and to lower the cost; where it stalls, shooting: the first
half-gap fixes all others one after the other, each by a monotone root, and what is left at the end
grows with it (the theorem again), so a bisection finds it. Newton is O(k) a turn. Where a callable
jumps there may be no half-gap that solves an equation: the global search takes over, with a bound.

Two rules need no optimization. They are approximations with a name and a measured price.

`paper_quantiles`: appendix A.3 of Goel et al., for K = (k + 1) / 2: the offsets are where |Y| has
survival 1 - i / K, i = 0..K-1, with both signs. Under Laplace noise its cost is at most
(e (1 + ln K) + 1) / (K epsilon), and the logarithm is real.
`root_density_rule`: quantiles i / (k + 1) of the law whose density is prop. to sqrt(f): exact for
Laplace noise at odd k and h(t) = t, asymptotically optimal for every f (Zador, Bennett); for
h ~ t**r the density is f ** (1 / (1 + r)). `centered` takes the levels (i - 1/2) / k instead, which
the literature prefers on bounded intervals and which lose here.

Cost over optimum, measured for h(t) = t (tests hold them):

| rule | noise | k = 3 | 5 | 9 | 19 | 99 | 199 |
|---|---|---|---|---|---|---|---|
| paper | Laplace | 1.172 | 1.273 | 1.400 | 1.573 | 1.976 | 2.149 |
| paper | Gaussian | 1.128 | 1.181 | 1.239 | 1.311 | 1.466 | 1.530 |
| root density | Laplace | 1 | 1 | 1 | 1 | 1 | 1 |
| root density | Gaussian | 1.005 | 1.003 | 1.002 | 1.001 | 1.000 | 1.000 |
| centered | Gaussian | 1.084 | 1.060 | 1.038 | 1.020 | 1.004 | 1.002 |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.noise import Gaussian, Laplace, LaplaceMixture, LineNoise, LogConcave, Uniform
from askew.placement.problem import (
    Cap,
    Certificate,
    Disutility,
    Identity,
    Increasing,
    Placement,
    Power,
    Saturating,
    Threshold,
    check_k,
)
from askew.placement.search import Gradient, LineCells, descend, place_anywhere

Array = NDArray[np.float64]

_GRID = 4001


def paper_quantiles(noise: LogConcave | Laplace, k: int, h: Disutility | None = None) -> Placement:
    """The rule of appendix A.3, odd k only, and what it costs under h (default h(t) = t)."""
    check_k(k)
    if k % 2 == 0:
        raise ParameterError("k", k, "odd for the quantile rule")
    i = np.arange(1, (k + 1) // 2)
    survival = 1 - i / ((k + 1) / 2)
    if isinstance(noise, Laplace):
        outward = -np.log(survival) / noise.epsilon
    else:
        outward = -noise.ppf(survival / 2)
    offsets = np.concatenate([-outward[::-1], [0.0], outward])
    return _measured(noise, h or Identity(), offsets, "quantile rule of appendix A.3")


def root_density_rule(
    noise: LogConcave, k: int, h: Disutility | None = None, *, centered: bool = False
) -> Placement:
    """Quantiles of the law of density prop. to sqrt(f), and what they cost under h."""
    check_k(k)
    offsets = root_density_quantiles(noise, k, centered=centered)
    return _measured(noise, h or Identity(), offsets, "quantiles of the root of the density")


def root_density_quantiles(
    noise: LogConcave, k: int, power: float = 0.5, *, centered: bool = False
) -> Array:
    """The quantiles i / (k + 1) of the law of density prop. to f ** power, symmetric."""
    i = np.arange(k // 2)
    q = (i + 0.5) / k if centered else (i + 1) / (k + 1)
    if isinstance(noise, Gaussian):
        negative = noise.ppf(q) / np.sqrt(power)
    else:
        negative = _tabulated(noise, q, power)
    middle = [0.0] if k % 2 else []
    return np.concatenate([negative, middle, -negative[::-1]])


def _tabulated(noise: LogConcave, q: Array, power: float) -> Array:
    # Twice as far as the noise itself goes: the root of the density has heavier tails.
    x = np.linspace(2 * float(noise.ppf(np.array([1e-12]))[0]), 0.0, _GRID)
    density = noise.pdf(x) ** power
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    kept = np.concatenate([[True], np.diff(below) > 0])
    return np.asarray(np.interp(q, below[kept] / below[-1] / 2, x[kept]))


def _measured(noise: LineNoise | Laplace, h: Disutility, offsets: Array, method: str) -> Placement:
    law = LaplaceMixture((1.0,), (noise.epsilon,)) if isinstance(noise, Laplace) else noise
    cells = LineCells.of(law, h)
    sides = cells.whole_line(offsets)
    residual = float(np.abs(cells.gradient(offsets, sides).value).max())
    certificate = Certificate(0.0, residual, "an approximation; no bound is computed")
    return Placement(offsets, cells.cost(offsets, sides), method, certificate)


_RESIDUAL = 1e-9  # what Newton may leave, times unit / h(unit); beyond it, shooting
_BACK = 200  # roundings to go back to the near side of a root
_SHOT = "shooting on the first half-gap"
_EXACT = "exact: the stationary set of a symmetric log-concave law is unique"


def place_log_concave(noise: LogConcave, h: Disutility, k: int) -> Placement:
    """The optimum. Raises InfiniteCost where E h(|noise|) is infinite, ParameterError for k < 1."""
    check_k(k)
    if isinstance(h, Threshold):
        return _tiles(noise, h, k)
    if isinstance(noise, Uniform):
        return _even_spread(noise, h, k)
    cells = LineCells.of(noise, h)
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    if k == 1:
        return _answer(cells, np.empty(0), k, fixed, "a single point")
    start = _start(noise, h, k)
    newton = _newton(cells, start, odd=k % 2 == 1)
    small = _RESIDUAL * float(h(np.array([noise.unit]))[0]) / noise.unit
    if _residual(cells, newton, odd=k % 2 == 1) <= small:
        return _answer(cells, newton, k, fixed, "Newton on the stationarity equations")
    shot = _shoot(cells, k)
    if shot is not None and _residual(cells, shot, odd=k % 2 == 1) <= small:
        return _answer(cells, shot, k, fixed, _SHOT)
    return place_anywhere(noise, h, k)


def _start(noise: LogConcave, h: Disutility, k: int) -> Array:
    """The positive points to start from. Where cells are small, h ~ t**r asks for a density of
    points prop. to f ** (1 / (1 + r)); an h that levels off asks for gaps that it still feels.
    """
    rate = h.exponent if isinstance(h, Power) else 1.0
    points = root_density_quantiles(noise, k, 1 / (1 + rate))[-(k // 2) :]
    widest = 1.9 * h.limit if isinstance(h, Cap) else np.inf
    widest = 5 * h.scale if isinstance(h, Saturating) else widest
    gaps = np.minimum(np.diff(points, prepend=0.0 if k % 2 else -points[0]), widest)
    if k % 2 == 0:
        gaps[0] /= 2
    return np.cumsum(gaps)


def shoot(noise: LogConcave, h: Disutility, k: int) -> Placement:
    """The same optimum by shooting: slower, and safe for every log-concave law.

    Raises ParameterError for an h whose jumps leave no chain of half-gaps, for k < 1; InfiniteCost.
    """
    check_k(k)
    cells = LineCells.of(noise, h)
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    points = _shoot(cells, k) if k > 1 else np.empty(0)
    if points is None:
        raise ParameterError("disutility", h, "without jumps, for shooting")
    return _answer(cells, points, k, fixed, _SHOT)


def _newton(cells: LineCells, points: Array, *, odd: bool) -> Array:
    def cost_of(points: Array) -> float:
        return cells.half_cost(points, odd=odd)

    def gradient_of(points: Array) -> Gradient:
        return cells.gradient(points, cells.half_line(points, odd=odd))

    return descend(points, cost_of, gradient_of, unit=cells.noise.unit, least=0.0)


def _shoot(cells: LineCells, k: int) -> Array | None:
    from scipy.optimize import brentq

    def points_of(first: float) -> tuple[Array, float]:
        return _chain(cells, first, k)

    low, high = 0.0, cells.noise.unit
    while points_of(high)[1] < 0:
        low, high = high, 2 * high
    first = brentq(lambda x: points_of(x)[1] if x > 0 else -1.0, low, high, xtol=1e-15, rtol=1e-14)
    points, _ = points_of(float(first))
    # On the far side of the root the chain breaks off; the near side is complete.
    for _ in range(_BACK):
        if len(points) == k // 2:
            return points
        first *= 1 - 4e-16 * k
        points, _ = points_of(float(first))
    return None  # at a jump of h the near side is not near


def _chain(cells: LineCells, first: float, k: int) -> tuple[Array, float]:
    """The positive points that a first half-gap implies, and what its last equation leaves:
    negative where the half-gap is too small.
    """
    count = k // 2
    points = [2 * first if k % 2 else first]
    left = first
    for _ in range(count - 1):
        pull = cells.pull(points[-1], left, -1.0)
        right = _matching(cells, points[-1], pull)
        if right is None:
            return np.array(points), pull
        points.append(points[-1] + 2 * right)
        left = right
    rest = max(cells.reach - points[-1], 0.0)
    end = cells.pull(points[-1], left, -1.0) - cells.pull(points[-1], rest, 1.0)
    return np.array(points), end


def _matching(cells: LineCells, point: float, pull: float) -> float | None:
    """The half-gap to the right that balances a pull to the left, if there is one."""
    from scipy.optimize import brentq

    farthest = max(cells.reach - point, 0.0)
    if cells.pull(point, farthest, 1.0) <= pull:
        return None
    found = brentq(
        lambda length: cells.pull(point, length, 1.0) - pull, 0.0, farthest, xtol=1e-15, rtol=1e-14
    )
    return float(found)


def _residual(cells: LineCells, points: Array, *, odd: bool) -> float:
    sides = cells.half_line(points, odd=odd)
    return float(np.abs(cells.gradient(points, sides).value).max())


def _answer(cells: LineCells, points: Array, k: int, fixed: float, method: str) -> Placement:
    odd = k % 2 == 1
    cost = 2 * cells.half_cost(points, odd=odd)
    residual = _residual(cells, points, odd=odd) if len(points) else 0.0
    middle = [0.0] if odd else []
    offsets = np.concatenate([-points[::-1], middle, points])
    certificate = Certificate(cost + fixed, residual, _EXACT)
    return Placement(offsets, cost + fixed, method, certificate)


def _tiles(noise: LogConcave, h: Threshold, k: int) -> Placement:
    """1{t > r}: k adjacent intervals of width 2 r hold the most of a symmetric falling density."""
    offsets = np.asarray((np.arange(k) - (k - 1) / 2) * 2 * h.radius, np.float64)
    cost = 2 * float(noise.cdf(np.array([-k * h.radius]))[0])
    claim = "exact: adjacent intervals around the mode hold the most mass"
    return Placement(offsets, cost, "closed form, exact", Certificate(cost, 0.0, claim))


def _even_spread(noise: Uniform, h: Disutility, k: int) -> Placement:
    """A constant density: equal cells of half width w, cost (1 / w) int_0^w h."""
    half = noise.half_width / k
    offsets = np.asarray((2 * np.arange(k) - (k - 1)) * half, np.float64)
    cell = LineCells(Uniform(half), h, half)
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    cost = 2 * cell.half_cost(np.empty(0), odd=True) + fixed
    return Placement(offsets, cost, "closed form, exact", Certificate(cost, 0.0, _EXACT))
