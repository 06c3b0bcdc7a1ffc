"""A placement problem and its answer: the law of the noise, a disutility of distance; k offsets,
their cost, a certificate.

A signal s = u + X leaves the device; the server answers with results at s + a_1, ..., s + a_k.
The person takes the nearest, so the expected cost is E h(min_i ||X - a_i||), the same for every u.

Disutilities: h(t), what a result at distance t costs. Increasing, h(0) = 0.
`in_units_of(u)` splits h(u t) = factor * unit(t), with which a law of any scale becomes a law of
scale one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite, log10
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.limits import MAX_PLACED, MAX_PLACED_DIMENSION, MAX_SCALE


@dataclass(frozen=True)
class Certificate:
    """What is known about the distance from the optimum.

    lower_bound: no k offsets cost less than this; equal to the cost where it is exact.
    residual: the largest derivative of the cost in one offset, 0 for a closed form, NaN where the
    method does not look at derivatives. claim: the reason, in words.
    """

    lower_bound: float
    residual: float
    claim: str


@dataclass(frozen=True, eq=False)
class Placement:
    """The offsets and what they cost. Immutable, and safe to share and to cache.

    offsets: read-only; (k,) ascending on the line, (k, d) beyond it. cost: expected disutility of
    the nearest result, in units of h. method: how the offsets were found, and why this way.
    standard_error: of the cost where it was measured on samples, else 0. Raises InfiniteCost for a
    cost that no float holds.
    """

    offsets: NDArray[np.float64] = field(repr=False)
    cost: float
    method: str
    certificate: Certificate
    standard_error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(self.offsets))
        object.__setattr__(self, "cost", float(self.cost))
        if not (isfinite(self.cost) and isfinite(self.standard_error)):
            raise InfiniteCost("disutility", self.cost, "of a cost that floats hold at this scale")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make copies and pickles as immutable as the original; arrays alone would not be."""
        self.__dict__.update(state)
        self.__post_init__()


def frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a float64 copy of the same shape that nothing can make writable again."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    return np.frombuffer(array.tobytes(), dtype=np.float64).reshape(array.shape)


LEAST_EXPONENT = 1e-6  # floats near one lose the root of a smaller power
_FACTORS = 1e-200, 1e200  # floats hold their products with costs


def check_k(k: int) -> None:
    """Raise ParameterError unless k is an integer, no bool, from 1 to 100000."""
    check_count("k", k, MAX_PLACED)


def check_count(name: str, value: int, most: int) -> None:
    """Raise ParameterError, by this name, unless value is an integer, no bool, from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(name, value, "an integer of at least 1")
    if value > most:
        raise ParameterError(name, value, f"an integer of at most {most}")


def check_positive(name: str, value: float) -> None:
    """Raise ParameterError unless value is an int or a float, also numpy's, no bool, from 1e-30 to
    1e30.
    """
    number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not number or not 0 < value < inf:
        raise ParameterError(name, value, "positive and finite")
    if not 1 / MAX_SCALE <= value <= MAX_SCALE:
        raise ParameterError(name, value, f"from {1 / MAX_SCALE:g} to {MAX_SCALE:g}")


Norm = Literal["l1", "l2"]
_LARGEST_POWER = 150  # of ten, in a factor of costs: a cost of 1e150 is still a float then


@dataclass(frozen=True)
class Laplace:
    """Density proportional to exp(-epsilon ||x||) in `dimension` coordinates.

    metric "l1": independent Laplace noise on each axis. metric "l2": a radius of law
    Gamma(dimension, 1 / epsilon) in a uniform direction. Each is metric-private with epsilon
    per unit of its own distance. epsilon: 1 / unit of distance.
    Raises ParameterError unless epsilon is from 1e-30 to 1e30 and dimension an integer from 1 to
    64.
    """

    epsilon: float
    dimension: int = 1
    metric: Norm = "l1"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("dimension", self.dimension, MAX_PLACED_DIMENSION)
        if self.metric not in {"l1", "l2"}:
            raise ParameterError("metric", self.metric, '"l1" or "l2"')


Array = NDArray[np.float64]


class Disutility(ABC):
    """An increasing h with h(0) = 0."""

    @abstractmethod
    def __call__(self, t: Array) -> Array:
        """Return h at distances t >= 0, of the shape of t."""

    @abstractmethod
    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """Return (factor, g) with h(unit * t) = factor * g(t)."""


@dataclass(frozen=True)
class Identity(Disutility):
    """h(t) = t: a result at distance t costs t."""

    def __call__(self, t: Array) -> Array:
        """Return the distance itself."""
        return t

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """Return (unit, the identity)."""
        return unit, self


@dataclass(frozen=True)
class Power(Disutility):
    """h(t) = t ** exponent, exponent from 1e-6. Concave up to one, convex from one on."""

    exponent: float

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)
        if self.exponent < LEAST_EXPONENT:
            raise ParameterError("exponent", self.exponent, f"at least {LEAST_EXPONENT}")

    def __call__(self, t: Array) -> Array:
        """Return t ** exponent."""
        return np.asarray(t**self.exponent)

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """Return (unit ** exponent, this power). Raises InfiniteCost beyond 1e-150..1e150."""
        if abs(self.exponent * log10(unit)) > _LARGEST_POWER:
            raise InfiniteCost("exponent", self.exponent, "smaller, or epsilon nearer to 1")
        return unit**self.exponent, self


@dataclass(frozen=True)
class Increasing(Disutility):
    """h(t) = function(unit * t) - function(0) for any increasing callable.

    The function may take arrays or single floats. That it increases is checked on a grid of
    distances from 1e-6 to 1e3 units: a ParameterError otherwise, and for NaN.
    """

    function: Callable[..., Any]
    unit: float = 1.0
    at_zero: float = field(init=False, default=0.0)  # moves every cost and no offset

    def __post_init__(self) -> None:
        t = np.concatenate([[0.0], np.geomspace(1e-6, 1e3, 181)])
        values = self._evaluate(t)
        # Equal infinities are no fall: a fast function overflows there, as it may.
        with np.errstate(all="ignore"):
            falls = np.diff(values) < -1e-12 * np.abs(values[1:])
        rises = values[-1] > values[0]
        if np.isnan(values).any() or falls.any() or not isfinite(values[0]) or not rises:
            raise ParameterError("disutility", self.function, "an increasing function of t >= 0")
        object.__setattr__(self, "at_zero", float(values[0]))

    def __call__(self, t: Array) -> Array:
        """Return function(unit * t) - function(0); where it overflows, infinity."""
        with np.errstate(invalid="ignore"):
            return self._evaluate(t) - self.at_zero

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """Return (1.0, the same function read in a unit that is `unit` times as long)."""
        return 1.0, Increasing(self.function, self.unit * unit)

    def _evaluate(self, t: Array) -> Array:
        scaled = np.asarray(self.unit * t, dtype=np.float64)
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(self.function(scaled), dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                return self._one_by_one(scaled)
        return values if values.shape == scaled.shape else self._one_by_one(scaled)

    def _one_by_one(self, t: Array) -> Array:
        values = np.empty_like(t)
        for index, value in np.ndenumerate(t):
            try:
                values[index] = self.function(float(value))
            except OverflowError:
                values[index] = np.inf
        return values


def in_units_of_noise(h: Disutility, epsilon: float) -> tuple[float, Disutility]:
    """Return (factor, g) with h(t / epsilon) = factor * g(t), with which a law of any scale is one
    of unit epsilon. Raises ParameterError for a factor beyond 1e-200 to 1e200, and as
    `in_units_of`.
    """
    try:
        factor, unit = h.in_units_of(1 / epsilon)
    except OverflowError:
        factor, unit = float("inf"), h
    least, most = _FACTORS
    if not least <= factor <= most:
        limit = "such that floats hold the disutility of a distance of 1 / epsilon"
        raise ParameterError("epsilon", epsilon, limit)
    return factor, unit
