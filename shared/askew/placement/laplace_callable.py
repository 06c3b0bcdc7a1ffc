"""The Laplace recurrence for any increasing callable h, known only by its values.

By parts, both integrals of the recurrence need h alone:

    A(s) = h(s) e^-s + int_0^s h e^-t dt        G(s) = h(s) e^s - int_0^s h e^t dt >= h(s)

Both integrals are tabulated once on panels of (0, T): dyadic toward 0 and 700 at most, each split
until Gauss-Legendre rules agree or the panel is as narrow as a float allows, so that corners and
jumps of h end in panels of no weight. A step is then a search in the table and a bracketed root
inside one panel. The cost corrects itself for the rest of the root, which at a jump of h is not
small: A(s) + e^{-2s} (D - G(s)) and h(s) + e^-s (D - G(s)) hold for any s on the jump.

Numpy only.
"""

from __future__ import annotations

from bisect import bisect_left
from math import exp

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost
from askew.placement.increasing import Increasing
from askew.placement.laplace_steps import Step, Steps, legendre

Array = NDArray[np.float64]

_NODES = 20
_FARTHEST = 700.0  # e^-700 is near the smallest float
_EDGES = np.concatenate([[0.0], 2.0 ** np.arange(-60, 6), [128.0, 256.0, 512.0, _FARTHEST]])
_GROWTH_LIMIT = 300.0  # e^t h(t) may overflow beyond; no half-gap of a finite cost is that wide
_SPLITS = 48
_ROOT_TURNS = 100
_ROOT_REST = 8e-15  # a few roundings of G; the cost is flat here, so its own error is the square


class CallableSteps(Steps):
    """The recurrence for a callable, at unit epsilon. Raises InfiniteCost where D_1 diverges."""

    def __init__(self, h: Increasing) -> None:
        self._h = h
        nodes, weights = legendre(_NODES)
        # One call of h gives the integral over a panel and the value at its end.
        self._nodes, self._weights = np.append(nodes, 1.0), np.append(weights, 0.0)
        edges = _refined(h)
        falling = _panel_integrals(h, edges, -1.0)
        self._falling = np.concatenate([[0.0], np.cumsum(falling)])
        self.total = float(self._falling[-1])
        self._refuse_divergence(edges, falling)
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

    def step(self, cost: float) -> Step:
        """A search in the table, then a bracketed root within one panel."""
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
        on_jump = abs(residual) > 1e-9 * cost
        return Step(sigma, beyond, first, 0.0 if on_jump else residual)

    def _root(
        self, panel: int, left: float, right: float, cost: float
    ) -> tuple[float, float, float]:
        """The s in [left, right] where G meets the cost (Illinois), with h(s) and G(s)."""
        low, high = self._reached[panel] - cost, self._reached[min(panel + 1, self._last)] - cost
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
        return s, value, reached

    @property
    def _last(self) -> int:
        return len(self._edges) - 1

    def _at(self, panel: int, left: float, s: float) -> tuple[float, float]:
        values = self._h(left + (s - left) * self._nodes)
        rising = (s - left) * float(self._weights @ (values * np.exp((s - left) * self._nodes)))
        value = float(values[-1])
        return value, value * exp(s) - self._rising[panel] - exp(left) * rising

    def _refuse_divergence(self, edges: Array, panels: Array) -> None:
        farthest = panels[edges[:-1] >= 512.0].sum()
        if not np.isfinite(self.total) or farthest > 1e-13 * self.total:
            raise InfiniteCost(
                "disutility", self._h.function, "of finite expected cost: E h(|noise|) diverges"
            )


def _panel_integrals(h: Increasing, edges: Array, sign: float) -> Array:
    """int h(t) e^{sign t} over each panel; graded toward 0 in the first, for roots like t^0.1."""
    nodes, weights = legendre(_NODES)
    width = np.diff(edges)[:, None]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        t = edges[:-1, None] + width * nodes
        integrals = np.asarray(width[:, 0] * ((h(t) * np.exp(sign * t)) @ weights))
        t = edges[1] * nodes**4
        integrals[0] = edges[1] * (weights * 4 * nodes**3) @ (h(t) * np.exp(sign * t))
    return integrals


def _refined(h: Increasing) -> Array:
    """Panel edges fine enough for both integrals."""
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
