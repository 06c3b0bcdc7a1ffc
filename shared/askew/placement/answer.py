"""The answer to a placement problem: k offsets, their cost, and why to believe it.

A signal s = u + X leaves the device; the server answers with results at s + a_1, ..., s + a_k.
The person takes the nearest, so the expected cost is E h(min_i ||X - a_i||), the same for every u.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
        offsets = np.array(self.offsets, dtype=np.float64)
        offsets.setflags(write=False)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "cost", float(self.cost))


def check_k(k: int) -> None:
    """Raises ParameterError unless k is an integer of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError("k", k, "an integer of at least 1")
