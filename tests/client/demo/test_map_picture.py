"""The map of one signal: every mark in the cell where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits, ReplayBits
from askew.protocol.rule_kind import RuleKind
from askew.protocol.signal import Query, Signal
from askew.retrieval import OffsetRule
from askew_client.demo import map_picture
from askew_client.demo.map_picture import COLUMNS, LEGEND, ROWS, draw_map
from askew_client.settings.settings import ClientSettings

if TYPE_CHECKING:
    from client.conftest import Pair

    Replay = Callable[[str], ReplayBits]
    Space = Callable[..., Pair]

# A box of 60 by 60, in columns of 60/65 and rows of 4.
WIDTH = 60.0
INDENT = 2
LATTICE = LatticeLaplace.for_epsilon(Fraction(2))


def cell(lines: list[str], x: float, y: float) -> str:
    """The character at a point of the box; y grows upward."""
    line = lines[ROWS - 1 - round(y / WIDTH * (ROWS - 1))].ljust(INDENT + COLUMNS)
    return line[INDENT + round(x / WIDTH * (COLUMNS - 1))]


def drawn(pair: Pair, signal: tuple[float, float], bits: RandomBits, k: int = 1) -> list[str]:
    """The map of a person without likes: their point is the middle of the box."""
    exchange = pair.exchange(
        {0: 3.0}, ClientSettings(k=k, max_diameter=128.0, max_one_rating=128.0)
    )
    values = tuple(round(s / LATTICE.step) for s in signal)
    query = Query(Signal(pair.card.space.version, LATTICE, values), k)
    return draw_map(exchange, query, bits).split("\n")


def test_every_mark_is_in_its_cell(
    pair_in_a_space: Space, replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: y upside down, columns and rows exchanged, the signal under the cloud."""
    monkeypatch.setattr(
        map_picture,
        "played_rule",
        lambda _: FixedProbes(),
    )
    lines = drawn(pair_in_a_space(WIDTH), (12.0, 52.0), replay("noise"))
    assert cell(lines, 30.0, 30.0) == "U"
    assert cell(lines, 12.0, 52.0) == "S"
    assert cell(lines, 48.0, 8.0) == "o"
    ink = "".join(lines[:ROWS]).replace(" ", "").replace("·", "")
    assert sorted(ink) == sorted("USo")


class FixedProbes(OffsetRule):
    def __init__(self) -> None:
        pass

    def probes(self, signal: Signal, k: int) -> list[list[float]]:  # type: ignore[override]
        return [[48.0, 8.0]]


def test_the_cloud_is_the_noise_around_the_person(pair_in_a_space: Space, replay: Replay) -> None:
    """At epsilon 4 on a box of 60, two hundred draws stay within a few columns and rows of U."""
    lines = drawn(pair_in_a_space(WIDTH), (30.0, 30.0), replay("noise"))
    row, column = next((y, line.index("·")) for y, line in enumerate(lines) if "·" in line)
    assert abs(row - (ROWS - 1) / 2) <= 2
    assert abs(column - INDENT - (COLUMNS - 1) / 2) <= 5


def test_a_far_signal_widens_the_frame(pair_in_a_space: Space, replay: Replay) -> None:
    lines = drawn(pair_in_a_space(WIDTH), (-WIDTH, -WIDTH), replay("noise"))
    assert lines[ROWS - 1][INDENT] == "S"


def test_the_probes_of_the_servers_rule_are_shown(pair_in_a_space: Space, replay: Replay) -> None:
    lines = drawn(pair_in_a_space(2.0), (1.0, 1.0), replay("noise"), k=4)
    assert "".join(lines[:ROWS]).count("o") in {3, 4}  # one may lie under the signal


def test_a_server_that_looks_nowhere_shows_no_probes(
    pair_in_a_space: Space, replay: Replay
) -> None:
    pair = pair_in_a_space(2.0)
    pair.card = replace(pair.card, rule=replace(pair.card.rule, kind=RuleKind.NONE))
    assert "o" not in "".join(drawn(pair, (1.0, 1.0), replay("noise"), k=4)[:ROWS])


def test_the_map_fits_a_terminal_and_says_what_its_marks_mean(
    pair_in_a_space: Space, replay: Replay
) -> None:
    lines = drawn(pair_in_a_space(2.0), (1.0, 1.0), replay("noise"), k=4)
    assert max(map(len, lines)) <= 80
    assert lines[ROWS:] == ["", *f"  {LEGEND}".split("\n")]
    assert all(f"{mark}  " in LEGEND for mark in "·oUS")
