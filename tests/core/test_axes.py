"""Lines: what makes an axis, what a signal on it costs, and what leaves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, nan

import pytest
from recited import Recited

from askew.dp.privacy import SignalCharge
from askew.errors import OutOfRange, PlaceError
from askew.noise.lattice import LatticeLaplace
from askew.spaces.axes import Axis, AxisSpace
from askew.spaces.map import MapSpace, Region

ROAD = Axis("kilometer post", "km", 0.0, 800.0, scale=100.0)
DAY = Axis("time of day", "hours", 0.0, 24.0, scale=1.0)
PRICE = Axis("price", "euros", -5.0, 45.0, scale=2.5)
TRIP = AxisSpace((ROAD, DAY, PRICE))
LATTICE = LatticeLaplace.for_epsilon(Fraction(4))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"low": nan}, "from low to high > low"),
        ({"low": 800.0}, "from low to high > low"),
        ({"scale": 0.0}, "from low to high > low"),
        ({"scale": 1e-9}, "at most 1048576 units"),
        ({"scale": 5e-324}, "its scale from 2\\*\\*-42"),
        ({"high": 1e308, "low": -1e308}, "at most 2\\*\\*42"),
        ({"high": 800.0001}, "at most 6 significant digits"),
        ({"scale": 1 / 3}, "at most 6 significant digits"),
        ({"name": "x" * 41}, "an axis's name must be printable"),
        ({"unit": "km\n"}, "an axis's unit must be printable"),
    ],
)
def test_what_makes_no_axis_is_refused(change: dict[str, float | str], why: str) -> None:
    with pytest.raises(OutOfRange, match=why):
        replace(ROAD, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("axes", [(), (ROAD,) * 2, (ROAD, replace(DAY, name=ROAD.name))])
def test_axes_of_one_name_and_none_at_all_are_refused(axes: tuple[Axis, ...]) -> None:
    with pytest.raises(OutOfRange, match="1 to 3, of different names"):
        AxisSpace(axes)


@pytest.mark.parametrize("high", [4.39804e12, 0.000123456])
def test_numbers_of_six_digits_of_any_size_make_an_axis(high: float) -> None:
    assert replace(ROAD, high=high, scale=high).size == 1


def test_a_signal_costs_epsilon_times_the_diameter() -> None:
    assert TRIP.diameter == 8 + 24 + 20
    assert TRIP.charge(LATTICE) == SignalCharge(LATTICE.epsilon * 52)


def test_an_axis_too_long_for_the_wire_is_refused_before_anything_is_charged() -> None:
    """Planted bug: noise is drawn, clamped to the wire, and tells nothing any more."""
    space = AxisSpace((replace(ROAD, high=1e6, scale=1.0),))
    assert space.charge(LatticeLaplace(10, 4096))
    with pytest.raises(OutOfRange, match="lattice steps"):
        space.charge(LatticeLaplace(12, 1024))
    bits = Recited(0)
    with pytest.raises(OutOfRange, match="lattice steps"):
        space.perturb([1.0], LatticeLaplace(12, 1024), bits)
    assert bits.sizes == []


@pytest.mark.parametrize("value", [-0.001, 800.001, nan, inf])
def test_a_value_outside_its_axis_is_refused_without_being_named(value: float) -> None:
    bits = Recited(0)
    with pytest.raises(PlaceError) as caught:
        TRIP.perturb((value, 1.0, 2.0), LATTICE, bits)
    assert str(caught.value) == "kilometer post must be from 0 to 800 km"
    assert bits.sizes == []
    for values in ((1.0, 2.0), (1.0, 2.0, 3.0, 4.0)):
        with pytest.raises(PlaceError, match="has 3 values"):
            TRIP.perturb(values, LATTICE, bits)


def test_the_work_depends_neither_on_the_values_nor_on_the_outcome() -> None:
    points = [(0.0, 0.0, -5.0), (800.0, 24.0, 45.0), (0.1, 23.99, 0.3)]
    work = set()
    for seed in range(20):
        for values in points:
            bits = Recited(seed)
            assert len(TRIP.perturb(values, LATTICE, bits)) == 3
            work.add(tuple(bits.sizes))
    assert len(work) == 1


@pytest.mark.parametrize(
    "change", [{"name": "post"}, {"unit": "miles"}, {"low": 0.5}, {"high": 801.0}, {"scale": 99.0}]
)
def test_the_version_of_axes_covers_every_field(change: dict[str, float | str]) -> None:
    changed = AxisSpace((replace(ROAD, **change), DAY, PRICE))  # type: ignore[arg-type]
    assert changed.version != TRIP.version
    assert len(TRIP.version) == 32


def test_the_version_of_a_map_covers_its_edges() -> None:
    edges = [(47, 5, 55, 15), (47.0, 5.0, 55.0, 15.0), (46, 5, 55, 15), (47, 5, 55, 16)]
    assert len({MapSpace(Region(*four)).version for four in edges}) == 3


def test_an_item_that_is_not_on_the_axes_or_on_earth_is_refused() -> None:
    """Others are refused on the wire."""
    TRIP.check_item((0.0, 24.0, -5.0))
    germany = MapSpace(Region(47.2, 5.8, 55.1, 15.1))
    germany.check_item((-90.0, 180.0))
    for coordinates in [(), (1.0, 2.0, 3.0), (90.1, 0.0), (0.0, -180.1), (0.0, nan)]:
        with pytest.raises(OutOfRange, match="a latitude and a longitude"):
            germany.check_item(coordinates)
    for coordinates in [(1.0, 2.0), (801.0, 2.0, 3.0), (1.0, -0.1, 3.0), (1.0, nan, 3.0)]:
        with pytest.raises(OutOfRange, match="the coordinates of an item"):
            TRIP.check_item(coordinates)
