"""Results on a ring under wrapped Laplace noise, a device's law there: any k, any increasing h.

    density  epsilon cosh(epsilon (C / 2 - |t|)) / (2 sinh(epsilon C / 2)),   -C/2 < t <= C/2

is Laplace noise taken modulo the circumference C. It is not log-concave, and the best offsets can
be asymmetric. They are found by a dynamic program around the ring, on nodes that stand closer where
results do (quantiles of the law of half the rate). What an arc costs depends on the two results at
its ends alone, so a program is exact over the nodes that it may use. The first may put each result
on every node within one gap of its place in an even layout, which tries every rotation too. The
later ones may move each by three nodes, until the cost falls no more; then the nodes are doubled,
until a gap holds 512. Where h jumps, the last nodes are felt: up to .002 of the jump. From
epsilon C = 64 on less than 1e-13 of the noise goes around, and the line's closed forms serve.

Lower bounds: k arcs of length 2t hold at most the mass of the likeliest arc, so no k offsets cost
less than E h(|noise| / k). For h(t) = t and k <= 2 no mechanism at all costs less than the optimum
of `ring.place_on_ring` (another noise, appendix A.2 of Goel et al.).

Complexity: about 2,000 k table entries a program, 20 ms for k = 20, 60 to 150 ms for k = 64.
Lengths scale as 1 / epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from askew.placement.answer import Certificate, Placement, check_k, check_positive
from askew.placement.disutility import Disutility, Identity
from askew.placement.increasing import Increasing
from askew.placement.laplace_line import place_on_laplace_line
from askew.placement.ring import place_on_ring

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]

_STRAIGHT = 64.0  # epsilon * circumference from which a ring is a line
_FEWEST = 96  # nodes of the first program
_A_GAP = 16  # of them in a gap
_FINE = 512  # and of the last program's
_FINEST = 8192
_REACH = 3  # nodes that a result may move by in the later programs
_ENOUGH = 1e-5  # relative fall of the cost below which a program has moved nothing
_ATOMS = 2**15
_CLAIM = "a volume bound: k arcs hold at most the likeliest one of their length"
_OPTIMUM = "what no mechanism with one or two results on a circle does better"


def place_on_wrapped_line(epsilon: float, circumference: float, h: Disutility, k: int) -> Placement:
    """The offsets (k,) ascending, at most half of the ring either way, and their cost.

    Raises ParameterError unless epsilon and circumference are positive and k >= 1, InfiniteCost
    where a ring is as good as a line and the line's cost is infinite.
    """
    check_k(k)
    for name, value in (("epsilon", epsilon), ("circumference", circumference)):
        check_positive(name, value)
    if epsilon * circumference >= _STRAIGHT:
        return _folded(place_on_laplace_line(epsilon, h, k), circumference)
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
    near, _ = _best_on_nodes(law, h, count, near, min(-(-count // k), count // 2))
    near = _settled(law, h, count, near)
    while count < max(_FINE * k, _FINEST):
        count *= 2
        near = _settled(law, h, count, 2 * near)
    return _fold(law.quantile(near / count, 0.5), law.size)


def _settled(law: WrappedLaplace, h: Disutility, count: int, near: Nodes) -> Nodes:
    """Programs one after another, until one moves nothing."""
    before = math.inf
    while True:
        near, cost = _best_on_nodes(law, h, count, near, _REACH)
        if not cost < before * (1 - _ENOUGH):
            return near
        before = cost


def _best_on_nodes(
    law: WrappedLaplace, h: Disutility, count: int, near: Nodes, reach: int
) -> tuple[Nodes, float]:
    """The best nodes, each within `reach` of the one given, ascending, and what they cost."""
    options = near[:, None] + np.arange(-reach, reach + 1)
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


def _folded(found: Placement, circumference: float) -> Placement:
    offsets = _fold(found.offsets, circumference)
    return Placement(offsets, found.cost, found.method, found.certificate)


def _fold(offsets: Array, size: float) -> Array:
    """The short way around, ascending."""
    return np.sort(offsets - size * np.round(offsets / size))
