"""Noise on the line that is not log-concave: its optimal offsets may be asymmetric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.answer import check_positive, frozen
from askew.placement.noise import LineNoise

Array = NDArray[np.float64]


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
