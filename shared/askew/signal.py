"""What leaves the device: a noisy signal, and how many results it asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange
from askew.lattice import COORDINATE_LIMIT, Lattice


@dataclass(frozen=True)
class Signal:
    """A noisy profile: the only private-derived thing that leaves the device.

    coordinates are in lattice steps. Raises OutOfRange beyond 32-bit signed integers.
    """

    space_version: str
    lattice: Lattice
    coordinates: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.coordinates or any(abs(z) > COORDINATE_LIMIT for z in self.coordinates):
            raise OutOfRange("a signal coordinate", f"at most {COORDINATE_LIMIT} in size")

    def vector(self, dimension: int) -> NDArray[np.float64]:
        """The signal as a point of the feature space, (d,). Raises DimensionMismatch."""
        if len(self.coordinates) != dimension:
            raise DimensionMismatch(len(self.coordinates), dimension)
        return np.array(self.coordinates, dtype=np.float64) * self.lattice.step


@dataclass(frozen=True)
class Query:
    """One question: a signal, and k, a public setting of the device."""

    signal: Signal
    k: int
