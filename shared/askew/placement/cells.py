"""Cells of a placement on the line, and the integrals of a disutility over them.

With points a_1 < .. < a_n, half-gaps L_i, R_i to the midpoints on both sides, density f, law F:

    cost     = sum_i int_0^{R_i} P(a_i + t < X < a_i + R_i) dh(t)  +  the same to the left
    gradient = int_0^{L_i} f(a_i - t) dh(t)  -  int_0^{R_i} f(a_i + t) dh(t)

so only the density and the two tails of the law are needed. int .. dh is summed by Gauss rules on
panels that are dyadic toward 0, where h may be steep: Gauss-Jacobi in the first for t ** p. Panels
of a callable follow its corners and jumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost
from askew.placement.callable_panels import increments, smooth_panels
from askew.placement.disutility import (
    Cap,
    Disutility,
    Log1p,
    Power,
    Saturating,
)
from askew.placement.increasing import Increasing
from askew.placement.laplace_steps import legendre
from askew.placement.noise import LineNoise

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
class Cells:
    """One noise law and one disutility. `reach`: the noise beyond it costs nothing that counts."""

    noise: LineNoise
    h: Disutility
    reach: float

    @classmethod
    def of(cls, noise: LineNoise, h: Disutility) -> Cells:
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
