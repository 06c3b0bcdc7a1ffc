"""A part of the Earth between two latitudes and two longitudes, up to all of it.

It says where something lies and carries no promise: the plane of a promise is a `Region`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from askew.errors import ParameterError
from askew.spaces.metric.position import Position


@dataclass(frozen=True)
class Area:
    """South, west, north and east edges in degrees; west > east where it crosses 180 degrees, and
    -180 to 180 is all the way around.

    Public. Raises ParameterError for edges out of range or in the wrong order.
    """

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        edges = (self.south, self.west, self.north, self.east)
        # Written so that NaN is refused too.
        if not (-90 <= self.south < self.north <= 90):
            raise ParameterError("region", edges, "south, west, north, east with south < north")
        if not (-180 <= self.west <= 180 and -180 <= self.east <= 180):
            raise ParameterError("region", edges, "between longitudes from -180 to 180")
        if self.width == 0:
            limit = "between two meridians: this one's west and east edges are the same"
            raise ParameterError("region", edges, limit)

    @property
    def goes_around(self) -> bool:
        """Whether it has every longitude."""
        return self.east - self.west == 360

    @property
    def width(self) -> Fraction:
        """Degrees of longitude from the west edge to the east edge."""
        if self.goes_around:
            return Fraction(360)
        return (Fraction(self.east) - Fraction(self.west)) % 360

    @property
    def words(self) -> str:
        """The edges, as a person would type them, to the last digit."""
        edges = (self.south, self.west, self.north, self.east)
        return "/".join([repr(float(edge)).removesuffix(".0") for edge in edges])

    def contains(self, position: Position) -> bool:
        """Whether a position lies in it."""
        return self._has(position.latitude, position.longitude)

    def _has(self, latitude: float, longitude: float) -> bool:
        inside = (Fraction(longitude) - Fraction(self.west)) % 360 <= self.width
        return inside and self.south <= latitude <= self.north
