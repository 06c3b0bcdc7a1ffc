"""Beyond the offset rule: other privacy metrics, the linear program behind the theory, and results
that are no positions.

**g-geographic privacy** (appendix A.1): log P_u(S) - log P_v(S) <= g(distance(u, v)).

For convex increasing g with g(0) = 0 only the slope at 0 counts: going from u to v in many small
steps, any such mechanism keeps the loss g'(0) * distance, and Laplace noise of that rate keeps it
too and is optimal. So the problem is the usual one with epsilon = g'(0). A bound that is infinite
beyond some distance buys nothing, for the same reason.

On a lattice of people with spacing D the smallest step is D, so the rate is g(D) / D >= g'(0): less
noise for the same promise. For a g that is not convex, chaining proves less and the optimum is not
known; the rate inf g(t) / t is merely valid, and is refused unless asked for.

**The linear program**, on a lattice, is an independent check of every optimum here. A mechanism
gives a person at u a random k-set, P_u(R); it is private when P_u(R) <= e^{epsilon D}
P_v(R) for neighbors u, v at distance D. The paper's differential-integral program minimizes the
worst expected cost over all such P. Averaging a mechanism over the symmetries of the lattice keeps
both privacy and cost, so P may be taken invariant: a law g over relative positions for each shape
of the k-set. The shapes do not interact, so the best single shape is optimal:

    min  sum_i g_i h(distance from i to the nearest result)
    s.t. sum_i g_i = 1,  g_i >= 0,  g_i <= e^{epsilon D} g_j for neighbors i, j

solved by HiGHS. On a line, beyond the window, g falls as fast as it may, in closed form.
`whole_ring` is the program without that argument, for the smallest lattices.

**Two results on a circle** (appendix A.2). By symmetry the optimal noise is prop. to
exp(-epsilon | |t| - x |) around the middle of the short arc between the results, with peaks at +-x;
the results stand at +-the median of this density on half of the circle. One number x in [0, quarter
of the circle] is left to minimize over. x = 0 is Laplace noise; x at the quarter is "antipodal":
the person sends their place modulo half of the circle and gets back a point and its opposite.

Converged costs for circumference 2 pi and epsilon = 3/8, where the paper prints 0.72 (optimum) and
0.75 (Laplace): the optimum is 0.708734 and Laplace gives 0.742914. A grid of ten cells with people
at cell centers gives 0.7221 and 0.7453, which round to the printed numbers, so a coarse grid is a
plausible cause. At epsilon = 1 the two are 0.566454 and 0.567740. `on_ring` converges to these from
below: 0.70813, 0.70867, 0.70872, 0.70873 for 64, 200, 400, 800 nodes.

**The unrestricted setup** (appendix A.4) has results that are no positions of people. People live
in a metric space, results in any set, and OPT says which result is best for whom. A
person at u who is given OPT(v) loses at most h(distance(u, v)), which is what this setup asks of
the disutility. The server asks OPT at its probes signal + a_i; the nearest probe v is at distance
min_i |X - a_i|, so the expected disutility is at most the cost of the placement (Theorem 25), for
every OPT. It is often far less: OPT may be constant over many probes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.placement.laplace_line import legendre
from askew.placement.noise import Laplace
from askew.placement.problem import Placement, check_positive

Array = NDArray[np.float64]
Bound = Callable[[float], float]

_GRID = np.geomspace(1e-6, 1e3, 400)
_SMALL = (1e-6, 1e-7, 1e-8)
_SCAN = 257
_GOLDEN = (math.sqrt(5) - 1) / 2
_TURNS = 90
_FLAT = 0.5  # epsilon * half circle below which the closed forms of the cost cancel
_NOTHING = 1e-7  # what is left of a slope that falls to 0, relative to the first quotient


def noise_for(g: Bound, *, slope: float | None = None, diameter: float | None = None) -> Laplace:
    """The optimal noise on the line for the privacy bound g, to be given to `place`.

    g: loss against distance; may be infinite from some distance on. slope: g'(0) where known, else
    a limit of g(t) / t. diameter: the largest distance between people; for a g that is not convex,
    take the rate inf g(t) / t up to it, which keeps the promise; whether it is optimal is unknown.
    Raises InfiniteCost for g'(0) = 0, ParameterError for g not convex, falling, or g(0) != 0.
    """
    g = _saturated(g)
    values = np.array([g(float(t)) for t in _GRID])
    if g(0.0) != 0 or np.isnan(values).any() or (_falls(values)).any():
        raise ParameterError("g", g, "increasing, with g(0) = 0")
    finite = values[np.isfinite(values)]
    grid = _GRID[: len(finite)]
    if slope is not None and (finite < slope * grid * (1 - 1e-9)).any():
        raise ParameterError("slope", slope, "g'(0), at most g(t) / t")
    rate = _slope_at_zero(g) if slope is None else slope
    if not _convex(grid, finite):
        if diameter is None:
            raise ParameterError("g", g, "convex, or no rate is known to be optimal")
        check_positive("diameter", diameter)
        rate = min(rate, g(diameter) / diameter, *(finite / grid)[grid <= diameter].tolist())
    if not (rate > 0 and isfinite(rate)):
        raise InfiniteCost("g", g, "of positive slope at 0, or no noise is ever enough")
    return Laplace(rate)


def noise_on_lattice(g: Bound, spacing: float) -> Laplace:
    """Noise for people who live on a lattice: rate g(spacing) / spacing, for convex g.

    The optimum among Laplace rates; the lattice itself is the business of the sampler.
    """
    check_positive("spacing", spacing)
    noise_for(lambda t: g(t) + t * 1e-3)  # checks the shape of g; a slope of 0 is fine here
    rate = g(spacing) / spacing
    if not (rate > 0 and isfinite(rate)):
        raise InfiniteCost("g", g, "positive and finite at one spacing")
    return Laplace(rate)


def _saturated(g: Bound) -> Bound:
    def bounded(t: float) -> float:
        try:
            with np.errstate(over="ignore"):
                return g(t)
        except OverflowError:
            return inf

    return bounded


def _slope_at_zero(g: Bound) -> float:
    """The limit of g(t) / t by Aitken's rule, exact for slope * t + c t**p; 0 below rounding."""
    far, near, nearest = (g(t) / t for t in _SMALL)
    if not isfinite(far):
        return 0.0
    before, fall = far - near, near - nearest
    left = fall * fall / (before - fall) if 0 < fall < before else 0.0
    limit = nearest - left
    return limit if limit > _NOTHING * far else 0.0


def _falls(values: Array) -> NDArray[np.bool_]:
    finite = values[np.isfinite(values)]
    gone = np.flatnonzero(~np.isfinite(values))
    late = len(gone) > 0 and gone[0] != len(finite)
    return np.append(np.diff(finite) < -1e-12 * np.abs(finite[1:]), late)


def _convex(grid: Array, values: Array) -> bool:
    rises = np.diff(values) / np.diff(grid)
    return bool((np.diff(rises) >= -1e-7 * np.abs(rises[1:])).all())


@dataclass(frozen=True, eq=False)
class RingPlacement:
    """Noise and two results on a circle.

    offset: arc length from the signal to each result. noise_peak: the noise has density prop. to
    exp(-epsilon | |t| - noise_peak |); cost: expected arc length to the nearest result.
    """

    offset: float
    cost: float
    noise_peak: float


def place_on_ring(epsilon: float, circumference: float = 2 * math.pi) -> RingPlacement:
    """The optimal noise and two results on a circle: no mechanism costs less.

    Raises ParameterError unless epsilon and circumference are positive and finite.
    """
    for name, value in (("epsilon", epsilon), ("circumference", circumference)):
        check_positive(name, value)
    peak, offset, cost = _best_peak(epsilon, circumference / 2)
    return RingPlacement(offset, cost, peak)


def laplace_on_ring(epsilon: float, circumference: float = 2 * math.pi) -> RingPlacement:
    """The baseline: density prop. to exp(-epsilon |t|) on half a circle each way, two results."""
    return RingPlacement(*two_peaked(epsilon, 0.0, circumference / 2), 0.0)


def two_peaked(epsilon: float, peak: float, half: float) -> tuple[float, float]:
    """(result offset, cost) of two results under noise with peaks at +-peak on a circle of length
    2 half: the median of the folded density, and the mean distance from it.
    """
    left, right = math.exp(-epsilon * peak), math.exp(-epsilon * (half - peak))
    median = peak - math.log1p((right - left) / 2) / epsilon
    total = (2 - left - right) / epsilon
    if epsilon * half < _FLAT:
        return median, _mean_distance(epsilon, peak, median, half)
    tail = math.exp(-epsilon * (median - peak))
    below = (1 - left) / epsilon - peak * left
    below += (2 - left) * (median - peak) - (1 - tail) / epsilon
    above = (tail - right) / epsilon - (half - median) * right
    return median, (below + above) / (epsilon * total)


def _best_peak(epsilon: float, half: float) -> tuple[float, float, float]:
    """(peak, result offset, cost): a scan for the valley, golden section within it."""
    peaks = np.linspace(0, half / 2, _SCAN)
    costs = [two_peaked(epsilon, float(peak), half)[1] for peak in peaks]
    i = int(np.argmin(costs))
    low, high = float(peaks[max(i - 1, 0)]), float(peaks[min(i + 1, _SCAN - 1)])
    for _ in range(_TURNS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if two_peaked(epsilon, left, half)[1] <= two_peaked(epsilon, right, half)[1]:
            high = right
        else:
            low = left
    found = [float(peaks[i]), (low + high) / 2]
    best = min(found, key=lambda peak: two_peaked(epsilon, peak, half)[1])
    return best, *two_peaked(epsilon, best, half)


def _mean_distance(epsilon: float, peak: float, median: float, half: float) -> float:
    """The same cost by quadrature, for noise so flat that the closed form would cancel."""
    nodes, weights = legendre(24)
    edges = np.array([0.0, min(peak, median), max(peak, median), half])
    width = np.diff(edges)[:, None]
    t = edges[:-1, None] + width * nodes
    density = width * weights * np.exp(-epsilon * np.abs(t - peak))
    return float((density * np.abs(t - median)).sum() / density.sum())


Gaps = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LatticeOptimum:
    """The best noise and results on a lattice.

    cost: in units of distance. gaps: lattice steps from each result to the next. noise: g on the
    nodes of the window. nodes: their positions as seen from the first result.
    """

    cost: float
    gaps: Gaps
    noise: Array
    nodes: Array


def on_ring(
    epsilon: float, k: int, nodes: int, circumference: float = 2 * math.pi
) -> LatticeOptimum:
    """The optimum for people and results on `nodes` places of a circle. k = 1 or 2: every shape is
    tried. k > 2: descent from even gaps, one gap at a time, so an upper bound for this lattice.
    """
    step = circumference / nodes
    places = np.arange(nodes)

    def solved(gaps: Gaps) -> LatticeOptimum:
        results = np.concatenate([[0], np.cumsum(gaps)]).astype(np.int64)
        apart = np.abs(places[:, None] - results % nodes)
        far = np.minimum(apart, nodes - apart).min(axis=1) * step
        noise = _optimal_noise(far, np.ones(nodes), epsilon * step, cyclic=True)
        return LatticeOptimum(
            float(far @ noise), gaps, noise, np.asarray(places * step, np.float64)
        )

    if k == 1:
        return solved(())
    if k == 2:
        return min((solved((gap,)) for gap in range(1, nodes // 2 + 1)), key=lambda o: o.cost)
    return _descend(solved, (nodes // k,) * (k - 1))


def on_line(epsilon: float, k: int, step: float, reach: int) -> LatticeOptimum:
    """The optimum for people and results on the lattice step * Z, among all private mechanisms.

    reach: lattice steps in the window on either side. Gaps are found by descent, one at a time,
    from 1; tests compare with full enumeration. Raises ParameterError for k < 1 or a bad step.
    """
    if k < 1 or not step > 0 or reach < 1:
        raise ParameterError("k, step, reach", (k, step, reach), "positive")

    def solved(gaps: Gaps) -> LatticeOptimum:
        return line_shape(epsilon, gaps, step, reach)

    return solved(()) if k == 1 else _descend(solved, (1,) * (k - 1))


def line_shape(epsilon: float, gaps: Gaps, step: float, reach: int) -> LatticeOptimum:
    """The optimal noise for one shape of the k-set."""
    results = np.concatenate([[0], np.cumsum(gaps)]).astype(np.int64)
    places = np.arange(-reach, int(results[-1]) + reach + 1)
    far = np.abs(places[:, None] - results).min(axis=1) * step
    # The end nodes stand for all beyond: mass 1 + r + r^2 + .., at growing distance.
    ratio = math.exp(-epsilon * step)
    mass = np.ones(len(places))
    mass[[0, -1]] = 1 / (1 - ratio)
    cost = far * mass
    cost[[0, -1]] += step * ratio / (1 - ratio) ** 2
    noise = _optimal_noise(cost, mass, epsilon * step, cyclic=False)
    return LatticeOptimum(float(cost @ noise), gaps, noise, np.asarray(places * step, np.float64))


def whole_ring(epsilon: float, k: int, nodes: int, circumference: float = 2 * math.pi) -> float:
    """The program with every person and every k-set, and the worst person's cost: nothing is
    averaged beforehand. nodes * C(nodes, k) variables, so for a dozen nodes at most.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron, vstack

    step = circumference / nodes
    sets = list(itertools.combinations(range(nodes), k))
    apart = np.abs(np.arange(nodes)[:, None] - np.arange(nodes))
    arc = np.minimum(apart, nodes - apart) * step
    cost = np.stack([arc[:, chosen].min(axis=1) for chosen in sets], axis=1)  # (nodes, sets)
    shift = csr_array(np.roll(np.eye(nodes), 1, axis=1))
    bound = math.exp(epsilon * step) * eye_array(nodes)
    identity = eye_array(len(sets))
    # P_u(R) - e^{epsilon D} P_{u +- 1}(R) <= 0 and cost(u) - worst <= 0
    private = vstack([kron(shift - bound, identity), kron(shift.T - bound, identity)])
    rows = np.repeat(np.arange(nodes), len(sets))
    columns = np.arange(nodes * len(sets))
    each = coo_array((cost.ravel(), (rows, columns)))
    upper = vstack(
        [
            hstack([private, csr_array((private.shape[0], 1))]),
            hstack([each, csr_array(-np.ones((nodes, 1)))]),
        ]
    )
    ones = coo_array((np.ones(len(columns)), (rows, columns)))
    equal = hstack([ones, csr_array((nodes, 1))])
    objective = np.append(np.zeros(len(columns)), 1.0)
    found = linprog(  # type: ignore[call-overload]
        objective, A_ub=csr_array(upper), b_ub=np.zeros(upper.shape[0]),
        A_eq=csr_array(equal), b_eq=np.ones(nodes), method="highs",
    )  # fmt: skip
    return float(found.fun)


def _descend(solved: Callable[[Gaps], LatticeOptimum], start: Gaps) -> LatticeOptimum:
    """Coordinate descent over gaps with halving strides."""
    best = solved(start)
    stride = 8
    while stride:
        better = min((solved(gaps) for gaps in _neighbors(best.gaps, stride)), key=lambda o: o.cost)
        if better.cost < best.cost - 1e-12:
            best = better
        else:
            stride //= 2
    return best


def _neighbors(gaps: Gaps, stride: int) -> Iterable[Gaps]:
    for i, sign in itertools.product(range(len(gaps)), (-1, 1)):
        moved = gaps[i] + sign * stride
        yield (*gaps[:i], max(moved, 1), *gaps[i + 1 :])
    yield tuple(gap + stride for gap in gaps)
    yield tuple(max(gap - stride, 1) for gap in gaps)


def _optimal_noise(cost: Array, mass: Array, loss: float, *, cyclic: bool) -> Array:
    """min cost . g over g >= 0 with mass . g = 1 and neighbors within a factor e^loss."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n = len(cost)
    here = np.arange(n if cyclic else n - 1)
    there = (here + 1) % n
    count = len(here)
    rows = np.concatenate([np.arange(2 * count), np.arange(2 * count)])
    columns = np.concatenate([here, there, there, here])
    values = np.repeat([1.0, -math.exp(loss)], 2 * count)
    ratios = coo_array((values, (rows, columns)), shape=(2 * count, n)).tocsr()
    found = linprog(  # type: ignore[call-overload]
        cost, A_ub=ratios, b_ub=np.zeros(2 * count), A_eq=mass[None, :], b_eq=[1.0], method="highs"
    )
    return np.asarray(found.x)


Result = TypeVar("Result", bound=Hashable)
Found_co = TypeVar("Found_co", bound=Hashable, covariant=True)


class Index(Protocol[Found_co]):
    """Anything that finds the best result for a position, an item index say."""

    def best(self, position: Array) -> Found_co:
        """OPT(position)."""
        ...


def results_for(
    signal: Array, placement: Placement, opt: Callable[[Array], Result] | Index[Result]
) -> tuple[Result, ...]:
    """The distinct results of OPT at the k probes around a signal (d,), at most k, nearest the
    signal first. Depends on the signal alone.
    """
    found = opt if callable(opt) else opt.best
    probes = probes_around(signal, placement)
    order = np.argsort(np.abs(probes - signal).sum(axis=1), kind="stable")
    return tuple(dict.fromkeys(found(probes[row]) for row in order))


def probes_around(signal: Array, placement: Placement) -> Array:
    """signal + offsets: (d,) + (k, d) -> (k, d); on the line offsets come as (k,)."""
    return signal + placement.offsets.reshape(-1, len(signal))


def expected_disutility(
    person: Array,
    draws: Iterable[Array],
    placement: Placement,
    opt: Callable[[Array], Result] | Index[Result],
    disutility: Callable[[Array, Result], float],
) -> float:
    """The mean, over draws of the noise (d,), of what the person's best result costs them."""

    def losses() -> Iterator[float]:
        for draw in draws:
            results = results_for(person + draw, placement, opt)
            yield min(disutility(person, result) for result in results)

    return float(np.mean(list(losses())))
