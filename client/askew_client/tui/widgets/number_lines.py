"""The signal that left beside the point that is true, a line for each coordinate."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from askew_client.tui.widgets.bars import place_on
from askew_client.views.answers import Departure

TRUE, SENT, BOTH = "●", "◆", "◈"


class NumberLines(Widget):
    """Warm: where the person is. Cool: what was sent."""

    COMPONENT_CLASSES = {"lines--true", "lines--sent", "lines--line", "lines--bent"}

    departure: reactive[Departure | None] = reactive(None, layout=True)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Two rows a coordinate, and the legend."""
        if self.departure is None or self.departure.point is None:
            return 1
        return 2 * len(self.departure.true_point) + 1

    def render(self) -> Text:
        """The legend, then every coordinate."""
        departure = self.departure
        if departure is None:
            return Text("")
        if departure.point is None:
            return Text("The signal names a group of people, not a point.")
        pairs = list(zip(departure.true_point, departure.point, strict=True))
        values = [value for pair in pairs for value in pair]
        ends = min(0.0, *values), max(1.0, *values)
        rows = [row for pair in pairs for row in self._rows(pair, ends)]
        return Text("\n").join([self._legend(), *rows])

    def _rows(self, pair: tuple[float, float], ends: tuple[float, float]) -> tuple[Text, Text]:
        width = max(9, self.size.width)
        true, sent = pair
        at_true, at_sent = (place_on(value, *ends, width) for value in pair)
        low, high = sorted((at_true, at_sent))
        line = Text("─" * width, style=self._ink("lines--line"), no_wrap=True, end="")
        line.stylize(self._ink("lines--bent"), low, high + 1)
        line = _put(line, at_true, TRUE, self._ink("lines--true"))
        line = _put(line, at_sent, BOTH if low == high else SENT, self._ink("lines--sent"))
        figures = Text(no_wrap=True, end="")
        figures.append(f"{TRUE} {true:.2f}", self._ink("lines--true"))
        figures.append("  →  ", self._ink("lines--bent"))
        figures.append(f"{SENT} {sent:.2f}", self._ink("lines--sent"))
        return line, figures

    def _legend(self) -> Text:
        legend = Text(no_wrap=True, end="")
        legend.append(f"{TRUE} you, here   ", self._ink("lines--true"))
        legend.append(f"{SENT} the signal, sent", self._ink("lines--sent"))
        return legend

    def _ink(self, component: str) -> Style:
        return self.get_component_rich_style(component, partial=True)


def _put(line: Text, at: int, mark: str, style: Style) -> Text:
    return Text.assemble(line[:at], (mark, style), line[at + 1 :], no_wrap=True, end="")
