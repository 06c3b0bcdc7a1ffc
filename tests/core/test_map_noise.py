"""What leaves of a position: one draw, coarse, never repeated, in microdegrees."""

from __future__ import annotations

from fractions import Fraction
from math import hypot

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recited import Recited

from askew.dp.privacy import ANY_SPACE
from askew.errors import OutOfRange, ParameterError, PlaceError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.spaces.map import MICRODEGREES, MapNoise, Position, Region, microdegrees

GERMANY = Region(47.2, 5.8, 55.1, 15.1)
FIJI = Region(-20.7, 176.8, -12.4, -178.2)
BERLIN = Position(52.52, 13.405)
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


@pytest.mark.parametrize("region", [GERMANY, FIJI], ids=["Germany", "Fiji"])
@pytest.mark.parametrize("epsilon", [COUNTY, TOWN, DISTRICT])
def test_what_leaves_follows_from_the_coarse_point_alone(region: Region, epsilon: Fraction) -> None:
    """A position of 40 bits would be a serial number for life. Planted bug: a position finer than
    the public grid; rounding to microdegrees from anywhere but the coarse point shows too.
    """
    noise = MapNoise.in_region(epsilon, region)
    middle = Position((region.south + region.north) / 2, region.west + 1.2)
    for seed in range(60):
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


def test_noise_wraps_at_180_degrees_after_it_was_added() -> None:
    noise = MapNoise.in_region(COUNTY, FIJI)
    sent = [noisy(noise, Position(-17.0, 179.999), FIJI, seed) for seed in range(100)]
    assert all(-180_000_000 <= longitude < 180_000_000 for _, longitude in sent)
    assert 20 < sum(longitude < 0 for _, longitude in sent) < 80


def test_noise_at_the_level_of_a_town_goes_as_far_as_it_says() -> None:
    noise = MapNoise.in_region(TOWN, GERMANY)
    x, y = GERMANY.kilometers(BERLIN)
    away = 0.0
    for seed in range(1500):
        latitude, longitude = noisy(noise, BERLIN, GERMANY, seed)
        there = GERMANY.kilometers(Position.of_microdegrees(latitude, longitude))
        away += hypot(float(there[0] - x), float(there[1] - y)) / 1500
    assert away == pytest.approx(noise.lattice.mean_distance, rel=0.08)  # four standard errors
    assert away == pytest.approx(7.6, rel=0.08)


@given(st.floats(47.2, 55.1), st.floats(5.8, 15.1), st.integers(0, 10))
def test_any_position_of_the_region_makes_a_signal(
    latitude: float, longitude: float, seed: int
) -> None:
    noise = MapNoise.in_region(DISTRICT, GERMANY)
    values = noisy(noise, Position(latitude, longitude), GERMANY, seed)
    assert Signal(ANY_SPACE, noise, values).position()


def test_a_region_with_another_plane_is_refused() -> None:
    noise = MapNoise.in_region(TOWN, GERMANY)
    with pytest.raises(ParameterError, match="the one of this noise's plane"):
        noise.perturb(Position(-17, 179), FIJI, Recited(0))


def test_a_position_outside_the_region_draws_nothing() -> None:
    bits = Recited(0)
    with pytest.raises(PlaceError, match="outside the region"):
        MapNoise.in_region(TOWN, GERMANY).perturb(Position(0, 0), GERMANY, bits)
    assert bits.sizes == []


@pytest.mark.parametrize("cosine", [0, -1, 16960, 65536, 2**32 - 1])
def test_a_cosine_that_no_region_has_is_refused(cosine: int) -> None:
    with pytest.raises(ParameterError, match="from 16961 to 65535"):
        MapNoise(HexagonalLattice(1, 1024), cosine)


def test_epsilon_is_the_lattices_per_kilometer_of_the_plane() -> None:
    noise = MapNoise.in_region(TOWN, GERMANY)
    assert noise.cosine == GERMANY.cosine
    assert Fraction("0.2767") < noise.epsilon <= TOWN


# -- signals of places ----------------------------------------------------------------------------

NOISE = MapNoise.in_region(TOWN, GERMANY)


@pytest.mark.parametrize(
    "values",
    [
        (),
        (1,),
        (1, 2, 3),
        (90_000_001, 0),
        (-90_000_001, 0),
        (0, 180_000_001),
        (0, -180_000_001),
        (13_405_000, 252_520_000),
    ],
)
def test_what_is_not_on_earth_is_no_signal(values: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange, match="a latitude and a longitude in microdegrees"):
        Signal(ANY_SPACE, NOISE, values)


def test_a_places_signal_belongs_to_no_space() -> None:
    with pytest.raises(OutOfRange, match="no server's"):
        Signal("00" * 16, NOISE, (52_000_000, 13_000_000))


def test_a_places_signal_is_no_point_and_a_point_no_position() -> None:
    place = Signal(ANY_SPACE, NOISE, (52_000_000, 13_000_000))
    point = Signal("00" * 16, LatticeLaplace(2, 1), (3, -8))
    assert (place.position(), place.map_noise) == (Position(52.0, 13.0), NOISE)
    with pytest.raises(OutOfRange, match="a lattice"):
        place.point()
    with pytest.raises(OutOfRange, match="it is a map's"):
        place.check(2, 0)
    with pytest.raises(OutOfRange, match="one of tastes"):
        _ = place.of_tastes
    with pytest.raises(OutOfRange, match="a map's"):
        point.position()
