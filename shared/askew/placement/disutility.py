"""Disutilities: h(t), what a result at distance t costs. Increasing, h(0) = 0.

| class | h(t) | parameter |
|---|---|---|
| Identity() | t | |
| Power(exponent) | t ** exponent | exponent > 0 |
| Saturating(scale) | 1 - exp(-t / scale) | a distance |
| Log1p(scale) | log(1 + t / scale) | a distance |
| Cap(limit) | min(t, limit) | a distance |
| Threshold(radius) | 1 beyond radius, 0 up to it | a distance |
| Expm1(rate) | exp(rate t) - 1 | 1 / distance |
| increasing.Increasing(function) | function(t) | any increasing callable |

`slope` is h'(t) where it exists. `in_units_of(u)` splits h(u t) = factor * unit(t), with which a
law of any scale becomes a law of scale one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.placement.answer import check_positive

Array = NDArray[np.float64]


class Disutility(ABC):
    """An increasing h with h(0) = 0."""

    @abstractmethod
    def __call__(self, t: Array) -> Array:
        """h at distances t >= 0."""

    @abstractmethod
    def slope(self, t: Array) -> Array:
        """h'(t), taken from the right where h has a corner."""

    @abstractmethod
    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """(factor, g) with h(unit * t) = factor * g(t)."""


@dataclass(frozen=True)
class Identity(Disutility):
    """h(t) = t: a result at distance t costs t."""

    def __call__(self, t: Array) -> Array:
        """The distance itself."""
        return t

    def slope(self, t: Array) -> Array:
        """One."""
        return np.ones_like(t)

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """A change of unit only scales it."""
        return unit, self


@dataclass(frozen=True)
class Power(Disutility):
    """h(t) = t ** exponent, exponent > 0. Concave up to one, convex from one on."""

    exponent: float

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)

    def __call__(self, t: Array) -> Array:
        """The power of the distance."""
        return np.asarray(t**self.exponent)

    def slope(self, t: Array) -> Array:
        """Infinite at 0 for an exponent below one; callers stay off 0."""
        return np.asarray(self.exponent * t ** (self.exponent - 1))

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """A change of unit only scales it."""
        return unit**self.exponent, self


@dataclass(frozen=True)
class Saturating(Disutility):
    """h(t) = 1 - exp(-t / scale): far results are all equally useless."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def __call__(self, t: Array) -> Array:
        """1 - exp(-t / scale)."""
        return np.asarray(-np.expm1(-t / self.scale))

    def slope(self, t: Array) -> Array:
        """exp(-t / scale) / scale."""
        return np.asarray(np.exp(-t / self.scale) / self.scale)

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """The same family with another scale."""
        return 1.0, Saturating(self.scale / unit)


@dataclass(frozen=True)
class Log1p(Disutility):
    """h(t) = log(1 + t / scale)."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def __call__(self, t: Array) -> Array:
        """log(1 + t / scale)."""
        return np.asarray(np.log1p(t / self.scale))

    def slope(self, t: Array) -> Array:
        """1 / (scale + t)."""
        return np.asarray(1 / (self.scale + t))

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """The same family with another scale."""
        return 1.0, Log1p(self.scale / unit)


@dataclass(frozen=True)
class Cap(Disutility):
    """h(t) = min(t, limit)."""

    limit: float

    def __post_init__(self) -> None:
        check_positive("limit", self.limit)

    def __call__(self, t: Array) -> Array:
        """min(t, limit)."""
        return np.minimum(t, self.limit)

    def slope(self, t: Array) -> Array:
        """One up to the limit, nothing beyond."""
        return np.where(t < self.limit, 1.0, 0.0)

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """min(unit t, limit) = unit min(t, limit / unit)."""
        return unit, Cap(self.limit / unit)


@dataclass(frozen=True)
class Threshold(Disutility):
    """h(t) = 1 beyond the radius, 0 up to it: a result helps or does not."""

    radius: float

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def __call__(self, t: Array) -> Array:
        """The indicator of t > radius."""
        return np.where(t > self.radius, 1.0, 0.0)

    def slope(self, t: Array) -> Array:
        """Zero; all of h is one jump at the radius, which callers treat apart."""
        return np.zeros_like(t)

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """The same family with another radius."""
        return 1.0, Threshold(self.radius / unit)


@dataclass(frozen=True)
class Expm1(Disutility):
    """h(t) = exp(rate t) - 1: its cost is finite only under noise with lighter tails."""

    rate: float

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)

    def __call__(self, t: Array) -> Array:
        """exp(rate t) - 1."""
        return np.asarray(np.expm1(self.rate * t))

    def slope(self, t: Array) -> Array:
        """The derivative, rate * exp(rate t)."""
        return np.asarray(self.rate * np.exp(self.rate * t))

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """The same family with another rate."""
        return 1.0, Expm1(self.rate * unit)
