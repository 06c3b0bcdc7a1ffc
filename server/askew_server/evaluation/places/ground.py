"""Where questions are asked: a space, people in it, items in it, and what a server knows of them.

A map and an axis are two grounds; whoever compares rules on them does not ask which one it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from askew.metric.map_space import MetricSpace
from askew.signal import Signal
from askew_server.collections.model import Towns

Array = NDArray[np.float64]
Crowd = Literal["all", "rural"]
Known = Literal["towns", "half of them"]
CROWDS: Final[tuple[Crowd, ...]] = ("all", "rural")


class Ground(Protocol):
    """crowds: where people are, (n, d) as a collection's coordinates. densities: what a rule may
    know of where people are: fewer towns than people come from, and a random half of those.
    """

    @property
    def name(self) -> str:
        """map, line or ring."""

    @property
    def space(self) -> MetricSpace:
        """What a card would say."""

    @property
    def seed(self) -> int:
        """Of everything in it."""

    @property
    def crowds(self) -> Mapping[Crowd, Array]:
        """People."""

    @property
    def densities(self) -> Mapping[Known, Towns]:
        """Towns that a server may know."""

    def items(self, n: int) -> Array:
        """Where n SIMULATED items are, (n, d)."""

    def signals(self, epsilon: Fraction, crowd: Crowd, draws: int) -> list[Signal]:
        """`draws` signals of each person, simulated; those of one person together."""
