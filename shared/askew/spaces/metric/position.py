"""A position on Earth, in degrees. It may be a person's, so it shows nothing of itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from typing import Final

from askew.errors import PlaceError

MICRODEGREES: Final = 1_000_000


@dataclass(frozen=True)
class Position:
    """Latitude and longitude in degrees, north and east positive. Raises PlaceError."""

    latitude: float = field(repr=False)
    longitude: float = field(repr=False)

    def __post_init__(self) -> None:
        try:
            finite = isfinite(self.latitude) and isfinite(self.longitude)
        except TypeError:
            finite = False
        if not finite:
            raise PlaceError("a position must be two finite numbers of degrees")
        if not (-90 <= self.latitude <= 90 and -180 <= self.longitude <= 180):
            hint = "" if abs(self.latitude) <= 180 else "; both are degrees"
            if abs(self.latitude) <= 180 and abs(self.longitude) <= 90:
                hint = "; are they swapped? The latitude comes first"
            limit = "a latitude from -90 to 90 and a longitude from -180 to 180"
            raise PlaceError(f"a position must be {limit}{hint}")

    @classmethod
    def of_microdegrees(cls, latitude: int, longitude: int) -> Position:
        """The position that two integers on the wire name."""
        return cls(latitude / MICRODEGREES, longitude / MICRODEGREES)


def microdegrees(latitude: Fraction, longitude: Fraction) -> tuple[int, int]:
    """The nearest integers that go on the wire: clamped at the poles, wrapped at 180 degrees."""
    north = max(-90 * MICRODEGREES, min(90 * MICRODEGREES, round(latitude * MICRODEGREES)))
    turn = 360 * MICRODEGREES
    return north, (round(longitude * MICRODEGREES) + turn // 2) % turn - turn // 2
