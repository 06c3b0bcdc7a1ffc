"""What settings would give, beside no signal at all and no privacy at all."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from askew_client.tui.widgets.bars import growing
from askew_client.views.answers import Forecast

_NAME, _FIGURE = 16, 6


class ForecastBars(Widget):
    """The mean place of the pick among all that the person has not rated: 1 is best."""

    COMPONENT_CLASSES = {"forecast--private", "forecast--other", "forecast--name"}

    forecast: reactive[Forecast | None] = reactive(None)

    def render(self) -> Text:
        """A caption and three bars; shorter is better."""
        forecast = self.forecast
        caption = Text("mean place of the pick; 1 is best", self._ink("forecast--name"))
        if forecast is None:
            return caption
        rows = (
            ("no privacy", forecast.place_without_privacy, "forecast--other"),
            ("these settings", forecast.place, "forecast--private"),
            ("no signal", forecast.place_without_signal, "forecast--other"),
        )
        worst = max(place for _, place, _ in rows)
        return Text("\n").join([caption, *(self._row(*row, worst) for row in rows)])

    def _row(self, name: str, place: float, kind: str, worst: float) -> Text:
        width = max(4, self.size.width - _NAME - _FIGURE)
        row = Text(no_wrap=True, end="")
        row.append(name.ljust(_NAME), self._ink("forecast--name"))
        row.append(growing(place / worst, width), self._ink(kind))
        row.append(figure(place).rjust(_FIGURE), self._ink(kind))
        return row

    def _ink(self, component: str) -> Style:
        return self.get_component_rich_style(component, partial=True)


def figure(place: float) -> str:
    """A mean place: to the tenth where tenths matter."""
    return f"{place:.1f}" if place < 10 else f"{place:.0f}"
