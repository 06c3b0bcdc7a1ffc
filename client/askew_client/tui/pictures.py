"""Drawings: the profile as bars, the noise around a signal, and a map of places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from math import exp, inf
from operator import itemgetter
from typing import Final

from rich.color import Color as TerminalColor
from rich.console import Group
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from askew.spaces.map import Position
from askew_client.tui.ink import CHARACTERS, STEPS, Inked, colors, is_without_color
from askew_client.views.answers import Bar, Connection
from askew_client.views.place_map import (
    Frame,
    Ink,
    Scene,
    depths,
    shade,
    share_above,
    signs,
)


def short_number(value: Fraction | float) -> str:
    """Return a number with at most four significant digits: "0.3333", "2", "1.235e+05"."""
    return f"{float(value):.4g}"


TRUE, SENT = "●", "◆"


class ProfileBars(Inked):
    """Each number of the profile as a bar, between the titles at its two ends."""

    COMPONENT_CLASSES = {"bars--bar", "bars--name", "bars--middle"}

    bars: reactive[tuple[Bar, ...]] = reactive((), layout=True)
    why_none: reactive[str] = reactive("", layout=True)

    def show(self, bars: Sequence[Bar], why_none: str) -> None:
        self.bars, self.why_none = tuple(bars), why_none

    def render(self) -> Group:
        name = self.ink("bars--name")
        if not self.bars:
            return Group(Text(self.why_none, name))
        rows: list[Text] = []
        for number, bar in enumerate(self.bars, 1):
            # The maps of a space with more than two directions name those that they show by number.
            label = f"{number} " if len(self.bars) > 2 else ""
            rows += [
                Text(f"◂ {bar.toward_lowest}", name),
                Text.assemble((label, name), *self._bar(bar, len(label)), no_wrap=True),
                Text(f"{bar.toward_highest} ▸", name, justify="right"),
            ]
        return Group(*rows)

    def _bar(self, bar: Bar, used: int) -> tuple[tuple[str, Style], ...]:
        # From the middle towards the value, with half a cell's precision.
        side = max(1, (self.size.width - 2 * used - 1) // 2)
        middle, reach = (bar.highest + bar.lowest) / 2, (bar.highest - bar.lowest) / 2
        halves = round(min(abs(bar.value - middle) / reach, 1.0) * side * 2)
        drawn = "━" * (halves // 2) + "╸" * (halves % 2)
        line = (self.ink("bars--middle"), self.ink("bars--bar"))
        if bar.value >= middle:
            return (" " * side, line[0]), ("│", line[0]), (drawn, line[1])
        return (drawn[::-1].replace("╸", "╺").rjust(side), line[1]), ("│", line[0])


_REACH = 4.0  # scales of the noise that a map shows to each side, if no mark is farther


class HeatMap(Inked):
    """The Laplace noise around the middle, on one coordinate or on two, and marks: SENT where the
    signal or the server's offsets are, TRUE where the person is.
    """

    COMPONENT_CLASSES = {
        "heat-map--field",
        "heat-map--peak",
        "heat-map--private",
        "heat-map--public",
    }

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rate = 0.0
        self.sent: Sequence[Sequence[float]] = ()
        self.you: Sequence[float] | None = None

    def show(
        self, rate: float, sent: Sequence[Sequence[float]], you: Sequence[float] | None = None
    ) -> None:
        """Show the noise of density exp(-rate |x|) on each coordinate, or nothing at all for a rate
        of 0, and marks at points relative to its middle: ◆ at each of `sent`, ● at `you`.
        """
        self.rate, self.sent, self.you = rate, sent, you
        self.refresh()

    def render(self) -> Text:
        # Two pixels a cell, its upper and its lower half: so they are about square.
        width, height = self.size
        if not self.rate or width < 8 or height < 3:
            return Text("")
        marks = [(at, SENT, "public") for at in self.sent]
        marks += [] if self.you is None else [(self.you, TRUE, "private")]
        reach = max(_REACH / self.rate, *(1.25 * abs(x) for at, *_ in marks for x in at))
        across = reach * max(1.0, width / (2 * height))
        down = across * 2 * height / width
        signs = {
            (
                _cell(at[0], across, width),
                _cell(-at[1] if len(at) > 1 else 0.0, down, height),
            ): (sign, self.ink(f"heat-map--{kind}"))
            for at, sign, kind in marks
        }
        is_line = all(len(at) < 2 for at, *_ in marks)
        xs = [abs(_spread(across, x, width)) for x in range(width)]
        ys = [0.0 if is_line else abs(_spread(down, y, 2 * height)) for y in range(2 * height)]
        plain = is_without_color(self.app)
        field, top = (self.get_component_styles(f"heat-map--{part}") for part in ("field", "peak"))
        shades = colors(field.background, top.color, 0.7, self.app.console.color_system)
        rows = []
        for row in range(height):
            line = Text(no_wrap=True, end="")
            for column, x in enumerate(xs):
                upper, lower = (self._shade(x + ys[y]) for y in (2 * row, 2 * row + 1))
                paper = Style() if plain else Style(bgcolor=shades[lower])
                if (column, row) in signs:
                    sign, ink = signs[column, row]
                    line.append(sign, ink + paper)
                elif plain:
                    step = (upper + lower) / 2 / STEPS
                    line.append(CHARACTERS[round(step * (len(CHARACTERS) - 1))])
                else:
                    line.append("▀", Style(color=shades[upper]) + paper)
            rows.append(line)
        return Text("\n").join(rows)

    def _shade(self, away: float) -> int:
        # The root lets the eye see the tails, where most of the noise is; it fades at the edge.
        least = exp(-_REACH / 2)
        return round(STEPS * max(0.0, exp(-self.rate * away / 2) - least) / (1 - least))


def _cell(value: float, reach: float, count: int) -> int:
    # Of `count` cells between -reach and reach: beyond an end, the end.
    return round(min(max((value / reach + 1) / 2, 0.0), 1.0) * (count - 1))


def _spread(reach: float, index: int, count: int) -> float:
    # The place of one of `count` cells between -reach and reach.
    return reach * (2 * index / (count - 1) - 1)


def axes_words(connection: Connection) -> str:
    """Return "; directions 1 and 3 of 8, where this catalog differs most" for map_axes (0, 2) of
    dimension 8; "" where the map shows all directions.
    """
    if connection.dimension == len(connection.map_axes):
        return ""
    shown = " and ".join(str(axis + 1) for axis in connection.map_axes)
    return f"; directions {shown} of {connection.dimension}, where this catalog differs most"


_KINDS: Final = {
    Ink.TOWN: "map--town",
    Ink.PROBE: "map--probe",
    Ink.RESULT: "map--result",
    Ink.PICK: "map--private",
    Ink.SIGNAL: "map--signal",
    Ink.YOU: "map--private",
    Ink.YOU_AND_SIGNAL: "map--private",
}


class PlaceMap(Widget):
    """A scene in a frame that has all of it. Warm: what stays here. Cool: what is public."""

    COMPONENT_CLASSES = {"map--field", "map--peak", *_KINDS.values()}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.scene = Scene()
        self.frame: Frame | None = None

    def show(self, scene: Scene) -> None:
        """Show a scene in place of the one before, in a frame that has all of it."""
        self.scene, self.frame = scene, None
        self.refresh()

    def look_at(self, middle: Position, kilometers: float, *, marked: bool) -> None:
        """Show the scene, with `you` at this position if `marked`, else without, in a frame that is
        so many kilometers high around it.
        """
        height = max(3, self.size.height - 1)
        self.scene = replace(self.scene, you=middle if marked else None)
        self.frame = Frame(middle, kilometers / height, max(4, self.size.width), height)
        self.refresh()

    def render(self) -> Text:
        if self.size.width < 4 or self.size.height < 4:
            return Text("")
        field, peak = (self.get_component_styles(f"map--{part}") for part in ("field", "peak"))
        shades = colors(field.background, peak.color, 0.6, self.app.console.color_system)
        # Resized to what the widget is now, less a row for the scale; its middle stays.
        width, height = self.size.width, self.size.height - 1
        frame = self.frame or self.scene.frame(width, height)
        self.frame = frame = replace(frame, width=width, height=height)
        rows, marks = [], signs(self.scene, frame)
        for row in range(frame.height):
            halves = enumerate(depths(self.scene, frame, row))
            inked = [self._inked(marks.get((row, n)), half, shades) for n, half in halves]
            runs = groupby(inked, key=itemgetter(1))  # few styles a row: it is drawn faster
            parts = [("".join(sign for sign, _ in run), style) for style, run in runs]
            rows.append(Text.assemble(*parts, no_wrap=True, end=""))
        town = self.get_component_rich_style("map--town", partial=True)
        rows.append(Text(frame.scale(), town, no_wrap=True, end=""))
        return Text("\n").join(rows)

    def _inked(
        self,
        mark: tuple[str, Ink] | None,
        halves: tuple[float, float],
        shades: list[TerminalColor],
    ) -> tuple[str, Style]:
        ink = self.get_component_rich_style(_KINDS[mark[1]], partial=True) if mark else Style()
        if is_without_color(self.app):
            return (mark[0] if mark else shade(*halves)), ink
        # Brighter the less of the law lies above: half as bright where half of it does.
        upper, lower = (
            shades[0 if depth == inf else round(STEPS * (1 - share_above(depth)))]
            for depth in halves
        )
        if mark:
            return mark[0], ink + Style(bgcolor=lower)
        if upper == lower == shades[0]:
            return " ", Style()
        return "▀", Style(color=upper, bgcolor=lower)
