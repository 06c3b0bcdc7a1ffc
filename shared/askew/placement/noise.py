"""Noise laws: what the device adds to its profile.

| class | density | log-concave |
|---|---|---|
| Laplace(epsilon, dimension, metric) | prop. to exp(-epsilon norm(x)) | yes |
| Gaussian(sigma) | normal, standard deviation sigma | yes |
| Logistic(scale) | logistic | yes |
| Uniform(half_width) | constant on [-half_width, half_width] | yes |
| Symmetric(pdf, cdf, ppf) | any symmetric one that you say is log-concave | yes |
| LaplaceMixture(weights, epsilons) | sum_i weights_i Laplace(epsilons_i) | no |
| OnGrid(points, density) | piecewise linear through the given values | no |

Only Laplace noise has an epsilon. A Gaussian is metric-private in the Renyi sense (order-alpha
divergence alpha |u - u'|**2 / (2 sigma**2)) and for no epsilon, since the slope of its log-density
has no bound; a uniform law is private for none at all.

Where noise is not log-concave, its optimal offsets may be asymmetric.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.problem import check_count, check_positive, frozen

Norm = Literal["l1", "l2"]
Array = NDArray[np.float64]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Laplace:
    """Density proportional to exp(-epsilon ||x||) in `dimension` coordinates.

    metric "l1": independent Laplace noise on each axis. metric "l2": a radius of law
    Gamma(dimension, 1 / epsilon) in a uniform direction. Each is metric-private with epsilon
    per unit of its own distance. epsilon: 1 / unit of distance.
    Raises ParameterError unless epsilon is positive and finite, dimension an integer of at least 1.
    """

    epsilon: float
    dimension: int = 1
    metric: Norm = "l1"

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("dimension", self.dimension)
        if self.metric not in {"l1", "l2"}:
            raise ParameterError("metric", self.metric, '"l1" or "l2"')


class LineNoise(ABC):
    """A law on the line with a density."""

    @property
    def corners(self) -> tuple[float, ...]:
        """Where the density is not smooth and a placement may have a point nearby."""
        return ()

    @property
    @abstractmethod
    def unit(self) -> float:
        """A typical distance, to scale by."""

    @abstractmethod
    def pdf(self, x: Array) -> Array:
        """The density."""

    @abstractmethod
    def cdf(self, x: Array) -> Array:
        """P(X <= x), to full relative precision in the left tail."""

    @abstractmethod
    def sf(self, x: Array) -> Array:
        """P(X > x), to full relative precision in the right tail."""

    def mass(self, low: Array, high: Array) -> Array:
        """P(low < X <= high), from the nearer tail."""
        right = self.sf(low) - self.sf(high)
        left = self.cdf(high) - self.cdf(low)
        return np.asarray(np.where(low + high > 0, right, left))


class LogConcave(LineNoise):
    """A symmetric law whose log-density is concave: its optimal k-sets are unique and symmetric."""

    def sf(self, x: Array) -> Array:
        """By symmetry."""
        return self.cdf(-x)

    @abstractmethod
    def ppf(self, q: Array) -> Array:
        """Quantiles, for q up to a half."""


@dataclass(frozen=True)
class Gaussian(LogConcave):
    """Normal noise of standard deviation sigma, in units of distance. It has no epsilon."""

    sigma: float

    def __post_init__(self) -> None:
        check_positive("sigma", self.sigma)

    @property
    def unit(self) -> float:
        """The standard deviation."""
        return self.sigma

    def pdf(self, x: Array) -> Array:
        """The normal density."""
        z = x / self.sigma
        return np.asarray(np.exp(-z * z / 2) / (self.sigma * np.sqrt(2 * np.pi)))

    def cdf(self, x: Array) -> Array:
        """By the complementary error function."""
        from scipy.special import ndtr

        return np.asarray(ndtr(x / self.sigma))

    def ppf(self, q: Array) -> Array:
        """By the inverse error function."""
        from scipy.special import ndtri

        return np.asarray(self.sigma * ndtri(q))


@dataclass(frozen=True)
class Logistic(LogConcave):
    """Density 1 / (4 scale cosh(x / (2 scale))**2)."""

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    @property
    def unit(self) -> float:
        """The scale."""
        return self.scale

    def pdf(self, x: Array) -> Array:
        """In terms that do not overflow."""
        tail = np.exp(-np.abs(x) / self.scale)
        return np.asarray(tail / (self.scale * (1 + tail) ** 2))

    def cdf(self, x: Array) -> Array:
        """1 / (1 + exp(-x / scale))."""
        tail = np.exp(-np.abs(x) / self.scale)
        return np.asarray(np.where(x < 0, tail, 1.0) / (1 + tail))

    def ppf(self, q: Array) -> Array:
        """The log-odds."""
        return np.asarray(self.scale * (np.log(q) - np.log1p(-q)))


@dataclass(frozen=True)
class Uniform(LogConcave):
    """The same density everywhere within half_width of 0."""

    half_width: float

    def __post_init__(self) -> None:
        check_positive("half_width", self.half_width)

    @property
    def unit(self) -> float:
        """The half width."""
        return self.half_width

    def pdf(self, x: Array) -> Array:
        """A box."""
        return np.where(np.abs(x) <= self.half_width, 0.5 / self.half_width, 0.0)

    def cdf(self, x: Array) -> Array:
        """A ramp."""
        return np.clip(0.5 + x / (2 * self.half_width), 0.0, 1.0)

    def ppf(self, q: Array) -> Array:
        """The ramp, inverted."""
        return np.asarray((2 * q - 1) * self.half_width)


@dataclass(frozen=True)
class Symmetric(LogConcave):
    """Any symmetric log-concave density, by its vectorized pdf, cdf and ppf.

    Both properties are the caller's word; symmetry is checked at a few points. cdf should be
    precise in the left tail. Raises ParameterError where pdf or cdf are not symmetric.
    """

    pdf_function: Function
    cdf_function: Function
    ppf_function: Function

    def __post_init__(self) -> None:
        x = np.abs(self.ppf(np.array([0.05, 0.2, 0.4])))
        even = np.allclose(self.pdf(x), self.pdf(-x), rtol=1e-9)
        if not (even and np.allclose(self.cdf(x) + self.cdf(-x), 1, rtol=1e-9)):
            raise ParameterError("noise", self.pdf_function, "symmetric about 0")

    @property
    def unit(self) -> float:
        """Half of the distance between the quartiles."""
        return float(-self.ppf(np.array([0.25]))[0])

    def pdf(self, x: Array) -> Array:
        """As given."""
        return np.asarray(self.pdf_function(x), dtype=np.float64)

    def cdf(self, x: Array) -> Array:
        """As given."""
        return np.asarray(self.cdf_function(x), dtype=np.float64)

    def ppf(self, q: Array) -> Array:
        """As given."""
        return np.asarray(self.ppf_function(q), dtype=np.float64)


@dataclass(frozen=True)
class LaplaceMixture(LineNoise):
    """sum_i weights_i Laplace(epsilons_i): heavy and light tails at once, not log-concave.

    Raises ParameterError unless all are positive, of one length, and the weights sum to one.
    """

    weights: Sequence[float]
    epsilons: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        object.__setattr__(self, "epsilons", tuple(float(e) for e in self.epsilons))
        for weight in self.weights:
            check_positive("weights", weight)
        for epsilon in self.epsilons:
            check_positive("epsilons", epsilon)
        if len(self.weights) != len(self.epsilons) or not self.weights:
            raise ParameterError("weights", self.weights, "positive, one for each epsilon")
        if abs(sum(self.weights) - 1) > 1e-9:
            raise ParameterError("weights", self.weights, "of sum 1")

    @property
    def unit(self) -> float:
        """The mean distance from 0."""
        return sum(w / e for w, e in zip(self.weights, self.epsilons, strict=True))

    @property
    def corners(self) -> tuple[float, ...]:
        """The peak."""
        return (0.0,)

    def pdf(self, x: Array) -> Array:
        """The mixed density."""
        return self._mixed(np.abs(x), [w * e / 2 for w, e in self._pairs()])

    def cdf(self, x: Array) -> Array:
        """The mixed tail, exact on the left."""
        tail = self._mixed(np.abs(x), [w / 2 for w, _ in self._pairs()])
        return np.where(x < 0, tail, 1 - tail)

    def sf(self, x: Array) -> Array:
        """By symmetry."""
        return self.cdf(-x)

    def _pairs(self) -> list[tuple[float, float]]:
        return list(zip(self.weights, self.epsilons, strict=True))

    def _mixed(self, far: Array, heights: list[float]) -> Array:
        total = np.zeros_like(far)
        for height, epsilon in zip(heights, self.epsilons, strict=True):
            total += height * np.exp(-epsilon * far)
        return total


@dataclass(frozen=True, eq=False)
class OnGrid(LineNoise):
    """Any density, given by its values at ascending points: linear between them, 0 outside.

    The law of u - s, the person as seen from the signal, where it is not symmetric. Normalized.
    Raises ParameterError unless the points ascend and the values are nonnegative, not all 0.
    """

    points: Array
    density: Array
    _below: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        points, density = np.array(self.points, float), np.array(self.density, float)
        if points.ndim != 1 or points.shape != density.shape or (np.diff(points) <= 0).any():
            raise ParameterError("points", self.points, "ascending, one for each value")
        pieces = np.diff(points) * (density[1:] + density[:-1]) / 2
        total = float(pieces.sum())
        if not (total > 0 and isfinite(total) and (density >= 0).all()):
            raise ParameterError("density", self.density, "nonnegative, finite, not all zero")
        object.__setattr__(self, "points", frozen(points))
        object.__setattr__(self, "density", frozen(density / total))
        object.__setattr__(self, "_below", np.concatenate([[0.0], np.cumsum(pieces / total)]))

    @property
    def unit(self) -> float:
        """The width of the grid over eight."""
        return float(self.points[-1] - self.points[0]) / 8

    @property
    def corners(self) -> tuple[float, ...]:
        """Every point of the grid."""
        return tuple(self.points.tolist())

    def pdf(self, x: Array) -> Array:
        """Linear between the points."""
        return np.interp(x, self.points, self.density, left=0.0, right=0.0)

    def cdf(self, x: Array) -> Array:
        """Quadratic between the points."""
        x = np.clip(x, self.points[0], self.points[-1])
        i = np.clip(np.searchsorted(self.points, x, side="right") - 1, 0, len(self.points) - 2)
        step = x - self.points[i]
        rise = (self.density[i + 1] - self.density[i]) / (self.points[i + 1] - self.points[i])
        return np.asarray(self._below[i] + step * (self.density[i] + step * rise / 2))

    def sf(self, x: Array) -> Array:
        """The complement, and nothing at all beyond the last point."""
        return np.where(x < self.points[-1], self._below[-1] - self.cdf(x), 0.0)
