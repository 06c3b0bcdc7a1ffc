"""What leaves the device: a noisy signal, and how many results of what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from askew.dp.privacy import ANY_SPACE
from askew.errors import DimensionMismatch, OutOfRange
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.spaces.map import MICRODEGREES, MapNoise, Position

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Mechanism = LatticeLaplace | MapNoise


@dataclass(frozen=True)
class Signal:
    """A noisy profile: the only private-derived thing that leaves the device.

    values: the coordinates in lattice steps, or a latitude and a longitude in microdegrees; the
    latter belong to no space. Raises OutOfRange for coordinates beyond 32-bit signed integers, or
    a position that is not on Earth.
    """

    space_version: str
    mechanism: Mechanism
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if isinstance(self.mechanism, MapNoise):
            z = [abs(value) / MICRODEGREES for value in self.values]  # degrees
            if len(z) != 2 or z[0] > 90 or z[1] > 180:
                raise OutOfRange("a noisy position", "a latitude and a longitude in microdegrees")
            if self.space_version != ANY_SPACE:
                raise OutOfRange("the space of a position", "none: it is no server's")
        elif not self.values or any(abs(z) > COORDINATE_LIMIT for z in self.values):
            raise OutOfRange("a signal coordinate", f"at most {COORDINATE_LIMIT} in size")

    def check(self, dimension: int) -> None:
        """Raise DimensionMismatch unless the signal has this dimension, OutOfRange for a map's."""
        if isinstance(self.mechanism, MapNoise):
            raise OutOfRange("the mechanism of this signal", "one of this space: it is a map's")
        if len(self.values) != dimension:
            raise DimensionMismatch(len(self.values), dimension)

    @property
    def lattice(self) -> LatticeLaplace:
        """Return the lattice of the coordinates. Raises OutOfRange for another mechanism."""
        if not isinstance(self.mechanism, LatticeLaplace):
            raise OutOfRange("the mechanism of this signal", "a lattice")
        return self.mechanism

    @property
    def map_noise(self) -> MapNoise:
        """Return the noise of a place. Raises OutOfRange for another mechanism."""
        if not isinstance(self.mechanism, MapNoise):
            raise OutOfRange("the mechanism of this signal", "a map's")
        return self.mechanism

    def position(self) -> Position:
        """Return the noisy position that was sent. Raises OutOfRange for another mechanism."""
        self.map_noise  # noqa: B018  # a check
        return Position.of_microdegrees(*self.values)

    def point(self) -> NDArray[np.float64]:
        """Return values * step, the noisy point, (d,). Raises OutOfRange for a map's signal."""
        import numpy as np

        return np.array(self.values, dtype=np.float64) * self.lattice.step


@dataclass(frozen=True)
class Query:
    """One question: a signal, k, a public setting of the device, and what is asked.

    collection: the number of the one that the person chose, where a server has some. catalog_date:
    the Monday of the file or card that the device holds; 0 on a map where it holds no rows.
    holds_rows: it needs no more of an item than its id and live values.
    """

    signal: Signal
    k: int
    collection: int | None = None
    catalog_date: int = 0
    holds_rows: bool = False
