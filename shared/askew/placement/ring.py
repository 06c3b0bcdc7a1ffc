"""Results on a circle (appendix A.2): two of them exactly, any number by the best known layout.

**k = 2.** By symmetry the optimal noise is prop. to exp(-epsilon | |t| - x |) around the middle of
the short arc between the results, with peaks at +-x; the results stand at +-the median of this
density on half of the circle. One number x in [0, quarter of the circle] is left to minimize over.
x = 0 is Laplace noise; x at the quarter is "antipodal": the person sends their place modulo half of
the circle and gets back a point and the one opposite.

Converged costs for circumference 2 pi and epsilon = 3/8, where the paper prints 0.72 (optimum) and
0.75 (Laplace): the optimum is 0.708734 and Laplace gives 0.742914. A grid of ten cells with people
at cell centers gives 0.7221 and 0.7453, which round to the printed numbers, so a coarse grid is a
plausible cause. At epsilon = 1 the two are 0.566454 and 0.567740. `lattice_program.on_ring`
converges to these from below: 0.70813, 0.70867, 0.70872, 0.70873 for 64, 200, 400, 800 nodes.

**Any k.** A person may send their place modulo circumference / m for any m that divides k and get
back m copies of k / m results. The best m is taken, with the exact k = 2 rule or, for other
numbers, Laplace noise cut at the far side and its optimal offsets. For k > 2 no optimality is
claimed: the linear program finds layouts that cost up to a percent less.

A device draws another noise, Laplace wrapped around the circle, which is exact in integers; its
offsets are in `wrapped`, and what stands here bounds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.placement.answer import check_k, check_positive, frozen
from askew.placement.disutility import Identity
from askew.placement.laplace_steps import legendre
from askew.placement.noise import LogConcave

Array = NDArray[np.float64]

_SCAN = 257
_GOLDEN = (math.sqrt(5) - 1) / 2
_TURNS = 90
_FLAT = 0.5  # epsilon * half circle below which the closed forms of the cost cancel


@dataclass(frozen=True, eq=False)
class RingPlacement:
    """Noise and results on a circle.

    offsets: (k,) arc lengths from the signal, ascending, at most half the circle either way.
    noise_peak: the noise has density prop. to exp(-epsilon | |t| - noise_peak |) modulo `period`;
    cost: expected arc length to the nearest result. exact: whether no mechanism does better.
    """

    offsets: Array
    cost: float
    noise_peak: float
    period: float
    exact: bool
    method: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(self.offsets))


def place_on_ring(epsilon: float, k: int = 2, circumference: float = 2 * math.pi) -> RingPlacement:
    """The optimal noise and results for k = 1 and 2; for larger k the best layout known here.

    Raises ParameterError unless epsilon and circumference are positive and finite and k >= 1.
    """
    check_k(k)
    for name, value in (("epsilon", epsilon), ("circumference", circumference)):
        check_positive(name, value)
    # Two results need no folding: the two-peaked family holds the antipodal layout already.
    copies = [m for m in range(1, k + 1) if k % m == 0 and (m < 2 or k > 2)]
    layouts = [_folded(epsilon, k, m, circumference) for m in copies]
    return min(layouts, key=lambda layout: layout.cost)


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


def laplace_on_ring(epsilon: float, circumference: float = 2 * math.pi) -> RingPlacement:
    """The baseline: density prop. to exp(-epsilon |t|) on half a circle each way, two results."""
    offset, cost = two_peaked(epsilon, 0.0, circumference / 2)
    offsets = np.array([-offset, offset])
    return RingPlacement(offsets, cost, 0.0, circumference, False, "Laplace noise, cut")


def _folded(epsilon: float, k: int, copies: int, circumference: float) -> RingPlacement:
    """k / copies results on a circle that is `copies` times shorter, then all their copies."""
    period = circumference / copies
    count = k // copies
    peak = 0.0
    if count == 1:
        base, cost = np.zeros(1), _single(epsilon, period / 2)
    elif count == 2:
        peak, offset, cost = _best_peak(epsilon, period / 2)
        base = np.array([-offset, offset])
    else:
        base, cost = _cut_laplace(epsilon, period / 2, count)
    turns = period * np.arange(copies)
    offsets = (base + turns[:, None]).ravel() % circumference
    offsets = np.where(offsets > circumference / 2, offsets - circumference, offsets)
    folded = f", modulo 1/{copies} of the circle" if copies > 1 else ""
    shape = {1: "Laplace noise, cut", 2: "two-peaked noise"}.get(count, "cut Laplace, quantized")
    exact = k <= 2
    return RingPlacement(np.sort(offsets), cost, peak, period, exact, shape + folded)


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


def _single(epsilon: float, half: float) -> float:
    """E |t| under density prop. to exp(-epsilon |t|) on [-half, half]."""
    if epsilon * half < _FLAT:
        nodes, weights = legendre(24)
        density = weights * np.exp(-epsilon * half * nodes)
        return float(half * (density @ nodes) / density.sum())
    left = math.exp(-epsilon * half)
    return 1 / epsilon - half * left / (1 - left)


def _mean_distance(epsilon: float, peak: float, median: float, half: float) -> float:
    """The same cost by quadrature, for noise so flat that the closed form would cancel."""
    nodes, weights = legendre(24)
    edges = np.array([0.0, min(peak, median), max(peak, median), half])
    width = np.diff(edges)[:, None]
    t = edges[:-1, None] + width * nodes
    density = width * weights * np.exp(-epsilon * np.abs(t - peak))
    return float((density * np.abs(t - median)).sum() / density.sum())


def _cut_laplace(epsilon: float, half: float, count: int) -> tuple[Array, float]:
    from askew.placement.log_concave import place_log_concave

    found = place_log_concave(CutLaplace(epsilon, half), Identity(), count)
    return found.offsets, found.cost


@dataclass(frozen=True)
class CutLaplace(LogConcave):
    """Density prop. to exp(-epsilon |t|) on [-half, half], 0 outside."""

    epsilon: float
    half: float

    @property
    def unit(self) -> float:
        """The lesser of 1 / epsilon and the half width."""
        return min(1 / self.epsilon, self.half)

    def pdf(self, x: Array) -> Array:
        """The normalized density."""
        height = self.epsilon / (-2 * math.expm1(-self.epsilon * self.half))
        inside = np.minimum(np.abs(x), self.half)
        return np.where(np.abs(x) <= self.half, height * np.exp(-self.epsilon * inside), 0.0)

    def cdf(self, x: Array) -> Array:
        """Exact in the left tail."""
        inside = np.minimum(np.abs(x), self.half)
        gone = -np.expm1(-self.epsilon * (self.half - inside)) * np.exp(-self.epsilon * inside)
        tail = gone / (-2 * math.expm1(-self.epsilon * self.half))
        return np.where(x < 0, tail, 1 - tail)

    def ppf(self, q: Array) -> Array:
        """For q up to a half."""
        whole = -math.expm1(-self.epsilon * self.half)
        return np.asarray(np.log1p(-whole * (1 - 2 * q)) / self.epsilon)
