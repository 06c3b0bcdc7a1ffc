"""An area with the plane of its distances.

    x = 111.31 c km a degree of longitude from the west edge,   y = 110.57 km a degree of latitude

c = the cosine of the apex, a latitude that no shortest path between two points of the region
passes, atan(tan(poleward edge) / cos(1.004 width / 2)), rounded down to a multiple of 1/65536;
111.31 and 110.57 are WGS84's least lengths of a degree, rounded down. So the crow's distance of two
points in the plane never exceeds the length of the shortest path between them on the ground, and a
promise per kilometer of the plane is one per kilometer on the ground.

Proof. With reduced latitudes, tan b = (1 - f) tan latitude, a shortest path is a great circle of
the auxiliary sphere, and its longitude there grows at most 1 / (1 - f) < 1.004 times as much as on
the ground (Bessel 1825), so by at most w = 1.004 width < 180 degrees. A great circle of the apex B
has tan b = tan B cos(longitude from the apex): between two points at latitudes of at most b that
lie at most w apart it reaches tan B <= tan b / cos(w / 2), and 1 - f cancels. On the ground a
degree of longitude at a latitude of at most the apex is at least 111.3195 c km and one of latitude
at least 110.574 km (M and N of the ellipsoid are least at the equator), so the path is at least as
long as its picture in the plane, which is at least as long as the straight line. Floats: w / 2 is
at most 89 degrees and the apex at most 75, where the formulas magnify a rounding error less than
100 times, so c is right within 1e-12 of itself, and 1e-9 is taken off before it is rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import atan, cos, degrees, floor, hypot, radians, tan
from typing import Final

from askew.errors import ParameterError, PlaceError
from askew.spaces.metric.area import Area
from askew.spaces.metric.position import Position

KM_OF_LONGITUDE: Final = Fraction(11131, 100)  # at the equator, a degree
KM_OF_LATITUDE: Final = Fraction(11057, 100)
COSINE_PARTS: Final = 65536
MAX_APEX: Final = 75.0  # degrees of latitude
LEAST_COSINE: Final = 16961  # of an apex of 75 degrees, in parts of 1/65536
_BULGE = 1.004  # how much wider than on a sphere a path on the ellipsoid counts
_SLACK = 1e-9  # of the cosine, for the floats that it is computed in
_MAX_HALF = 89.0  # degrees of longitude, after the bulge


@dataclass(frozen=True)
class Region(Area):
    """An area small enough for a plane.

    A public setting. Raises ParameterError as an area does, and for one that reaches too near a
    pole.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.apex <= MAX_APEX:
            limit = (
                f"one whose shortest paths stay below {MAX_APEX:g} degrees of latitude: "
                "this one is too wide, or too near a pole"
            )
            edges = (self.south, self.west, self.north, self.east)
            raise ParameterError("region", edges, limit)

    @property
    def apex(self) -> float:
        """A latitude, north or south, that no shortest path between two of its points passes."""
        half = _BULGE * float(self.width) / 2
        if half > _MAX_HALF:
            return 90.0
        poleward = radians(max(abs(self.south), abs(self.north)))
        return degrees(atan(tan(poleward) / cos(radians(half))))

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
            raise PlaceError(
                f"the position lies outside the region {self.words}: `region` sets another{hint}"
            )
        c = Fraction(self.cosine, COSINE_PARTS)
        north = latitude - Fraction(self.south)
        return KM_OF_LONGITUDE * c * east, KM_OF_LATITUDE * north

    def degrees(self, x: Fraction, y: Fraction) -> tuple[Fraction, Fraction]:
        """The latitude and the longitude of a point of the plane, which may lie outside."""
        c = Fraction(self.cosine, COSINE_PARTS)
        return Fraction(self.south) + y / KM_OF_LATITUDE, Fraction(self.west) + x / (
            KM_OF_LONGITUDE * c
        )


def crow(a: Position, b: Position, cosine: int) -> float:
    """The crow's distance in kilometers in a plane with this cosine, the short way around."""
    east = (b.longitude - a.longitude + 180) % 360 - 180
    x = float(KM_OF_LONGITUDE) * cosine / COSINE_PARTS * east
    return hypot(x, float(KM_OF_LATITUDE) * (b.latitude - a.latitude))
