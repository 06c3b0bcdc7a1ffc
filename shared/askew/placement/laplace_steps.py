"""One step of the Laplace recurrence for each named disutility, at unit epsilon.

With A(s) = int_0^s e^-t dh(t) and G(s) = int_0^s e^t dh(t), a step solves G(sigma) = D and goes on
with D' = A(sigma); D starts at A(infinity). All integrals here have positive integrands and are
summed without cancellation, so every step keeps its relative precision; and since 1 / D grows by
nearly the same amount each time, early errors fade instead of adding up.

Where h is smooth, Newton works in the unknown h(sigma): dG / dh = e^sigma grows, so G is convex in
it, and since G >= h the start h = D lies on the safe side. It falls to the root without a bracket.

Numpy only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost
from askew.placement.disutility import Expm1, Log1p, Power, Saturating

_NEWTON_TURNS = 200


class Step(NamedTuple):
    """A half-gap sigma, the cost `beyond` of a half-line with one more point, the cost `first` of a
    first cell that ends at sigma, and what is left of G(sigma) - D.
    """

    sigma: float
    beyond: float
    first: float
    residual: float


class Steps(ABC):
    """The recurrence for one disutility."""

    total: float  # A(infinity): the cost of k = 1

    @abstractmethod
    def step(self, cost: float) -> Step:
        """The step from D = cost."""


@dataclass(frozen=True)
class SaturatingSteps(Steps):
    """h = 1 - exp(-t / c), both integrals elementary."""

    scale: float

    @property
    def total(self) -> float:  # type: ignore[override]
        """1 / (1 + c)."""
        return 1 / (1 + self.scale)

    def step(self, cost: float) -> Step:
        """Sigma = log(1 + D (c - 1)) c / (c - 1), and D at c = 1."""
        c = self.scale
        sigma = cost if c == 1 else math.log1p(cost * (c - 1)) * c / (c - 1)
        beyond = -math.expm1(-(1 + 1 / c) * sigma) / (1 + c)
        reached = sigma if c == 1 else math.expm1((1 - 1 / c) * sigma) / (c - 1)
        return Step(sigma, beyond, -math.expm1(-sigma / c), reached - cost)


@dataclass(frozen=True)
class Expm1Steps(Steps):
    """h = exp(a t) - 1, a < 1."""

    rate: float

    def __post_init__(self) -> None:
        if self.rate >= 1:
            raise InfiniteCost("rate / epsilon", self.rate, "below 1 for a finite expected cost")

    @property
    def total(self) -> float:  # type: ignore[override]
        """A / (1 - a)."""
        return self.rate / (1 - self.rate)

    def step(self, cost: float) -> Step:
        """Sigma = log(1 + (1 + a) D / a) / (1 + a)."""
        a = self.rate
        sigma = math.log1p((1 + a) * cost / a) / (1 + a)
        beyond = -a * math.expm1((a - 1) * sigma) / (1 - a)
        reached = a * math.expm1((1 + a) * sigma) / (1 + a)
        return Step(sigma, beyond, math.expm1(a * sigma), reached - cost)


@dataclass(frozen=True)
class PowerSteps(Steps):
    """h = t ** p. G is a Kummer function and A an incomplete gamma function, both as power series
    of positive terms: G = p s**p sum s**n / (n! (p + n)), A = s**p e**-s sum s**n / (p + 1)_n.
    """

    exponent: float

    def __post_init__(self) -> None:
        if self.exponent > 170:
            raise InfiniteCost("exponent", self.exponent, "at most 170, or the cost overflows")

    @property
    def total(self) -> float:  # type: ignore[override]
        """Gamma(p + 1)."""
        return math.gamma(self.exponent + 1)

    def step(self, cost: float) -> Step:
        """Newton in h(sigma)."""
        p = self.exponent
        value, residual = _convex_root(
            lambda y: (y * self._growth(y ** (1 / p)), math.exp(y ** (1 / p))), cost
        )
        sigma = value ** (1 / p)
        # The root's own rest enters twice over: the cost is flat where the step is exact.
        beyond = value * self._decay(sigma) - math.exp(-2 * sigma) * residual
        return Step(sigma, beyond, value - math.exp(-sigma) * residual, residual)

    def _growth(self, s: float) -> float:
        """G(s) / s**p."""
        p, n, power, total = self.exponent, 0, 1.0, 0.0
        while power > 1e-18 * total:
            total += power * p / (p + n)
            n += 1
            power *= s / n
        return total

    def _decay(self, s: float) -> float:
        """A(s) / s**p."""
        p, n, term, total = self.exponent, 0, 1.0, 0.0
        while term > 1e-18 * total:
            total += term
            n += 1
            term *= s / (p + n)
        return total * math.exp(-s)


@dataclass(frozen=True)
class Log1pSteps(Steps):
    """h = log(1 + t / c). With v = h(t), dh is dv and t = c (e^v - 1): Gauss-Legendre in v."""

    scale: float

    @property
    def total(self) -> float:  # type: ignore[override]
        """e^c E_1(c)."""
        return scaled_exponential_integral(self.scale)

    def step(self, cost: float) -> Step:
        """Newton in h(sigma)."""
        value, residual = _convex_root(self._growth, cost)
        sigma = self.scale * math.expm1(value)
        nodes, weights = legendre(48)
        decayed = np.exp(-self.scale * np.expm1(value * nodes))
        beyond = value * float(weights @ decayed) - math.exp(-2 * sigma) * residual
        return Step(sigma, beyond, value - math.exp(-sigma) * residual, residual)

    def _growth(self, value: float) -> tuple[float, float]:
        nodes, weights = legendre(48)
        grown = np.exp(self.scale * np.expm1(value * nodes))
        return value * float(weights @ grown), math.exp(self.scale * math.expm1(value))


@lru_cache(maxsize=8)
def legendre(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def scaled_exponential_integral(c: float) -> float:
    """e^c E_1(c) = int_0^inf e^-t / (c + t) dt, c > 0: a series up to 2, then a continued fraction.

    Source: Abramowitz and Stegun 5.1.11 and 5.1.22.
    """
    if c <= 2:
        total, term, n = 0.0, 1.0, 0
        while abs(term) > 1e-18:
            n += 1
            term *= -c / n
            total -= term / n
        return math.exp(c) * (total - math.log(c) - 0.5772156649015328606)
    fraction = 0.0
    for n in range(200, 0, -1):
        fraction = n * n / (c + 2 * n + 1 - fraction)
    return 1 / (c + 1 - fraction)


def _convex_root(
    function: Callable[[float], tuple[float, float]], target: float
) -> tuple[float, float]:
    """The x <= target at which a convex function >= x, given with its derivative, meets target;
    and what is left there.
    """
    x = target
    best = math.inf
    for _ in range(_NEWTON_TURNS):
        reached, slope = function(x)
        residual = reached - target
        if abs(residual) >= best or residual == 0:
            break
        best = abs(residual)
        x -= residual / slope
    reached, _ = function(x)
    return x, reached - target


def steps_of(h: Power | Saturating | Log1p | Expm1) -> Steps:
    """The recurrence of a named disutility. Raises InfiniteCost where no cost is finite."""
    match h:
        case Power():
            return PowerSteps(h.exponent)
        case Saturating():
            return SaturatingSteps(h.scale)
        case Log1p():
            return Log1pSteps(h.scale)
        case Expm1():
            return Expm1Steps(h.rate)
