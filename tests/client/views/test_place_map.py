"""The map in characters: every mark where it belongs, the heat map as deep as the law says."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from askew.noise.hexagonal import HexagonalLattice, steps
from askew.spaces.map import Position, Region
from askew_client.views.place_map import (
    HALF,
    MOST,
    Frame,
    Ink,
    PlaceHeatMap,
    Scene,
    Town,
    legend,
    likeliest,
    lines,
    people_within,
    rank_sign,
    share_above,
    signs,
)

REGION = Region(47.2, 5.8, 55.1, 15.1)
LATTICE = HexagonalLattice.for_epsilon(Fraction("0.277"))
SIGNAL = Position(51.0, 9.0)
HEAT_MAP = PlaceHeatMap(SIGNAL, float(LATTICE.epsilon), REGION.cosine)
SIZE = 61, 21  # odd, so that the middle is a cell
FRAME = Frame(SIGNAL, 2.0, *SIZE)  # two kilometers a row, one a column


def at(x: float, y: float) -> Position:
    """So many kilometers east and north of the signal, on the ground."""
    degree = math.radians(1) * 6371.0088
    return Position(51.0 + y / degree, 9.0 + x / degree / math.cos(math.radians(51.0)))


def seen(scene: Scene, row: int, column: int) -> str:
    return signs(scene, FRAME).get((row, column), " ")[0]


def test_north_is_up_east_is_right_and_every_mark_is_in_its_cell() -> None:
    """Planted bugs: a latitude that grows downward; a cell as wide as it is high."""
    scene = Scene(
        you=at(10, 8),
        heat_map=HEAT_MAP,
        probes=(at(-12, -6),),
        results=(at(20, -4), at(-20, 4), at(4, 18)),
        picked=1,
    )
    assert seen(scene, 10, 30) == "◆"
    assert seen(scene, 10 - 4, 30 + 10) == "●"
    assert seen(scene, 10 + 3, 30 - 12) == "◇"
    assert seen(scene, 10 + 2, 30 + 20) == "1"
    assert seen(scene, 10 - 2, 30 - 20) == "★"
    assert seen(scene, 10 - 9, 30 + 4) == "3"
    assert len(signs(scene, FRAME)) == 6
    far = Scene(you=Position(0, 0), results=(Position(-51, -171), Position(90, 180)), picked=0)
    assert signs(Scene(), FRAME) == signs(far, FRAME) == {}


def test_of_two_marks_in_one_cell_the_one_that_matters_more_is_seen() -> None:
    here = (SIGNAL,)
    assert seen(Scene(probes=here, results=here), 10, 30) == "1"
    assert seen(Scene(results=(SIGNAL, SIGNAL), picked=1), 10, 30) == "★"
    assert seen(Scene(heat_map=HEAT_MAP, results=here, picked=0), 10, 30) == "◆"
    assert seen(Scene(heat_map=HEAT_MAP, you=SIGNAL), 10, 30) == "◈"


def test_the_depth_of_the_heat_map_is_that_of_the_law() -> None:
    """-log P(z) / P(0) of `askew.noise.hexagonal`. Planted bug: a circle, or degrees of another
    plane.
    """
    for i, j in ((900, 0), (900, 900), (0, 900), (400, -300), (-700, 200), (-5000, -2500)):
        x, y = (float(length) for length in LATTICE.point(i, j))
        expected = steps(i, j) * math.log1p(1 / LATTICE.inverse_rate)
        assert HEAT_MAP.depth(HEAT_MAP.position(x, y)) == pytest.approx(expected, rel=1e-3)
    assert {round(HEAT_MAP.depth(at), 9) for at in HEAT_MAP.outline(HALF)} == {round(HALF, 9)}


def test_half_and_nine_tenths_of_the_law_lie_above_their_depths() -> None:
    """Summed on the lattice: 6 n points are n steps away. The figures that the legend names."""
    q = 200
    r, total = q / (q + 1), 1 + 6 * q * (q + 1)
    for depth, share in ((HALF, 0.5), (MOST, 0.9)):
        within = 1 + sum(6 * n * r**n for n in range(1, int(depth * q) + 1))
        assert within / total == pytest.approx(share, abs=0.01)
        assert share_above(depth) == pytest.approx(share, abs=1e-12)


def test_the_shades_of_the_map_end_at_the_depths_of_the_legend() -> None:
    """Straight north and south the gauge is 15 y / 13 of a kilometer, and rows are 2 km."""
    column = [line.ljust(61)[30] for line in lines(Scene(heat_map=HEAT_MAP), FRAME)[:21]]
    half, most = (int(1.1545 * depth / HEAT_MAP.epsilon * 13 / 15 / 2) for depth in (HALF, MOST))
    assert column[10] == "◆"
    assert column.count("░") == 2 * half
    assert column.count("·") == 2 * (most - half)


def test_a_frame_has_every_mark_and_half_of_the_heat_map() -> None:
    results = (at(70, 3), at(-4, -60), at(1, 1))
    scene = Scene(you=at(-90, 20), heat_map=HEAT_MAP, results=results, picked=2)
    for size in ((76, 20), (58, 9), (4, 3)):
        frame = scene.frame(*size)
        marks = [*results, at(-90, 20), SIGNAL, *HEAT_MAP.outline(HALF)]
        assert None not in [frame.cell(mark) for mark in marks]
        assert (frame.width, frame.height) == size


def test_a_frame_across_180_degrees_is_narrow() -> None:
    """Planted bug: the mean of the longitudes 179.9 and -179.9, which is at Greenwich."""
    marks = (Position(-17, 179.9), Position(-17, -179.9))
    frame = Frame.around(marks, 60, 20)
    (row, west), (_, east) = (frame.cell(each) or (0, 0) for each in marks)
    assert (row, west < east) == (10, True) or (row, west < east) == (9, True)
    assert frame.km_a_row < 2


@pytest.mark.parametrize("latitude", [51.0, -89.99, 90.0])
def test_cells_and_positions_are_each_others_inverse(latitude: float) -> None:
    frame = Frame(Position(latitude, 180.0), 0.5, *SIZE)
    for row, column in ((10, 30), (9, 0), (10, 60)):
        if abs(latitude) < 89:
            assert frame.cell(frame.position(row, column)) == (row, column)
        assert abs(frame.position(row, column).latitude) <= 90


@pytest.mark.parametrize(
    ("km_a_row", "says"), [(2.0, "20 km"), (0.9, "5 km"), (0.02, "200 m"), (300.0, "2000 km")]
)
def test_the_scale_is_as_long_as_it_says(km_a_row: float, says: str) -> None:
    """Planted bug: cells as wide as they are high."""
    bar, _, words = Frame(SIGNAL, km_a_row, *SIZE).scale().partition(" ")
    number, unit = says.split()
    kilometers = float(number) / (1000 if unit == "m" else 1)
    assert words == says
    assert (len(bar) - 1) * km_a_row / 2 == pytest.approx(kilometers, abs=km_a_row / 2)


TOWNS = (
    Town("Kassel", at(24, 34), 200_000),
    Town("Göttingen", at(6, 10), 116_000),
    Town("Korbach", at(-20, -6), 23_000),
    Town("東京", at(-25, 14), 9_000_000),
    Town("[/]x", at(-25, 4), 5),
)


def test_towns_are_named_where_there_is_room_and_wide_names_are_left_out() -> None:
    """Planted bugs: a name of wide letters, which moves all that stands to its right; a map full of
    query points, on which no town is named.
    """
    text = "\n".join(lines(Scene(towns=TOWNS), FRAME))
    assert "∘Göttingen" in text
    assert "∘Korbach" in text
    assert "∘[/]x" in text
    assert "東" not in text
    marked = "\n".join(lines(Scene(towns=TOWNS, you=TOWNS[1].at), FRAME))
    assert "●Göttingen" in marked
    points = tuple(at(6 + step, 10) for step in range(1, 9))  # hide no name, and results do
    assert "∘Göttingen" in "\n".join(lines(Scene(towns=TOWNS, probes=points), FRAME))
    assert "∘Göttingen" not in "\n".join(lines(Scene(towns=TOWNS, results=points), FRAME))


def test_a_frame_has_the_nearest_town_an_area_or_all_towns() -> None:
    """Planted bug: nothing is marked yet, and the map is an empty sea."""
    you = Scene(you=at(-14, -2), towns=TOWNS)
    assert you.frame(*SIZE).cell(TOWNS[2].at) is not None
    assert Scene(you=at(-140, -2), towns=TOWNS).frame(*SIZE).cell(TOWNS[2].at) is None
    corners = (at(-200, -100), at(300, 100))
    frame = Scene(towns=TOWNS, area=corners).frame(*SIZE)
    assert None not in [frame.cell(corner) for corner in corners]
    everything = Scene(towns=TOWNS).frame(*SIZE)
    assert None not in [everything.cell(town.at) for town in TOWNS]


def test_every_mark_that_a_map_has_is_in_its_legend_and_no_other() -> None:
    """Planted bug: the sign of you and the signal in one cell, which nothing explains."""
    assert legend(Scene(you=SIGNAL)) == ("● you",)
    assert "★ your pick" not in legend(Scene(results=(SIGNAL,)))
    everything = legend(Scene(SIGNAL, HEAT_MAP, (SIGNAL,), (SIGNAL,) * 40, 0, TOWNS))
    assert "░ you, 5 times in 10" in everything
    ranks = [rank_sign(rank) for rank in (1, 9, 10, 35, 36, 64)]
    assert ranks == ["1", "9", "a", "z", "+", "+"]
    signs_of_all = {*(ink.value for ink in Ink), *map(rank_sign, (1, 2, 3, 10, 11, 12, 36))}
    assert signs_of_all <= {*" ".join(everything).split()}


def test_the_likeliest_towns_weigh_people_by_the_law() -> None:
    """Two towns at depth 0 and at ln 3: 1 : 1 by people 1 : 3. Nobody's town is not named, and a
    share is one of all, named or not.
    """
    deep = HEAT_MAP.outline(math.log(3))[0]
    towns = (Town("near", SIGNAL, 100), Town("deep", deep, 300), Town("empty", SIGNAL, 0))
    found = likeliest(towns, HEAT_MAP)
    assert {town.name: round(share, 9) for town, share in found} == {"near": 0.5, "deep": 0.5}
    assert likeliest(towns[2:], HEAT_MAP) == ()
    assert [round(share, 9) for _, share in likeliest(towns, HEAT_MAP, 1)] == [0.5]
    assert people_within(towns, HEAT_MAP, 1.0) == 100


def test_people_are_counted_where_you_are_5_times_in_10() -> None:
    """Planted bug: where you are 9 times in 10."""
    middle, within, beyond = (HEAT_MAP.outline(depth)[0] for depth in (0.0, 0.9 * HALF, 1.1 * HALF))
    towns = (Town("a", middle, 1), Town("b", within, 20), Town("c", beyond, 300))
    assert people_within(towns, HEAT_MAP) == 21


def test_what_is_private_does_not_show_when_a_scene_is_printed() -> None:
    scene = Scene(Position(51.25, 9.125), HEAT_MAP, results=(Position(51.5, 9.5),))
    for private in ("51.25", "9.125", "51.5"):
        assert private not in repr(scene)
        assert private not in repr(scene.frame(60, 20))
