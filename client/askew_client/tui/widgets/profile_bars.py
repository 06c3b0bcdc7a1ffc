"""The private profile as bars around the middle, where a person of no marked taste is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from askew_client.tui.widgets.bars import diverging
from askew_client.tui.widgets.plain_text import fitted, wrapped
from askew_client.views.answers import Bar

_LOW, _HIGH = "◂ ", " ▸"
_GAP = 3  # cells between two titles on one row
_ROWS = 2  # of one title


class ProfileBars(Widget):
    """Each number of the profile as a bar, named by the titles at its two ends."""

    COMPONENT_CLASSES = {"bars--bar", "bars--name", "bars--middle"}

    bars: reactive[tuple[Bar, ...]] = reactive((), layout=True)
    why_none: reactive[str] = reactive("", layout=True)

    def show(self, bars: Sequence[Bar], why_none: str) -> None:
        """Show these bars from now on, or why there are none."""
        self.bars, self.why_none = tuple(bars), why_none

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """As many rows as it takes."""
        return max(1, len(self._rows(width)))

    def render(self) -> Text:
        """All bars, or why there are none."""
        return Text("\n").join(self._rows(self.size.width))

    def _rows(self, width: int) -> list[Text]:
        if not self.bars:
            rows = wrapped(self.why_none, max(8, width), 9)
            return [Text(row, self._ink("name"), no_wrap=True, end="") for row in rows]
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
        return Text(text, self._ink("name"), no_wrap=True, end="")

    def _bar(self, number: int, width: int) -> Text:
        bar = self.bars[number]
        middle, reach = (bar.highest + bar.lowest) / 2, (bar.highest - bar.lowest) / 2
        # The maps of a space with more than two directions name those that they show by number.
        label = f"{number + 1} " if len(self.bars) > 2 else ""
        left, right = diverging(bar.value - middle, reach, (width - 2 * len(label) - 1) // 2)
        text = Text(label, self._ink("name"), no_wrap=True, end="")
        text.append(left, self._ink("bar"))
        text.append("│", self._ink("middle"))
        return text.append(right, self._ink("bar"))

    def _ink(self, kind: str) -> Style:
        return self.get_component_rich_style(f"bars--{kind}", partial=True)
