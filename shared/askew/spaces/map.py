"""Positions on Earth, the region whose plane carries a promise, and the map that a server names.

A `Position` may be a person's, so it shows nothing of itself. An `Area` says where something lies
and carries no promise. A `Region` is an area with the plane of its distances:

    x = 111.31 c km a degree of longitude from the west edge,   y = 110.57 km a degree of latitude

c = the cosine of the apex, a latitude that no shortest path between two points of the region
passes, atan(tan(poleward edge) / cos(1.004 width / 2)), rounded down to a multiple of 1/65536;
111.31 and 110.57 are WGS84's least lengths of a degree, rounded down. So the straight-line distance
of two points in the plane never exceeds the length of the shortest path between them on the ground,
and a promise per kilometer of the plane is one per kilometer on the ground.

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

`MapNoise` is the noise of a place: the hexagonal lattice of a region's plane. Its signal is a
position in microdegrees. It names no region, no space and no server: projecting it, clamping it and
looking a collection up are post-processing, so one signal serves everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import atan, cos, degrees, floor, isfinite, radians, tan
from typing import Final

from askew.errors import OutOfRange, ParameterError, PlaceError
from askew.limits import VERSION_BYTES
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.randomness import KERNEL, RandomBits
from askew.spaces.axes import AxisSpace

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
        """Return the position of integers of 1e-6 degrees. Raises PlaceError where that is none."""
        return cls(latitude / MICRODEGREES, longitude / MICRODEGREES)


def microdegrees(latitude: Fraction, longitude: Fraction) -> tuple[int, int]:
    """Return latitude and longitude in degrees as the nearest integers of 1e-6 degrees: the
    latitude clamped at the poles, the longitude wrapped to -180000000 or more and below 180000000.
    """
    north = max(-90 * MICRODEGREES, min(90 * MICRODEGREES, round(latitude * MICRODEGREES)))
    turn = 360 * MICRODEGREES
    return north, (round(longitude * MICRODEGREES) + turn // 2) % turn - turn // 2


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
        """Return True if the area has every longitude: west -180, east 180."""
        return self.east - self.west == 360

    @property
    def width(self) -> Fraction:
        """Return the degrees of longitude eastward from the west to the east edge, exactly."""
        if self.goes_around:
            return Fraction(360)
        return (Fraction(self.east) - Fraction(self.west)) % 360

    @property
    def words(self) -> str:
        """Return south/west/north/east in degrees, such as 47/5.5/55/15.25, to the last digit."""
        edges = (self.south, self.west, self.north, self.east)
        return "/".join([repr(float(edge)).removesuffix(".0") for edge in edges])

    def contains(self, position: Position) -> bool:
        """Return True if a position lies in the area or on its edges."""
        return self._has(position.latitude, position.longitude)

    def _has(self, latitude: float, longitude: float) -> bool:
        inside = (Fraction(longitude) - Fraction(self.west)) % 360 <= self.width
        return inside and self.south <= latitude <= self.north


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

    A public setting. name: what a message calls it, in place of its edges. Raises ParameterError as
    an area does, and for one that reaches too near a pole.
    """

    name: str = field(default="", compare=False, kw_only=True)

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
        """Return the degrees of latitude, at least 0, that no shortest path of two points of the
        region passes, north or south; 90 where the region is too wide for a plane.
        """
        half = _BULGE * float(self.width) / 2
        if half > _MAX_HALF:
            return 90.0
        poleward = radians(max(abs(self.south), abs(self.north)))
        return degrees(atan(tan(poleward) / cos(radians(half))))

    @cached_property
    def cosine(self) -> int:
        """Return c, the cosine of the apex, in parts of 1/65536, rounded down."""
        return floor(cos(radians(self.apex)) * (1 - _SLACK) * COSINE_PARTS)

    def kilometers(self, position: Position) -> tuple[Fraction, Fraction]:
        """Return the exact kilometers (east of the west edge, north of the south edge) of a point.

        Raises PlaceError for a position outside the region, without naming the position.

        Longitudes count from the west edge, so no two near points are torn apart at 180 degrees.
        """
        latitude, longitude = Fraction(position.latitude), Fraction(position.longitude)
        east = (longitude - Fraction(self.west)) % 360
        if not (self.south <= latitude <= self.north and east <= self.width):
            swapped = self._has(position.longitude, position.latitude)
            hint = "; are latitude and longitude swapped?" if swapped else ""
            raise PlaceError(
                f"the position lies outside the region {self.name or self.words}: `region` sets "
                f"another, as in `--region FR`{hint}"
            )
        c = Fraction(self.cosine, COSINE_PARTS)
        north = latitude - Fraction(self.south)
        return KM_OF_LONGITUDE * c * east, KM_OF_LATITUDE * north

    def degrees(self, x: Fraction, y: Fraction) -> tuple[Fraction, Fraction]:
        """Return the exact latitude and longitude in degrees of a point of the plane in km.

        The point may lie outside the region, and a longitude east of 180 is not wrapped.
        """
        c = Fraction(self.cosine, COSINE_PARTS)
        return Fraction(self.south) + y / KM_OF_LATITUDE, Fraction(self.west) + x / (
            KM_OF_LONGITUDE * c
        )


@dataclass(frozen=True)
class MapNoise:
    """A hexagonal lattice, and c of the plane that it lies in, in parts of 1/65536. Public.

    Raises ParameterError for a cosine that no region has.
    """

    lattice: HexagonalLattice
    cosine: int

    def __post_init__(self) -> None:
        if not LEAST_COSINE <= self.cosine < COSINE_PARTS:
            limit = f"from {LEAST_COSINE} to {COSINE_PARTS - 1}"
            raise ParameterError("cosine", self.cosine, limit)

    @classmethod
    def in_region(cls, epsilon: Fraction, region: Region) -> MapNoise:
        """Return noise of at most this epsilon, by under 0.1 %, per straight-line kilometer in a
        region's plane. Raises ParameterError for one outside [1/1024, 1024], and for a float.
        """
        return cls(HexagonalLattice.for_epsilon(epsilon), region.cosine)

    @property
    def epsilon(self) -> Fraction:
        """Return the lattice's exact epsilon per straight-line kilometer."""
        return self.lattice.epsilon

    def perturb(
        self, position: Position, region: Region, bits: RandomBits = KERNEL
    ) -> tuple[int, int]:
        """Draw the noisy latitude and longitude in microdegrees; the only thing to send.

        Never redrawn, wherever it lands. Raises PlaceError for a position outside the region, and
        ParameterError for a region with another plane.
        """
        if region.cosine != self.cosine:
            raise ParameterError("region", region.words, "the one of this noise's plane")
        noisy = self.lattice.perturb(region.kilometers(position), bits)
        return microdegrees(*region.degrees(*self.lattice.point(*noisy)))


@dataclass(frozen=True)
class MapSpace:
    """An area, up to the whole Earth. No signal rests on it: it says where the items are, and
    nothing about noise.
    """

    area: Area

    @property
    def dimension(self) -> int:
        """Return 2, for latitude and longitude."""
        return 2

    @cached_property
    def version(self) -> str:
        """Return 32 hexadecimal digits: a digest of the area."""
        a = self.area
        fields = ["map", *map(float, (a.south, a.west, a.north, a.east))]
        return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[: 2 * VERSION_BYTES]

    def check_item(self, coordinates: Sequence[float]) -> None:
        """Raise OutOfRange unless these are a latitude and a longitude, in degrees, in the area or
        not.
        """
        match coordinates:
            case (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180:
                return
        raise OutOfRange("the coordinates of an item", "a latitude and a longitude in degrees")


MetricSpace = MapSpace | AxisSpace
