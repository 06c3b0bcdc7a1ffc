"""What leaves the device: a noisy signal, and how many results it asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange
from askew.lattice import COORDINATE_LIMIT, Lattice
from askew.randomized_response import RandomizedResponse

Mechanism = Lattice | RandomizedResponse


@dataclass(frozen=True)
class Signal:
    """A noisy profile: the only private-derived thing that leaves the device.

    values: the coordinates in lattice steps, or one bucket. Raises OutOfRange for coordinates
    beyond 32-bit signed integers, or anything but one bucket of the response.
    """

    space_version: str
    mechanism: Mechanism
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if isinstance(self.mechanism, RandomizedResponse):
            if len(self.values) != 1 or not 0 <= self.values[0] < self.mechanism.buckets:
                raise OutOfRange("a bucket", f"one number below {self.mechanism.buckets}")
        elif not self.values or any(abs(z) > COORDINATE_LIMIT for z in self.values):
            raise OutOfRange("a signal coordinate", f"at most {COORDINATE_LIMIT} in size")

    def check(self, dimension: int, n_buckets: int) -> None:
        """Raises DimensionMismatch or OutOfRange unless it fits a space of these public sizes."""
        if isinstance(self.mechanism, Lattice):
            if len(self.values) != dimension:
                raise DimensionMismatch(len(self.values), dimension)
        elif self.mechanism.buckets != n_buckets:
            raise OutOfRange("the number of buckets", f"the feature space's, {n_buckets}")

    @property
    def lattice(self) -> Lattice:
        """The lattice of the coordinates. Raises OutOfRange for another mechanism."""
        if not isinstance(self.mechanism, Lattice):
            raise OutOfRange("the mechanism of this signal", "a lattice")
        return self.mechanism

    def point(self) -> NDArray[np.float64]:
        """The coordinates as a point, (d,). Raises OutOfRange for another mechanism."""
        return np.array(self.values, dtype=np.float64) * self.lattice.step


@dataclass(frozen=True)
class Query:
    """One question: a signal, and k, a public setting of the device."""

    signal: Signal
    k: int
