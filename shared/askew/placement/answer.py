"""The answer to a placement problem: k offsets, their cost, and why to believe it.

A signal s = u + X leaves the device; the server answers with results at s + a_1, ..., s + a_k.
The person takes the nearest, so the expected cost is E h(min_i ||X - a_i||), the same for every u.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError


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
    standard_error: of the cost where it was measured on samples, else 0.
    """

    offsets: NDArray[np.float64] = field(repr=False)
    cost: float
    method: str
    certificate: Certificate
    standard_error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(self.offsets))
        object.__setattr__(self, "cost", float(self.cost))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies and pickles are as immutable as the original; arrays alone would not be."""
        self.__dict__.update(state)
        self.__post_init__()


def frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """A copy that nothing can make writable again."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    return np.frombuffer(array.tobytes(), dtype=np.float64).reshape(array.shape)


def check_k(k: int) -> None:
    """Raises ParameterError unless k is an integer of at least 1."""
    check_count("k", k)


def check_count(name: str, value: int) -> None:
    """Raises ParameterError unless value is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(name, value, "an integer of at least 1")


def check_positive(name: str, value: float) -> None:
    """Raises ParameterError unless value is a positive and finite number."""
    number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, bool) or not number or not (value > 0 and isfinite(value)):
        raise ParameterError(name, value, "positive and finite")
