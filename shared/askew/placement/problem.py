"""The question and the answer: a noise law, a disutility and k; offsets and their cost.

A signal s = u + X leaves the device; the server answers with results at s + a_1, ..., s + a_k.
The person takes the nearest, so the expected cost is E h(min_i |X - a_i|), the same for every u.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.privacy import Metric


@dataclass(frozen=True)
class Laplace:
    """Independent noise of density epsilon / 2 * exp(-epsilon |x|) on each of `dimension` axes.

    epsilon: 1 / unit of distance. Raises ParameterError unless positive and finite.
    """

    epsilon: float
    dimension: int = 1
    metric: Metric = "l1"

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and isfinite(self.epsilon)):
            raise ParameterError("epsilon", self.epsilon, "positive and finite")
        if self.dimension < 1:
            raise ParameterError("dimension", self.dimension, "at least 1")
        if self.metric != "l1":
            raise ParameterError("metric", self.metric, '"l1"')


@dataclass(frozen=True)
class Identity:
    """h(t) = t: a result at distance t costs t."""


@dataclass(frozen=True, eq=False)
class Placement:
    """The optimal offsets and what they cost.

    offsets: (k,) on the line, (n, d) beyond it, n <= k points. cost: expected distance from the
    person to the nearest result, in units of distance. method: how the offsets were found.
    """

    offsets: NDArray[np.float64] = field(repr=False)
    cost: float
    method: str

    def __post_init__(self) -> None:
        self.offsets.setflags(write=False)


def check_k(k: int) -> None:
    """Raises ParameterError unless k is an integer of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError("k", k, "an integer of at least 1")
