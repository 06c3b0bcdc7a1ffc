"""Results on a circle (appendix A.2): two of them exactly, any number by the best known layout.

**k = 2.** By symmetry the optimal noise is prop. to exp(-epsilon | |t| - x |) around the middle of
the short arc between the results, with peaks at +-x; the results stand at +-the median of this
density on half of the circle. One number x in [0, quarter of the circle] is left to minimize over.
x = 0 is Laplace noise; x at the quarter is "antipodal": the person sends their place modulo half of
the circle and gets back a point and the one opposite.

Converged costs for circumference 2 pi and epsilon = 3/8, where the paper prints 0.72 (optimum) and
0.75 (Laplace): the optimum is 0.708734 and Laplace gives 0.742914. A grid of ten cells with people
at cell centers gives 0.7221 and 0.7453, which round to the printed numbers, so a coarse grid is a
plausible cause. At epsilon = 1 the two are 0.566454 and 0.567740. `theory.on_ring`
converges to these from below: 0.70813, 0.70867, 0.70872, 0.70873 for 64, 200, 400, 800 nodes.

**Any k.** A person may send their place modulo circumference / m for any m that divides k and get
back m copies of k / m results. The best m is taken, with the exact k = 2 rule or, for other
numbers, Laplace noise cut at the far side and its optimal offsets. For k > 2 no optimality is
claimed: the linear program finds layouts that cost up to a percent less.

**Wrapped Laplace noise**, which can be drawn exactly in integers, for any k and any increasing h:

    density  epsilon cosh(epsilon (C / 2 - |t|)) / (2 sinh(epsilon C / 2)),   -C/2 < t <= C/2

is Laplace noise taken modulo the circumference C. It is not log-concave, and the best offsets can
be asymmetric. They are found by dynamic programs around the ring, on nodes that stand closer where
results do (quantiles of the law of half the rate), from an even layout of 16 nodes a gap on. What
an arc costs depends on the two results at its ends alone, so a program finds the best of all ways
to move every result by up to three nodes at once. It is repeated until the cost falls no more; then
the nodes are doubled, until a gap holds 512. That this ends in the global optimum is tested against
all sets of nodes of a grid, not proved. Where h jumps, the last nodes are felt: up to .002 of the
jump. From epsilon C = 64 on less than 1e-13 of the noise goes around, and the line's closed forms
serve.

Lower bounds: k arcs of length 2t hold at most the mass of the likeliest arc, so no k offsets cost
less than E h(|noise| / k). For h(t) = t and k <= 2 no mechanism at all costs less than the optimum
of `place_on_ring`.

Complexity: about 7,000 k table entries a program; 15 ms for k = 20, 40 to 150 ms for k = 64.
Lengths scale as 1 / epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from askew.placement.laplace_line import legendre, place_on_laplace_line
from askew.placement.noise import LogConcave
from askew.placement.problem import (
    Certificate,
    Disutility,
    Identity,
    Increasing,
    Placement,
    check_k,
    check_positive,
    frozen,
)

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


Nodes = NDArray[np.int64]

_STRAIGHT = 64.0  # epsilon * circumference from which a ring is a line
_FEWEST = 96  # nodes of the first program
_A_GAP = 16  # of them in a gap
_FINE = 512  # and of the last program's
_FINEST = 8192
_REACH = 3  # nodes that a result may move by in one program
_ENOUGH = 1e-5  # relative fall of the cost below which a program has moved nothing
_ATOMS = 2**15
_CLAIM = "a volume bound: k arcs hold at most the likeliest one of their length"
_OPTIMUM = "no mechanism with one or two results on a circle costs less"


def place_on_wrapped_line(epsilon: float, circumference: float, h: Disutility, k: int) -> Placement:
    """The offsets (k,) ascending, at most half of the ring either way, and their cost.

    Raises ParameterError unless epsilon and circumference are positive and k >= 1, InfiniteCost
    where a ring is as good as a line and the line's cost is infinite.
    """
    check_k(k)
    for name, value in (("epsilon", epsilon), ("circumference", circumference)):
        check_positive(name, value)
    if epsilon * circumference >= _STRAIGHT:
        return _folded_of_wrapped(place_on_laplace_line(epsilon, h, k), circumference)
    law = WrappedLaplace(epsilon * circumference)
    factor, unit = h.in_units_of(1 / epsilon)
    offsets = _around(law, unit, k)
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    cost = factor * law.expected(unit, offsets) + fixed
    bound, claim = factor * law.expected(unit, np.zeros(1), k) + fixed, _CLAIM
    if isinstance(h, Identity) and k <= 2:
        bound, claim = place_on_ring(epsilon, k, circumference).cost, _OPTIMUM
    method = "dynamic program around the ring, for wrapped Laplace noise"
    certificate = Certificate(min(bound, cost), math.nan, claim)
    return Placement(offsets / epsilon, cost, method, certificate)


@dataclass(frozen=True)
class WrappedLaplace:
    """The law at unit epsilon on a ring of this size, and the nodes on which results may stand."""

    size: float

    def cdf(self, t: Array) -> Array:
        """P(0 < noise <= t), negative below 0, one more every turn; any real t."""
        turns = np.round(t / self.size)
        rest = t - turns * self.size
        half = self.size / 2
        beyond = np.sinh(half - np.abs(rest)) / math.sinh(half)
        return np.asarray(turns + np.sign(rest) * (1 - beyond) / 2)

    def quantile(self, u: Array, rate: float = 1.0) -> Array:
        """The inverse of `cdf`, for the law of another rate."""
        turns = np.round(u)
        rest = u - turns
        half = rate * self.size / 2
        distance = half - np.arcsinh((1 - 2 * np.abs(rest)) * math.sinh(half))
        return np.asarray(turns * self.size + np.sign(rest) * distance / rate)

    def expected(self, h: Disutility, offsets: Array, share: int = 1) -> float:
        """E h(distance to the nearest offset / share)."""
        atoms, masses = self.nodes(np.arange(_ATOMS), _ATOMS)
        ring = np.sort(offsets % self.size)
        ring = np.concatenate([ring[-1:] - self.size, ring, ring[:1] + self.size])
        right = np.searchsorted(ring, atoms)
        far = np.minimum(atoms - ring[right - 1], ring[right] - atoms)
        return float(masses @ h(np.maximum(far, 0.0) / share))

    def nodes(self, index: Nodes, count: int) -> tuple[Array, Array]:
        """Where consecutive nodes of `count` a turn stand, and how likely noise is next to each."""
        edges = np.append(index, index[-1] + 1) - 0.5
        masses = np.diff(self.cdf(self.quantile(edges / count, 0.5)))
        return self.quantile(index / count, 0.5), masses


def _around(law: WrappedLaplace, h: Disutility, k: int) -> Array:
    """The best offsets at unit epsilon."""
    count = max(_A_GAP * k, _FEWEST)
    near = np.round(np.arange(k) * (count / k)).astype(np.int64)
    near = _settled(law, h, count, near)
    while count < max(_FINE * k, _FINEST):
        count *= 2
        near = _settled(law, h, count, 2 * near)
    return _fold(law.quantile(near / count, 0.5), law.size)


def _settled(law: WrappedLaplace, h: Disutility, count: int, near: Nodes) -> Nodes:
    """Programs one after another, until one moves nothing."""
    before = math.inf
    while True:
        near, cost = _best_nearby(law, h, count, near)
        if not cost < before * (1 - _ENOUGH):
            return near
        before = cost


def _best_nearby(
    law: WrappedLaplace, h: Disutility, count: int, near: Nodes
) -> tuple[Nodes, float]:
    """The best nodes, each within reach of the one given, ascending, and what they cost."""
    options = near[:, None] + np.arange(-_REACH, _REACH + 1)
    options = np.concatenate([options, options[:1] + count])  # once around, back to the first
    arcs = _Arcs(law, h, count, options)
    # costs[s, o]: from the first result at option s to the current one at option o.
    width = options.shape[1]
    costs = np.where(np.eye(width, dtype=bool), 0.0, np.inf)
    taken = []
    for here, there in pairwise(options):
        through = costs[:, :, None] + arcs.between(here, there)
        taken.append(through.argmin(axis=1))
        costs = through.min(axis=1)
    start = option = int(np.argmin(np.diagonal(costs)))
    cost = float(costs[start, start])
    chosen = np.empty_like(near)
    for j in range(len(near) - 1, -1, -1):
        option = int(taken[j][start, option])
        chosen[j] = options[j, option]
    return chosen, cost


class _Arcs:
    """The nodes around a ring, and what an arc between two of them costs if only its ends serve."""

    def __init__(self, law: WrappedLaplace, h: Disutility, count: int, options: Nodes) -> None:
        margin = options.shape[1]
        self.first = int(options.min()) - margin
        index = np.arange(self.first, int(options.max()) + margin + 1)
        self.places, self.masses = law.nodes(index, count)
        self.h = h

    def between(self, here: Nodes, there: Nodes) -> Array:
        """(len(here), len(there)): infinite where `there` comes before `here`."""
        here, there = here - self.first, there - self.first
        gaps = there - here[:, None]
        middles = (self.places[here][:, None] + self.places[there]) / 2
        ahead = np.searchsorted(self.places, middles, side="right") - 1 - here[:, None]
        ahead = np.clip(ahead, 0, np.maximum(gaps, 0))
        behind = np.maximum(gaps - ahead - 1, 0)
        longest = int(gaps.max())
        right = self._served(here, longest, 1)[np.arange(len(here))[:, None], ahead]
        left = self._served(there, longest, -1)[np.arange(len(there)), behind]
        return np.where(gaps < 0, np.inf, right + left)

    def _served(self, nodes: Nodes, longest: int, direction: int) -> Array:
        """[i, m]: what the m nodes next to node i on one side cost when it serves them."""
        served = nodes[:, None] + direction * np.arange(longest + 1)
        far = np.abs(self.places[served] - self.places[nodes][:, None])
        return np.asarray(np.cumsum(self.masses[served] * self.h(far), axis=1))


def _folded_of_wrapped(found: Placement, circumference: float) -> Placement:
    offsets = _fold(found.offsets, circumference)
    return Placement(offsets, found.cost, found.method, found.certificate)


def _fold(offsets: Array, size: float) -> Array:
    """The short way around, ascending."""
    return np.sort(offsets - size * np.round(offsets / size))
