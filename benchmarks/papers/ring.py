"""Two results on a circle, and the best noise for them (Goel et al., appendix A.2).

By symmetry the optimal noise is prop. to exp(-epsilon | |t| - x |) around the middle of the short
arc between the results, with peaks at +-x; the results stand at +-the median of this density on
half of the circle. One number x in [0, quarter of the circle] is left to minimize over. x = 0
is Laplace noise; x at the quarter is "antipodal": the person sends their place modulo half of the
circle and gets back a point and its opposite.

Converged costs for circumference 2 pi and epsilon = 3/8, where the paper prints 0.72 (optimum) and
0.75 (Laplace): the optimum is 0.708734 and Laplace gives 0.742914. A grid of ten cells with people
at cell centers gives 0.7221 and 0.7453, which round to the printed numbers, so a coarse grid is a
plausible cause. At epsilon = 1 the two are 0.566454 and 0.567740.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from askew.placement.laplace_line import legendre
from askew.placement.problem import check_positive

_SCAN = 257
_GOLDEN = (math.sqrt(5) - 1) / 2
_TURNS = 90
_FLAT = 0.5  # epsilon * half circle below which the closed forms of the cost cancel


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
    """Place two results on a circle with the optimal noise: no mechanism costs less.

    Raises ParameterError unless epsilon and circumference are positive and finite.
    """
    for name, value in (("epsilon", epsilon), ("circumference", circumference)):
        check_positive(name, value)
    peak, offset, cost = _best_peak(epsilon, circumference / 2)
    return RingPlacement(offset, cost, peak)


def laplace_on_ring(epsilon: float, circumference: float = 2 * math.pi) -> RingPlacement:
    """Place two results under Laplace noise, of density prop. to exp(-epsilon |t|)."""
    return RingPlacement(*two_peaked(epsilon, 0.0, circumference / 2), 0.0)


def two_peaked(epsilon: float, peak: float, half: float) -> tuple[float, float]:
    """Return (result offset, cost) of two results under noise with peaks at +-peak on a circle of
    length 2 half: the median of the folded density, and the mean distance from it.
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
    """Return peak, result offset and cost: a scan for the valley, golden section within it."""
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
    best = min(
        (float(peaks[i]), (low + high) / 2), key=lambda peak: two_peaked(epsilon, peak, half)[1]
    )
    return best, *two_peaked(epsilon, best, half)


def _mean_distance(epsilon: float, peak: float, median: float, half: float) -> float:
    """The same cost by quadrature, for noise so flat that the closed form would cancel."""
    nodes, weights = legendre(24)
    edges = np.array([0.0, min(peak, median), max(peak, median), half])
    width = np.diff(edges)[:, None]
    t = edges[:-1, None] + width * nodes
    density = width * weights * np.exp(-epsilon * np.abs(t - peak))
    return float((density * np.abs(t - median)).sum() / density.sum())
