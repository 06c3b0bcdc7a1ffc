"""An area is any part of the Earth; only a region has a plane, and with it a limit."""

from __future__ import annotations

from math import inf, nan

import pytest

from askew.errors import ParameterError
from askew.spaces.map import Area, Position, Region

EARTH = (-90.0, -180.0, 90.0, 180.0)


@pytest.mark.parametrize(
    ("edges", "width"),
    [(EARTH, 360), ((-90, 170, 90, -170), 20), ((60, -180, 90, 179), 359), ((-1, 10, 1, 5), 355)],
)
def test_an_area_may_be_any_part_of_the_earth_and_no_region(
    edges: tuple[float, float, float, float], width: int
) -> None:
    """Planted bug: the width of the whole Earth is that of nothing."""
    assert Area(*edges).width == width
    with pytest.raises(ParameterError, match="near a pole"):
        Region(*edges)


@pytest.mark.parametrize("longitude", [-180.0, -179.999, 0.0, 180.0])
@pytest.mark.parametrize("latitude", [-90.0, 0.0, 90.0])
def test_the_whole_earth_has_every_position(latitude: float, longitude: float) -> None:
    assert Area(*EARTH).contains(Position(latitude, longitude))
    assert not Area(-80, -179, 80, 179).contains(Position(latitude, 180.0))


@pytest.mark.parametrize(
    "edges",
    [
        (50, 5, 50, 6),
        (51, 5, 50, 6),
        (-91, 5, 50, 6),
        (40, 5, nan, 6),
        (40, 5, 50, 5),
        (40, 180, 50, -180),
        (40, -180.1, 50, 180),
        (40, 5, 50, inf),
    ],
)
def test_edges_that_make_no_area_are_refused(edges: tuple[float, float, float, float]) -> None:
    for kind in (Area, Region):
        with pytest.raises(ParameterError, match="region"):
            kind(*edges)
