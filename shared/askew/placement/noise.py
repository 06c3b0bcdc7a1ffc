"""The noise law whose offsets are placed: what the device adds to its profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from askew.errors import ParameterError
from askew.placement.problem import check_count, check_positive

Norm = Literal["l1", "l2"]


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
