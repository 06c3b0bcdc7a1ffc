"""The private profile as bars around zero."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from askew_client.outcomes import Bar
from askew_client.tui.widgets.bars import diverging
from askew_client.tui.widgets.plain_text import fitted

_VALUE = 6  # cells of "+0.23"


class ProfileBars(Widget):
    """A line for each number of the profile: its name, a bar, its value."""

    COMPONENT_CLASSES = {"bars--bar", "bars--name", "bars--middle"}

    bars: reactive[tuple[Bar, ...]] = reactive((), layout=True)

    def show(self, bars: Sequence[Bar]) -> None:
        """Show these bars from now on."""
        self.bars = tuple(bars)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """A row a bar."""
        return max(1, len(self.bars))

    def render(self) -> Text:
        """All bars, or why there are none."""
        if not self.bars:
            return Text("Nothing is rated yet.", style=self._ink("bars--name"))
        name = min(max(len(bar.name) for bar in self.bars), self.size.width // 3)
        side = max(1, (self.size.width - name - _VALUE - 3) // 2)
        lines = [self._line(bar, name, side) for bar in self.bars]
        return Text("\n").join(lines)

    def _line(self, bar: Bar, name: int, side: int) -> Text:
        left, right = diverging(bar.value, max(-bar.lowest, bar.highest), side)
        line = Text(no_wrap=True, end="")
        line.append(fitted(bar.name, name) + " ", self._ink("bars--name"))
        line.append(left, self._ink("bars--bar"))
        line.append("│", self._ink("bars--middle"))
        line.append(right, self._ink("bars--bar"))
        line.append(f"{bar.value:+.2f}".rjust(_VALUE), self._ink("bars--bar"))
        return line

    def _ink(self, component: str) -> Style:
        return self.get_component_rich_style(component, partial=True)
