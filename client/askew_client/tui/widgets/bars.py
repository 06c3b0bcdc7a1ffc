"""Numbers as bars: the profile, and the signal beside the point that is true.

Bars have half a cell's precision and heavy lines: they look the same in every terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rich.console import Group
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive

from askew_client.tui.widgets.plain_text import Inked
from askew_client.views.answers import Bar, Departure


def place_on(value: float, lowest: float, highest: float, width: int) -> int:
    """Return the cell, from 0, of a line of `width` cells from lowest to highest on which a value
    lies; beyond an end, the end.
    """
    share = (value - lowest) / (highest - lowest)
    return round(min(max(share, 0.0), 1.0) * (width - 1))


def short_number(value: Fraction | float) -> str:
    """Return a number with at most four significant digits: "0.3333", "2"."""
    return f"{float(value):.4g}"


TRUE, SENT, BOTH = "●", "◆", "◈"


class NumberLines(Inked):
    """Warm: where the person is. Cool: what was sent."""

    COMPONENT_CLASSES = {"lines--true", "lines--sent", "lines--line", "lines--bent"}

    departure: reactive[Departure | None] = reactive(None, layout=True)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        if self.departure is None:
            return 1
        return 2 * len(self.departure.true_point) + 1

    def render(self) -> Text:
        departure = self.departure
        if departure is None:
            return Text("")
        pairs = list(zip(departure.true_point, departure.point, strict=True))
        values = [value for pair in pairs for value in pair]
        ends = min(0.0, *values), max(1.0, *values)
        rows = [row for pair in pairs for row in self._rows(pair, ends)]
        legend = Text(no_wrap=True, end="")
        legend.append(f"{TRUE} you, here   ", self.ink("lines--true"))
        legend.append(f"{SENT} the signal, sent", self.ink("lines--sent"))
        return Text("\n").join([legend, *rows])

    def _rows(self, pair: tuple[float, float], ends: tuple[float, float]) -> tuple[Text, Text]:
        width = max(9, self.size.width)
        true, sent = pair
        at_true, at_sent = (place_on(value, *ends, width) for value in pair)
        low, high = sorted((at_true, at_sent))
        line = Text("─" * width, style=self.ink("lines--line"), no_wrap=True, end="")
        line.stylize(self.ink("lines--bent"), low, high + 1)
        line = _put(line, at_true, TRUE, self.ink("lines--true"))
        line = _put(line, at_sent, BOTH if low == high else SENT, self.ink("lines--sent"))
        figures = Text(no_wrap=True, end="")
        figures.append(f"{TRUE} {true:.2f}", self.ink("lines--true"))
        figures.append("  →  ", self.ink("lines--bent"))
        figures.append(f"{SENT} {sent:.2f}", self.ink("lines--sent"))
        return line, figures


def _put(line: Text, at: int, mark: str, style: Style) -> Text:
    return Text.assemble(line[:at], (mark, style), line[at + 1 :], no_wrap=True, end="")


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
