"""The map of one exchange: every mark in the cell where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from askew.lattice import Lattice
from askew.ranking import Slate
from askew.signal import Query, Signal
from askew_client.map_picture import COLUMNS, LEGEND, ROWS, draw_map
from askew_client.settings import ClientSettings

if TYPE_CHECKING:
    from client.conftest import Pair

    Films = Callable[[list[tuple[float, float]]], Pair]

# Half a unit a column and a row, so that a frame of 32.5 by 7.5 fills the map exactly.
WIDTH, HEIGHT = (COLUMNS - 1) / 2, (ROWS - 1) / 2
INDENT = 2


def cell(lines: list[str], x: float, y: float) -> str:
    """The character at a point of the feature space; y grows upward."""
    line = lines[ROWS - 1 - int(2 * y)].ljust(INDENT + COLUMNS)
    return line[INDENT + int(2 * x)]


def drawn(
    pair: Pair, signal: tuple[float, float], slate: tuple[int, ...], picked: int
) -> list[str]:
    """The map of a person who rated film 0 in the middle: their profile is the origin."""
    exchange = pair.exchange({0: 3.0}, ClientSettings(k=len(slate), max_diameter=64.0))
    lattice = Lattice.for_epsilon(Fraction(2))
    noisy = Signal(pair.card.space.version, lattice, tuple(round(s * 2048) for s in signal))
    rows = Slate(pair.card.catalog_version, slate, pair.catalog.positions[list(slate)])
    return draw_map(exchange, Query(noisy, len(slate)), rows, picked).split("\n")


FILMS = [(WIDTH, HEIGHT), (10.0, 2.0), (20.0, 5.0), (3.5, 7.0), (25.0, 0.0)]


def test_every_mark_is_in_its_cell(pair_with_films: Films) -> None:
    """Planted bugs: y upside down, columns and rows exchanged, the pick under the results."""
    lines = drawn(pair_with_films(FILMS), signal=(5.0, 3.0), slate=(1, 2), picked=2)
    marks = {point: cell(lines, *point) for point in [*FILMS, (0.0, 0.0), (5.0, 3.0), (1.0, 1.0)]}
    assert marks == {
        (WIDTH, HEIGHT): "·",
        (10.0, 2.0): "o",
        (20.0, 5.0): "P",
        (3.5, 7.0): "·",
        (25.0, 0.0): "·",
        (0.0, 0.0): "U",
        (5.0, 3.0): "S",
        (1.0, 1.0): " ",
    }
    ink = "".join(lines[:ROWS]).replace(" ", "")
    assert sorted(ink) == sorted("···oPUS")


def test_a_far_signal_widens_the_frame(pair_with_films: Films) -> None:
    lines = drawn(pair_with_films([(1.0, 1.0)]), signal=(-WIDTH, -HEIGHT), slate=(0,), picked=0)
    assert lines[ROWS - 1][INDENT] == "S"
    assert lines[0].endswith("P")


@pytest.mark.parametrize("signal", [(0.0, 0.0), (0.0, 4.0), (4.0, 0.0)])
def test_a_flat_frame_is_drawn_too(pair_with_films: Films, signal: tuple[float, float]) -> None:
    lines = drawn(pair_with_films([(0.0, 0.0)]), signal=signal, slate=(0,), picked=0)
    assert cell(lines, 0.0, 0.0) == "U"


def test_the_map_fits_a_terminal_and_says_what_its_marks_mean(pair_with_films: Films) -> None:
    lines = drawn(pair_with_films(FILMS), signal=(5.0, 3.0), slate=(1, 2), picked=2)
    assert max(map(len, lines)) <= 80
    assert lines[ROWS:] == ["", f"  {LEGEND}"]
    assert all(f"{mark}  " in LEGEND for mark in "·oPUS")
