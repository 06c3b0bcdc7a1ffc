"""A part of the Earth between two latitudes and two longitudes, with the plane of its distances.

    x = 111.31 c km a degree of longitude from the west edge,   y = 110.57 km a degree of latitude

c = the cosine of the highest latitude that a shortest path between two points of the region
reaches, atan(tan(poleward edge) / cos(1.004 width / 2)), rounded down to a multiple of 1/65536;
111.31 and 110.57 are WGS84's least lengths of a degree, rounded down. So the crow's distance of two
points in the plane never exceeds the length of the shortest path between them on the ground, and a
promise per kilometer of the plane is one per kilometer on the ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import atan, cos, degrees, floor, hypot, radians, tan
from typing import Final

from askew.errors import ParameterError, PlaceError
from askew.metric.position import Position

KM_OF_LONGITUDE: Final = Fraction(11131, 100)  # at the equator, a degree
KM_OF_LATITUDE: Final = Fraction(11057, 100)
COSINE_PARTS: Final = 65536
MAX_APEX: Final = 75.0  # degrees of latitude
_BULGE = 1.004  # how much wider than on a sphere a path on the ellipsoid counts
_SLACK = 1e-9  # of the cosine, for the floats that it is computed in


@dataclass(frozen=True)
class Region:
    """South, west, north and east edges in degrees; west > east where it crosses 180 degrees.

    A public setting. Raises ParameterError for edges out of range or in the wrong order, and for a
    region that reaches too near a pole.
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
        if not (-180 <= self.west <= 180 and -180 <= self.east <= 180) or self.width == 0:
            raise ParameterError("region", edges, "between longitudes from -180 to 180")
        if not self.apex <= MAX_APEX:
            limit = (
                f"one whose shortest paths stay below {MAX_APEX:g} degrees of latitude: "
                "this one is too wide, or too near a pole"
            )
            raise ParameterError("region", edges, limit)

    @property
    def width(self) -> Fraction:
        """Degrees of longitude from the west edge to the east edge."""
        return (Fraction(self.east) - Fraction(self.west)) % 360

    @property
    def apex(self) -> float:
        """The highest latitude, north or south, that a shortest path within it reaches."""
        half = radians(_BULGE * float(self.width) / 2)
        if half >= radians(90):
            return 90.0
        poleward = radians(max(abs(self.south), abs(self.north)))
        return degrees(atan(tan(poleward) / cos(half)))

    @cached_property
    def cosine(self) -> int:
        """c in parts of 1/65536."""
        return floor(cos(radians(self.apex)) * (1 - _SLACK) * COSINE_PARTS)

    def kilometers(self, position: Position) -> tuple[Fraction, Fraction]:
        """The position in the plane, exact. Raises PlaceError for one outside, without naming it.

        Longitudes count from the west edge, so no two near points are torn apart at 180 degrees.
        """
        latitude, longitude = Fraction(position.latitude), Fraction(position.longitude)
        east = (longitude - Fraction(self.west)) % 360
        if not (self.south <= latitude <= self.north and east <= self.width):
            swapped = self._has(position.longitude, position.latitude)
            hint = "; are latitude and longitude swapped?" if swapped else ""
            raise PlaceError(f"the position lies outside the region {self.words}{hint}")
        c = Fraction(self.cosine, COSINE_PARTS)
        north = latitude - Fraction(self.south)
        return KM_OF_LONGITUDE * c * east, KM_OF_LATITUDE * north

    def degrees(self, x: Fraction, y: Fraction) -> tuple[Fraction, Fraction]:
        """The latitude and the longitude of a point of the plane, which may lie outside."""
        c = Fraction(self.cosine, COSINE_PARTS)
        return Fraction(self.south) + y / KM_OF_LATITUDE, Fraction(self.west) + x / (
            KM_OF_LONGITUDE * c
        )

    @property
    def words(self) -> str:
        """The edges, as a person would type them."""
        return f"{self.south:g}/{self.west:g}/{self.north:g}/{self.east:g}"

    def contains(self, position: Position) -> bool:
        """Whether a position lies in it."""
        return self._has(position.latitude, position.longitude)

    def _has(self, latitude: float, longitude: float) -> bool:
        inside = (Fraction(longitude) - Fraction(self.west)) % 360 <= self.width
        return inside and self.south <= latitude <= self.north


def crow(a: Position, b: Position, cosine: int) -> float:
    """The crow's distance in kilometers in a plane with this cosine, the short way around."""
    east = (b.longitude - a.longitude + 180) % 360 - 180
    x = float(KM_OF_LONGITUDE) * cosine / COSINE_PARTS * east
    return hypot(x, float(KM_OF_LATITUDE) * (b.latitude - a.latitude))
