"""Results near a place in their private order, each with its sign on the map."""

from __future__ import annotations

from collections.abc import Iterator

from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from askew.catalog.listing import Value
from askew_client.tui.widgets.plain_text import fitted
from askew_client.views.place_map import Ink, rank_sign
from askew_client.views.quote import NearAnswer, NearResult

_SIGN = 3  # cells before a title
_FAR = 10  # cells of a distance


class NearList(Widget):
    """Two rows a result: its title and how far it is, and what is known of it. Never markup."""

    COMPONENT_CLASSES = {"near--picked", "near--result", "near--failing", "near--detail"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.answer: NearAnswer | None = None

    def show(self, answer: NearAnswer | None) -> None:
        """Show an answer, or nothing."""
        self.answer = answer
        self.refresh(layout=True)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """As many rows as there are."""
        return len(list(self._rows(width)))

    def render(self) -> Text:
        """Every row."""
        return Text("\n").join(self._rows(self.size.width))

    def _rows(self, width: int) -> Iterator[Text]:
        if self.answer is None:
            return
        for result in self.answer.results:
            sign = Ink.PICK.sign(plain=False) if result.picked else rank_sign(result.rank)
            far = f"{distance(result.distance)} {self.answer.unit}".rjust(_FAR)
            title = fitted(result.title, width - _SIGN - _FAR)
            ink = self._ink(_kind(result))
            yield Text(f" {sign} {title}{far}", ink, no_wrap=True, end="")
            if details := known(result.values):
                text = fitted(details, width - _SIGN)
                yield Text(f"   {text}", self._ink("near--detail"), no_wrap=True, end="")

    def _ink(self, component: str) -> Style:
        return self.get_component_rich_style(component, partial=True)


def distance(value: float) -> str:
    """Two digits that matter, and no more than a tenth."""
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def known(values: tuple[tuple[str, Value], ...]) -> str:
    """What is known of a result, in a row; what is unknown is left out."""
    return " · ".join(words for name, value in values if (words := _words(name, value)))


def _words(name: str, value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return name if value else f"not {name}"
        case float():
            return f"{name} {value:g}"
        case _:
            return str(value)


def _kind(result: NearResult) -> str:
    if result.picked:
        return "near--picked"
    return "near--result" if result.passes else "near--failing"
