"""Any increasing callable as a disutility."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.disutility import Disutility

Array = NDArray[np.float64]


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
        with np.errstate(invalid="ignore"):
            falls = np.diff(values) < -1e-12 * np.abs(values[1:])
        if np.isnan(values).any() or falls.any() or not isfinite(values[0]):
            raise ParameterError("disutility", self.function, "an increasing function of t >= 0")
        object.__setattr__(self, "at_zero", float(values[0]))

    def __call__(self, t: Array) -> Array:
        """function(unit * t) - function(0); where it overflows, infinity."""
        with np.errstate(invalid="ignore"):
            return self._evaluate(t) - self.at_zero

    def slope(self, t: Array) -> Array:
        """A central difference: good enough to start from, not to end with."""
        step = 1e-5 * np.maximum(t, 1e-300)
        return np.asarray((self(t + step) - self(t - step)) / (2 * step))

    def in_units_of(self, unit: float) -> tuple[float, Disutility]:
        """The same function read in another unit."""
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


def disutility_of(h: Disutility | Callable[..., Any]) -> Disutility:
    """A disutility as it is, a callable as Increasing. Raises ParameterError for anything else."""
    if isinstance(h, Disutility):
        return h
    if callable(h):
        return Increasing(h)
    raise ParameterError("disutility", h, "a disutility or an increasing callable")
