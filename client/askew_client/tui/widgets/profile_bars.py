"""The private profile as bars around the middle, where a person of no marked taste is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from askew_client.tui.widgets.bars import diverging
from askew_client.tui.widgets.plain_text import fitted
from askew_client.views.values import Bar

_VALUE = 6  # cells of "-0.23"
_LEAST_BAR = 15  # cells; where less would be left beside a name, the bar has a row of its own


class ProfileBars(Widget):
    """Each number of the profile: its name, a bar, its value."""

    COMPONENT_CLASSES = {"bars--bar", "bars--name", "bars--middle"}

    bars: reactive[tuple[Bar, ...]] = reactive((), layout=True)

    def show(self, bars: Sequence[Bar]) -> None:
        """Show these bars from now on."""
        self.bars = tuple(bars)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """A row a bar, or two where it is narrow."""
        return max(1, len(self.bars) * (1 if self._beside(width) else 2))

    def render(self) -> Text:
        """All bars, or why there are none."""
        if not self.bars:
            return Text("Nothing is rated yet.", style=self._ink("name"))
        width = self.size.width
        rows = self._one_row if self._beside(width) else self._two_rows
        return Text("\n").join(rows(bar, width) for bar in self.bars)

    def _one_row(self, bar: Bar, width: int) -> Text:
        name, value = fitted(bar.name, self._name_width), f"{bar.value:.2f}".rjust(_VALUE)
        row = Text(f"{name} ", self._ink("name"), no_wrap=True, end="")
        row.append_text(self._bar(bar, width - self._name_width - 1 - _VALUE))
        return row.append(value, self._ink("bar"))

    def _two_rows(self, bar: Bar, width: int) -> Text:
        row = Text(fitted(bar.name, width - _VALUE), self._ink("name"), no_wrap=True, end="")
        row.append(f"{bar.value:.2f}".rjust(_VALUE) + "\n", self._ink("bar"))
        return row.append_text(self._bar(bar, width))

    def _bar(self, bar: Bar, width: int) -> Text:
        middle, reach = (bar.highest + bar.lowest) / 2, (bar.highest - bar.lowest) / 2
        left, right = diverging(bar.value - middle, reach, (width - 1) // 2)
        text = Text(no_wrap=True, end="")
        text.append(left, self._ink("bar"))
        text.append("│", self._ink("middle"))
        return text.append(right, self._ink("bar"))

    @property
    def _name_width(self) -> int:
        return max((cell_len(bar.name) for bar in self.bars), default=0)

    def _beside(self, width: int) -> bool:
        return width - self._name_width - 1 - _VALUE >= _LEAST_BAR

    def _ink(self, kind: str) -> Style:
        return self.get_component_rich_style(f"bars--{kind}", partial=True)
