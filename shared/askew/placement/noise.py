"""Noise laws: what the device adds to its profile.

| class | density | log-concave |
|---|---|---|
| Laplace(epsilon, dimension, metric) | prop. to exp(-epsilon norm(x)) | yes |
| Gaussian(sigma) | normal, standard deviation sigma | yes |
| Logistic(scale) | logistic | yes |
| Uniform(half_width) | constant on [-half_width, half_width] | yes |
| Symmetric(pdf, cdf, ppf) | any symmetric one that you say is log-concave | yes |
| mixtures.LaplaceMixture(weights, epsilons) | sum_i weights_i Laplace(epsilons_i) | no |
| mixtures.OnGrid(points, density) | piecewise linear through the given values | no |

Only Laplace noise has an epsilon. A Gaussian is metric-private in the Renyi sense (order-alpha
divergence alpha |u - u'|**2 / (2 sigma**2)) and for no epsilon, since the slope of its log-density
has no bound; a uniform law is private for none at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.answer import check_count, check_positive

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
