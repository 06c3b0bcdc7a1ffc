"""Laplace noise on the line, any increasing h: a recurrence of monotone roots, exact for every k.

At unit epsilon, with A(s) = int_0^s e^-t dh(t) and G(s) = int_0^s e^t dh(t):

    D_1 = A(infinity),  sigma_m = G^{-1}(D_m),  D_{m+1} = A(sigma_m)
    odd  k = 2b - 1: cost D_b, gaps 2 sigma_{b-1}, .., 2 sigma_1 outward from 0
    even k = 2m:     cost h(sigma_m), first points at +-sigma_m, then gaps 2 sigma_{m-1}, ..,
                     2 sigma_1

D_m is the cost, given that the noise lies beyond a point, of serving that half-line with this point
and m - 1 more. Noise without memory makes every half-line alike, and
d/ds [phi(s) + e^-s D] = e^-s (G(s / 2) - D) changes sign once because G increases, so each root is
the minimum, convex h or not. For a symmetric log-concave density the stationary k-set is unique,
hence symmetric: the result is the global optimum. Source of the odd case: Goel et al., section 3.
O(k); lengths scale as 1 / epsilon.

**Any h** is known by its values only. By parts, both integrals of the recurrence need h alone:

    A(s) = h(s) e^-s + int_0^s h e^-t dt        G(s) = h(s) e^s - int_0^s h e^t dt >= h(s)

Both integrals are tabulated once on panels of (0, T): dyadic toward 0 and 700 at most, each split
until Gauss-Legendre rules agree or the panel is as narrow as a float allows, so that corners and
jumps of h end in panels of no weight. A step is then a search in the table and a bracketed root
inside one panel. The cost corrects itself for the rest of the root, which at a jump of h is not
small: A(s) + e^{-2s} (D - G(s)) and h(s) + e^-s (D - G(s)) hold for any s on the jump.

**h(t) = t** has closed forms. Points are quantiles of a Laplace law of half the rate (density
proportional to sqrt(f)). With gaps outward from the middle,

    odd  k = 2b - 1:  0 and +-y_i,  y_i = (2 / epsilon) ln(b / (b - i)),            i = 1..b-1
                      cost 1 / (b epsilon)
    even k = 2m:      +-y_i,        y_i = (1 / epsilon) ln(m (m + 1) / (m + 1 - i)**2),  i = 1..m
                      cost ln(1 + 1 / m) / epsilon

Source: Goel et al., section 3 (odd k); the even case solves the first cell, int_0^s (s - t) e^-t dt
+ e^-s D_m, at e^s = 1 + 1 / m, and continues with the odd recurrence. O(k).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.placement.problem import (
    Certificate,
    Disutility,
    Identity,
    Increasing,
    Placement,
    Power,
    check_k,
    in_units_of_noise,
)


@lru_cache(maxsize=8)
def legendre(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes, ascending, and weights of Gauss-Legendre quadrature on [0, 1]; (count,)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


Array = NDArray[np.float64]

_NODES = 20
_FARTHEST = 700.0  # e^-700 is near the smallest float
_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-60, 6), [128.0, 256.0, 512.0, _FARTHEST]])
_GROWTH_LIMIT = 300.0  # e^t h(t) may overflow beyond; no half-gap of a finite cost is that wide
_SPLITS = 48
_ROOT_TURNS = 100
_JUMP = 1e-9  # what is left of G(sigma) - D at a corner is far less
_ROOT_REST = 8e-15  # a few roundings of G; the cost is flat here, so its own error is the square


class _Steps:
    """The recurrence of h at unit epsilon. Raises InfiniteCost where D_1, `total`, diverges."""

    def __init__(self, h: Increasing) -> None:
        self._h = h
        nodes, weights = legendre(_NODES)
        # One call of h gives the integral over a panel and the value at its end.
        self._nodes, self._weights = np.append(nodes, 1.0), np.append(weights, 0.0)
        edges = _refined(h)
        falling = _panel_integrals(h, edges, -1.0)
        self._falling = np.concatenate([[0.0], np.cumsum(falling)])
        self.total = float(self._falling[-1])
        if not np.isfinite(self.total) or falling[edges[:-1] >= 512.0].sum() > 1e-13 * self.total:
            limit = "of finite expected cost: h or E h(|noise|) is beyond floats"
            raise InfiniteCost("disutility", h.function, limit)
        if not self.total > 0:
            limit = "larger at some distance that the noise reaches than at 0"
            raise ParameterError("disutility", h.function, limit)
        edges = edges[edges <= _GROWTH_LIMIT]
        values = h(edges)
        with np.errstate(over="ignore", invalid="ignore"):
            rising = np.concatenate([[0.0], np.cumsum(_panel_integrals(h, edges, 1.0))])
            reached = values * np.exp(edges) - rising
        enough = int(np.argmax(~(reached < self.total)))
        kept = slice(0, enough + 1)
        self._edges, self._rising = edges[kept].tolist(), rising[kept].tolist()
        # Rounding may not break the order that the search relies on.
        self._reached = np.maximum.accumulate(reached[kept]).tolist()

    def step(self, cost: float) -> tuple[float, float, float, float]:
        """Return the half-gap sigma of D = cost, the cost of a half-line with one more point, that
        of a first cell that ends at sigma, and what is left of G(sigma) - D.
        """
        panel = max(bisect_left(self._reached, cost) - 1, 0)
        left = self._edges[panel]
        right = self._edges[min(panel + 1, len(self._edges) - 1)]
        sigma, value, reached = self._root(panel, left, right, cost)
        inside = self._h(left + (sigma - left) * self._nodes)
        inside = inside * np.exp((left - sigma) * self._nodes)
        falling = float(self._falling[panel])
        falling += (sigma - left) * exp(-left) * float(self._weights @ inside)
        residual = reached - cost
        beyond = value * exp(-sigma) + falling - exp(-2 * sigma) * residual
        first = value - exp(-sigma) * residual
        on_jump = abs(residual) > _JUMP * cost
        return sigma, beyond, first, 0.0 if on_jump else residual

    def _root(
        self, panel: int, left: float, right: float, cost: float
    ) -> tuple[float, float, float]:
        next_panel = min(panel + 1, len(self._edges) - 1)
        # Illinois: the s in [left, right] where G meets the cost, with h(s) and G(s).
        low, high = self._reached[panel] - cost, self._reached[next_panel] - cost
        side = 0
        s, value, reached = right, *self._at(panel, left, right)
        for _ in range(_ROOT_TURNS):
            if right - left <= 4e-16 * right or high <= low:
                break
            s = right - high * (right - left) / (high - low)
            if not left < s < right:
                s = (left + right) / 2
            value, reached = self._at(panel, self._edges[panel], s)
            rest = reached - cost
            if abs(rest) <= _ROOT_REST * cost:
                break
            # The end that stays twice loses half its weight, or the other would creep.
            if rest > 0:
                low = low / 2 if side > 0 else low
                right, high, side = s, rest, 1
            else:
                high = high / 2 if side < 0 else high
                left, low, side = s, rest, -1
        if reached - cost > _JUMP * cost:  # before the jump, the rest of the root is only added
            s, (value, reached) = left, self._at(panel, self._edges[panel], left)
        return s, value, reached

    def _at(self, panel: int, left: float, s: float) -> tuple[float, float]:
        values = self._h(left + (s - left) * self._nodes)
        rising = (s - left) * float(self._weights @ (values * np.exp((s - left) * self._nodes)))
        value = float(values[-1])
        return value, value * exp(s) - self._rising[panel] - exp(left) * rising


def _panel_integrals(h: Increasing, edges: Array, sign: float) -> Array:
    # Of h(t) e^{sign t}; graded toward 0 in the first panel, for roots like t^0.1.
    nodes, weights = legendre(_NODES)
    width = np.diff(edges)[:, None]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        t = edges[:-1, None] + width * nodes
        integrals = np.asarray(width[:, 0] * ((h(t) * np.exp(sign * t)) @ weights))
        t = edges[1] * nodes**4
        integrals[0] = edges[1] * (weights * 4 * nodes**3) @ (h(t) * np.exp(sign * t))
    return integrals


def _refined(h: Increasing) -> Array:
    edges = _EDGES
    total = abs(float(np.nansum(_panel_integrals(h, edges, -1.0))))
    for _ in range(_SPLITS):
        middles = (edges[:-1] + edges[1:]) / 2
        whole = _panel_integrals(h, edges, -1.0)
        halves = _panel_integrals(h, np.sort(np.concatenate([edges, middles])), -1.0)
        with np.errstate(invalid="ignore"):
            rest = np.abs(whole - halves[0::2] - halves[1::2])
        size = np.maximum(np.abs(whole), 1e-4 * total)
        # NaN, where h overflows, asks for no split: the divergence is reported by its own name.
        coarse = (rest > 1e-15 * size) & (np.diff(edges) > 1e-14 * edges[1:])
        coarse[0] = False
        if not coarse.any():
            break
        edges = np.sort(np.concatenate([edges, middles[coarse]]))
    return edges


def line_offsets(epsilon: float, k: int) -> NDArray[np.float64]:
    """Return the optimal offsets for h(t) = t, ascending, shape (k,), in units of distance: 0 for k
    = 1, +-ln 2 / epsilon for 2, 0 and +-2 ln 2 / epsilon for 3. Raises ParameterError as `check_k`.
    """
    check_k(k)
    half = (k + 1) // 2
    i = np.arange(1, k // 2 + 1, dtype=np.float64)
    if k % 2:
        outward = -2 * np.log1p(-i / half) / epsilon
        return np.concatenate([-outward[::-1], [0.0], outward])
    # ln(m (m + 1) / (m + 1 - i)**2), in terms that keep full precision for every i.
    outward = (np.log1p(1 / half) - 2 * np.log1p(-(i - 1) / half)) / epsilon
    return np.concatenate([-outward[::-1], outward])


def line_cost(epsilon: float, k: int) -> float:
    """Return the expected distance from the person to the nearest of the k `line_offsets`: 2 / ((k
    + 1) epsilon) for an odd k, ln(1 + 2 / k) / epsilon for an even one.
    """
    check_k(k)
    if k % 2:
        return 2 / ((k + 1) * epsilon)
    return math.log1p(2 / k) / epsilon


_LEAST_COST = 1e-290  # at unit epsilon; the steps lose their precision below
_UNIQUE = "exact: the stationary set of a symmetric log-concave law is unique"


def place_on_laplace_line(epsilon: float, h: Disutility, k: int) -> Placement:
    """Return the Placement of k optimal `offsets`, ascending, (k,), and their `cost`, E h. Raises
    InfiniteCost for an h of infinite expected cost, ParameterError for a k or an epsilon beyond
    what floats can tell.
    """
    check_k(k)
    # The numbers are those of unit epsilon; h reads its distances in units of 1 / epsilon.
    factor, unit = in_units_of_noise(h, epsilon)
    if isinstance(unit, Identity) or unit == Power(1.0):
        cost, method = line_cost(epsilon, k), "closed form, exact"
        return Placement(line_offsets(epsilon, k), cost, method, Certificate(cost, 0.0, _UNIQUE))
    increasing = unit if isinstance(unit, Increasing) else Increasing(unit)
    steps, taken = _Steps(increasing), []
    beyond = steps.total
    for _ in range(k // 2):
        taken.append(steps.step(beyond))
        beyond = taken[-1][1]
    halves = np.array([sigma for sigma, *_ in reversed(taken)])
    if k % 2:
        cost, outward = beyond, 2 * np.cumsum(halves)
        offsets = np.concatenate([-outward[::-1], [0.0], outward])
    else:
        cost, outward = taken[-1][2], 2 * np.cumsum(halves) - halves[0]
        offsets = np.concatenate([-outward[::-1], outward])
    if not cost > _LEAST_COST:
        raise ParameterError("k", k, "smaller: so many results cost less than floats can tell")
    total = factor * cost + increasing.at_zero
    # What is left of G(sigma) = D, weighed with the density at the offset.
    rest = np.abs([residual for *_, residual in reversed(taken)])
    residual = float(np.max(rest * np.exp(-outward) / 2, initial=0.0)) * factor * epsilon
    certificate = Certificate(total, residual, _UNIQUE)
    return Placement(offsets / epsilon, total, "recurrence of monotone roots, exact", certificate)
