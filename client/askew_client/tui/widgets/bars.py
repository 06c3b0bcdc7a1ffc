"""Numbers as bars: the profile, and the signal beside the point that is true.

Bars have half a cell's precision and heavy lines: they look the same in every terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive

from askew_client.tui.widgets.plain_text import Inked, fitted, wrapped
from askew_client.views.answers import Bar, Departure


def growing(share: float, width: int) -> str:
    """Return a bar from the left, `share` of it full, padded to `width` cells."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(width)


def diverging(value: float, reach: float, side: int) -> tuple[str, str]:
    """Return a bar from the middle towards `value`: what stands left of the middle, and right of
    it.

    `reach` is the end of either side, which has `side` cells.
    """
    bar = growing(abs(value) / reach, side)
    return (" " * side, bar) if value >= 0 else (bar[::-1].replace("╸", "╺"), " " * side)


def place_on(value: float, lowest: float, highest: float, width: int) -> int:
    """Return the cell of a line of `width` cells on which a value lies; beyond an end, the end."""
    share = (value - lowest) / (highest - lowest)
    return round(min(max(share, 0.0), 1.0) * (width - 1))


def short_number(value: Fraction | float) -> str:
    """Return a number as short as it is exact enough to read."""
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


_LOW, _HIGH = "◂ ", " ▸"
_GAP = 3  # cells between two titles on one row
_ROWS = 2  # of one title


class ProfileBars(Inked):
    """Each number of the profile as a bar, named by the titles at its two ends."""

    COMPONENT_CLASSES = {"bars--bar", "bars--name", "bars--middle"}

    bars: reactive[tuple[Bar, ...]] = reactive((), layout=True)
    why_none: reactive[str] = reactive("", layout=True)

    def show(self, bars: Sequence[Bar], why_none: str) -> None:
        self.bars, self.why_none = tuple(bars), why_none

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return max(1, len(self._rows(width)))

    def render(self) -> Text:
        return Text("\n").join(self._rows(self.size.width))

    def _rows(self, width: int) -> list[Text]:
        if not self.bars:
            rows = wrapped(self.why_none, max(8, width), 9)
            return [Text(row, self.ink("bars--name"), no_wrap=True, end="") for row in rows]
        return [row for number in range(len(self.bars)) for row in self._bar_rows(number, width)]

    def _bar_rows(self, number: int, width: int) -> list[Text]:
        bar = self.bars[number]
        low, high = bar.toward_lowest, bar.toward_highest
        room = width - len(_LOW) - len(_HIGH)
        if cell_len(low) + _GAP + cell_len(high) <= room:
            between = fitted(low, room - cell_len(high))
            return [self._end(f"{_LOW}{between}{high}{_HIGH}"), self._bar(number, width)]
        inner = max(1, width - len(_LOW))
        first, *more = wrapped(low, inner, _ROWS)
        above = [_LOW + first, *(" " * len(_LOW) + row for row in more)]
        *most, last = (" " * (inner - cell_len(row)) + row for row in wrapped(high, inner, _ROWS))
        below = [*most, last + _HIGH]
        return [*map(self._end, above), self._bar(number, width), *map(self._end, below)]

    def _end(self, text: str) -> Text:
        return Text(text, self.ink("bars--name"), no_wrap=True, end="")

    def _bar(self, number: int, width: int) -> Text:
        bar = self.bars[number]
        middle, reach = (bar.highest + bar.lowest) / 2, (bar.highest - bar.lowest) / 2
        # The maps of a space with more than two directions name those that they show by number.
        label = f"{number + 1} " if len(self.bars) > 2 else ""
        left, right = diverging(bar.value - middle, reach, (width - 2 * len(label) - 1) // 2)
        text = Text(label, self.ink("bars--name"), no_wrap=True, end="")
        text.append(left, self.ink("bars--bar"))
        text.append("│", self.ink("bars--middle"))
        return text.append(right, self.ink("bars--bar"))
