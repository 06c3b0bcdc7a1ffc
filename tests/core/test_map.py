"""Only a region has a plane, in which no two places are farther apart than on the ground; what
leaves of a position is one draw, coarse, never repeated, in microdegrees.
"""

from __future__ import annotations

from fractions import Fraction
from math import acos, degrees, hypot, nan, radians, tan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from recited import Recited
from vincenty import geodesic

from askew.dp.privacy import ANY_SPACE
from askew.errors import OutOfRange, ParameterError, PlaceError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.spaces.map import (
    COSINE_PARTS,
    MICRODEGREES,
    Area,
    MapNoise,
    Position,
    Region,
    microdegrees,
)

EARTH = (-90.0, -180.0, 90.0, 180.0)


@pytest.mark.parametrize(
    ("edges", "width"), [(EARTH, 360), ((-90, 170, 90, -170), 20), ((-1, 10, 1, 5), 355)]
)
def test_an_area_may_be_any_part_of_the_earth_and_no_region(
    edges: tuple[float, float, float, float], width: int
) -> None:
    """Planted bug: the width of the whole Earth is that of nothing."""
    assert Area(*edges).width == width
    with pytest.raises(ParameterError, match="near a pole"):
        Region(*edges)


@pytest.mark.parametrize("longitude", [-180.0, 0.0, 180.0])
def test_the_whole_earth_has_every_position(longitude: float) -> None:
    assert Area(*EARTH).contains(Position(-90.0, longitude))
    assert not Area(-80, -179, 80, 179).contains(Position(0.0, 180.0))


Pair = tuple[float, float]

GERMANY, FIJI = Region(47.2, 5.8, 55.1, 15.1), Region(-20.7, 176.8, -12.4, -178.2)
NORWAY, CHILE = Region(57.9, 4.5, 71.2, 31.1), Region(-56.0, -75.7, -17.5, -66.4)
COSINES = [(GERMANY, 37412), (NORWAY, 20606), (CHILE, 36563), (FIJI, 61297)]
# Geodesics in kilometers, computed by GeographicLib.
GEODESICS: tuple[tuple[Region, Pair, Pair, float], ...] = (
    (GERMANY, (55.1, 10.767087), (55.1, 14.625294), 246.256849),
    (GERMANY, (47.530991, 11.7121), (48.876912, 8.416069), 287.051617),
    (NORWAY, (71.2, 5.27086), (71.2, 8.146483), 103.462499),
    (CHILE, (-56.0, -67.854538), (-56.0, -71.037042), 198.54769),
    (CHILE, (-24.931774, -73.553185), (-23.389625, -68.411362), 549.69496),
    (FIJI, (-20.7, -178.6861), (-20.7, 178.724125), 269.791421),
)


def in_the_plane(region: Region, a: Pair, b: Pair) -> float:
    (ax, ay), (bx, by) = region.kilometers(Position(*a)), region.kilometers(Position(*b))
    return hypot(float(ax - bx), float(ay - by))


@pytest.mark.parametrize(("region", "a", "b", "kilometers"), GEODESICS)
def test_the_judge_of_these_tests_agrees_with_another(
    region: Region, a: Pair, b: Pair, kilometers: float
) -> None:
    assert geodesic(a, b) == pytest.approx(kilometers, abs=2e-4)  # of six digits
    assert in_the_plane(region, a, b) <= kilometers


@pytest.mark.parametrize(("region", "cosine"), COSINES)
def test_a_region_has_the_cosine_of_its_apex(region: Region, cosine: int) -> None:
    """Planted bug: the cosine of the region's edge, above which shortest paths bulge."""
    assert region.cosine == cosine


@st.composite
def regions(draw: st.DrawFn) -> Region:
    """Any region that is not refused, up to the widest and the nearest to a pole."""
    poleward = draw(st.floats(0.01, 74.9))
    widest = min(2 * degrees(acos(tan(radians(poleward)) / tan(radians(75)))) / 1.004, 177.0)
    width = draw(st.floats(0.01, 1)) * widest * 0.9999
    other = poleward - draw(st.floats(0.01, 1)) * 2 * poleward
    south, north = (other, poleward) if draw(st.booleans()) else (-poleward, -other)
    west = draw(st.floats(-180, 180))
    return Region(south, west, north, (west + width + 180) % 360 - 180)


UNIT = st.floats(0, 1)


def point_in(region: Region, up: float, along: float) -> Pair:
    latitude = min(region.south + up * (region.north - region.south), region.north)
    inside = 1e-9 + along * (1 - 2e-9)  # whatever the floats do at 180 degrees
    longitude = (region.west + inside * float(region.width) + 180) % 360 - 180
    return latitude, longitude


@given(regions(), UNIT, UNIT, UNIT, UNIT)
@example(FIJI, 0.0, 0.0, 0.0, 1.0)
@example(Region(-0.01, -88, 0.01, 88), 0.0, 0.0, 0.0, 1.0)
@example(Region(70, 0, 74.5, 20), 1.0, 0.0, 1.0, 1.0)
def test_no_straight_line_exceeds_the_shortest_path_on_the_ground(
    region: Region, up: float, along: float, other_up: float, other_along: float
) -> None:
    """Nor between the two poleward corners, where a path bulges most. Planted bug: the cosine of
    the region's edge.
    """
    corner = 1.0 if abs(region.north) > abs(region.south) else 0.0
    for ends in (((up, along), (other_up, other_along)), ((corner, 0.0), (corner, 1.0))):
        a, b = (point_in(region, *end) for end in ends)
        assert in_the_plane(region, a, b) <= geodesic(a, b) * (1 + 1e-11) + 1e-8


@given(regions())
def test_no_rounding_of_floats_makes_a_cosine_too_large(region: Region) -> None:
    """Against twelve digits more than it is computed in, by rational tangents."""
    half = Fraction(region.width) * Fraction(1004, 2000)
    pi = Fraction(314159265358979323846264338327950288, 10**35)

    def tangent_squared(angle: Fraction) -> Fraction:
        c = cosine_of(angle * pi / 180)
        return 1 / c**2 - 1

    poleward = Fraction(max(abs(region.south), abs(region.north)))
    apex = tangent_squared(poleward) / cosine_of(half * pi / 180) ** 2
    assert Fraction(region.cosine, COSINE_PARTS) ** 2 <= 1 / (1 + apex)


def cosine_of(x: Fraction) -> Fraction:
    """To 40 digits, by its series."""
    x = x.limit_denominator(10**40)
    term, total = Fraction(1), Fraction(0)
    for n in range(30):
        total += term
        term = Fraction(round(-term * x * x / ((2 * n + 1) * (2 * n + 2)) * 10**45), 10**45)
    return total


def test_a_region_across_180_degrees_tears_no_two_places_apart() -> None:
    a, b = (-17.0, 179.999), (-17.0, -179.999)
    assert in_the_plane(FIJI, a, b) < geodesic(a, b) < 0.22
    assert all(FIJI.contains(Position(-17.0, east)) for east in (a[1], b[1], -178.25))
    assert not any(FIJI.contains(Position(-17.0, east)) for east in (0.0, 176.7, -178.15))


@given(regions(), UNIT, UNIT)
def test_a_point_of_the_plane_leads_back_to_its_position(
    region: Region, up: float, along: float
) -> None:
    latitude, longitude = point_in(region, up, along)
    there = region.degrees(*region.kilometers(Position(latitude, longitude)))
    assert microdegrees(*there) == microdegrees(Fraction(latitude), Fraction(longitude))


@pytest.mark.parametrize(
    ("longitude", "east"),
    [("-180", -180_000_000), ("180.0000004", -180_000_000), ("-180.000001", 179_999_999)],
)
def test_longitudes_are_wrapped_after_they_are_rounded(longitude: str, east: int) -> None:
    """And latitudes are clamped at the poles."""
    assert microdegrees(Fraction(91), Fraction(longitude)) == (90_000_000, east)
    assert microdegrees(Fraction(-1000), Fraction(longitude)) == (-90_000_000, east)


@pytest.mark.parametrize(
    ("edges", "why"),
    [
        ((nan, 0, 50, 10), "with south < north"),
        ((-91, 0, 50, 10), "with south < north"),
        ((40, nan, 50, 10), "longitudes from -180 to 180"),
        ((40, 0, 50, 181), "longitudes from -180 to 180"),
        ((40, 10, 50, 10), "west and east edges are the same"),
        ((-50, -180, 50, 180), "below 75 degrees of latitude: this one is too wide"),
        ((-1, 0, 1, 177.5), "below 75 degrees of latitude: this one is too wide"),
        ((60, 4, 75.1, 5), "too near a pole"),
    ],
)
def test_a_region_that_is_none_or_reaches_too_near_a_pole_is_refused(
    edges: tuple[float, float, float, float], why: str
) -> None:
    with pytest.raises(ParameterError, match=why) as caught:
        Region(*edges)
    assert caught.value.name == "region"


@given(regions())
def test_the_words_of_a_region_are_the_whole_region(region: Region) -> None:
    """Planted bug: six digits, which name another region in a small country."""
    assert Region(*map(float, region.words.split("/"))) == region


def test_a_position_shows_nothing_of_itself() -> None:
    assert repr(Position(52.52, 13.405)) == "Position()"


@pytest.mark.parametrize(
    ("position", "why"),
    [
        ((41.9028, 12.4964), r"^the position lies outside the region 47\.2/5\.8/55\.1/15\.1: "),
        ((13.405, 52.52), "swapped"),
    ],
)
def test_a_position_outside_the_region_is_refused_without_being_named(
    position: Pair, why: str
) -> None:
    with pytest.raises(PlaceError, match=why) as caught:
        GERMANY.kilometers(Position(*position))
    said = str(caught.value).replace("15.1", "")
    assert not any(digits in said for digits in ("41", "9028", "12", "4964", "13", "405", "52"))
    assert ("swapped" in said) == (why == "swapped")


@pytest.mark.parametrize(
    ("latitude", "longitude", "why"),
    [
        (52.52, nan, "two finite numbers"),
        ("north", 13.405, "two finite numbers"),
        (139.6917, 35.6895, "swapped"),  # Tokyo, longitude first
        (52520000.0, 13405000.0, "both are degrees"),
        (52.52, 193.405, "a longitude from -180 to 180"),
    ],
)
def test_what_is_no_position_is_refused_without_being_named(
    latitude: float, longitude: float, why: str
) -> None:
    with pytest.raises(PlaceError, match=why) as caught:
        Position(latitude, longitude)
    for number in (latitude, longitude):
        if isinstance(number, str) or (number and abs(number) < 1e9):
            texts = [number] if isinstance(number, str) else [f"{number:g}", f"{number:.7}"]
            assert not [text for text in texts if text in str(caught.value)]


COUNTY, TOWN, DISTRICT = (Fraction(e) for e in ("0.0693", "0.277", "1.386"))


def noisy(noise: MapNoise, position: Position, region: Region, seed: int) -> tuple[int, int]:
    return noise.perturb(position, region, Recited(seed))


def coarse_point(noise: MapNoise, region: Region, sent: tuple[int, int]) -> tuple[int, int]:
    """The point of the coarse lattice that lies nearest to a position on the wire."""
    latitude, longitude = (Fraction(each, MICRODEGREES) for each in sent)
    y = (latitude - Fraction(region.south)) * Fraction(11057, 100)
    east = (longitude - Fraction(region.west) + 180) % 360 - 180
    x = east * Fraction(11131, 100) * Fraction(region.cosine, 65536)
    grain = noise.lattice.grain
    i, j = (round(c / grain) * grain for c in noise.lattice.coordinates((x, y)))
    return i, j


@pytest.mark.parametrize(
    ("region", "epsilon"), [(GERMANY, COUNTY), (GERMANY, DISTRICT), (FIJI, TOWN)]
)
def test_what_leaves_follows_from_the_coarse_point_alone(region: Region, epsilon: Fraction) -> None:
    """A position of 40 bits would be a serial number for life. Planted bug: a position finer than
    the public grid; rounding to microdegrees from anywhere but the coarse point shows too.
    """
    noise = MapNoise.in_region(epsilon, region)
    middle = Position((region.south + region.north) / 2, region.west + 1.2)
    for seed in range(30):
        sent = noisy(noise, middle, region, seed)
        point = coarse_point(noise, region, sent)
        assert sent == microdegrees(*region.degrees(*noise.lattice.point(*point)))


def test_a_position_that_lands_outside_the_region_is_never_drawn_again() -> None:
    """Planted bug: a redraw at sea, which makes a border more likely than the promise allows."""
    noise = MapNoise.in_region(COUNTY, GERMANY)
    corner = Position(47.2, 5.8)
    outside, work = 0, set()
    for seed in range(60):
        bits = Recited(seed)
        sent = Position.of_microdegrees(*noise.perturb(corner, GERMANY, bits))
        outside += not GERMANY.contains(sent)
        work.add(tuple(bits.sizes))
    assert outside > 30
    assert len(work) == 1


def test_near_places_on_both_sides_of_180_degrees_send_the_same() -> None:
    """Two places 200 m apart, with the same coins: at most one grain apart, and mostly none.
    Planted bug: the longitude is wrapped before the noise.
    """
    noise = MapNoise.in_region(TOWN, FIJI)
    east, west = Position(-17.0, 179.999), Position(-17.0, -179.999)
    same = [noisy(noise, east, FIJI, seed) == noisy(noise, west, FIJI, seed) for seed in range(100)]
    assert sum(same) > 80


def test_a_region_with_another_plane_is_refused() -> None:
    noise = MapNoise.in_region(TOWN, GERMANY)
    with pytest.raises(ParameterError, match="the one of this noise's plane"):
        noise.perturb(Position(-17, 179), FIJI, Recited(0))


@pytest.mark.parametrize("cosine", [16960, 65536])
def test_a_cosine_that_no_region_has_is_refused(cosine: int) -> None:
    with pytest.raises(ParameterError, match="from 16961 to 65535"):
        MapNoise(HexagonalLattice(1, 1024), cosine)


NOISE = MapNoise.in_region(TOWN, GERMANY)


def test_a_places_signal_is_on_earth_and_no_point_and_a_point_no_position() -> None:
    for values in [(1,), (90_000_001, 0), (-90_000_001, 0), (0, 180_000_001), (0, -180_000_001)]:
        with pytest.raises(OutOfRange, match="a latitude and a longitude in microdegrees"):
            Signal(ANY_SPACE, NOISE, values)
    place = Signal(ANY_SPACE, NOISE, (52_000_000, 13_000_000))
    point = Signal("00" * 16, LatticeLaplace(2, 1), (3, -8))
    assert (place.position(), place.map_noise) == (Position(52.0, 13.0), NOISE)
    with pytest.raises(OutOfRange, match="a lattice"):
        place.point()
    with pytest.raises(OutOfRange, match="it is a map's"):
        place.check(2)
    with pytest.raises(OutOfRange, match="a map's"):
        point.position()
    with pytest.raises(OutOfRange, match="no server's"):
        Signal("00" * 16, NOISE, (52_000_000, 13_000_000))
