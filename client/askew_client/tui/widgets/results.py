"""Results: as they arrive and in their private order, of a catalog and near a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive

from askew.catalog.item import Value
from askew_client.tui.widgets.plain_text import Inked, fitted, wrapped
from askew_client.views.answers import NearAnswer, Result
from askew_client.views.place_map import Ink, rank_sign

_PLACE = 5  # cells before a title
_BEAT = 0.05  # seconds between two arrivals; the ranking takes three more beats


class ResultList(Inked):
    """A line a result, ◇ before what came with the answer. Titles are text from outside, never
    markup.
    """

    COMPONENT_CLASSES = {"results--arrived", "results--picked", "results--seen", "results--place"}

    shown: reactive[int] = reactive(0)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.results: tuple[Result, ...] = ()

    @property
    def ranked(self) -> bool:
        """Return True if everything has arrived and was ranked."""
        return self.shown > len(self.results)

    def show(self, results: Sequence[Result], *, at_once: bool) -> None:
        self.results = tuple(results)
        self.shown = len(self.results) + 1 if at_once else 0
        self.refresh(layout=True)
        if not at_once:
            self.set_timer(_BEAT, self._beat)

    def _beat(self) -> None:
        self.shown += 1
        if not self.ranked:
            pause = _BEAT if self.shown < len(self.results) else 6 * _BEAT
            self.set_timer(pause, self._beat)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return sum(len(self._lines(result, width)) for result in self.results)

    def render(self) -> Text:
        if self.ranked:
            return Text("\n").join(self._ranked_line(result) for result in self.results)
        arriving = sorted(self.results, key=lambda result: result.title)
        ink = self.ink("results--arrived")
        return Text("\n").join(
            Text("   ◇ " + fitted(result.title, self.size.width - 5), ink, no_wrap=True)
            for result in arriving[: self.shown]
        )

    def _ranked_line(self, result: Result) -> Text:
        kind = "picked" if result.picked else "seen" if result.seen else "arrived"
        first, *more = self._lines(result, self.size.width)
        line = Text(no_wrap=True, end="")
        came = "◇" if result.came else " "
        line.append(f"{result.place:>2} {came} ", self.ink("results--place"))
        line.append(first, self.ink(f"results--{kind}"))
        for row in more:
            line.append(f"\n{' ' * _PLACE}{row}", self.ink(f"results--{kind}"))
        return line

    def _lines(self, result: Result, width: int) -> list[str]:
        # A title on two rows at most, and its note at the right, below it if need be.
        note = "◀ your pick" if result.picked else "already rated" if result.seen else ""
        room = width - _PLACE
        lines = wrapped(result.title, room, 2)
        if note and cell_len(lines[-1]) + 2 + len(note) > room:
            lines.append("")
        if note:
            lines[-1] = fitted(lines[-1], room - len(note)) + note
        return lines


_SIGN = 3  # cells before a title
_FAR = 10  # cells of a distance
FAILS = "not what you filter for"


class NearList(Inked):
    """Two rows a result: its title and how far it is, and what is known of it. Never markup."""

    COMPONENT_CLASSES = {"near--picked", "near--result", "near--failing", "near--detail"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.answer: NearAnswer | None = None

    def show(self, answer: NearAnswer | None) -> None:
        self.answer = answer
        self.refresh(layout=True)

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(list(self._rows(width)))

    def render(self) -> Text:
        return Text("\n").join(self._rows(self.size.width))

    def _rows(self, width: int) -> Iterator[Text]:
        if self.answer is None:
            return
        for result in self.answer.results:
            sign = Ink.PICK.value if result.picked else rank_sign(result.rank)
            far = f"{distance(result.distance)} {self.answer.unit}".rjust(_FAR)
            title = fitted(result.title, width - _SIGN - _FAR)
            kind = "picked" if result.picked else "result" if result.passes else "failing"
            ink = self.ink(f"near--{kind}")
            yield Text(f" {sign} {title}{far}", ink, no_wrap=True, end="")
            details = known(result.values, self.answer.units)
            if not result.passes:
                details = f"{FAILS} · {details}".removesuffix(" · ")
            if details:
                text = fitted(details, width - _SIGN)
                yield Text(f"   {text}", self.ink("near--detail"), no_wrap=True, end="")


def distance(value: float) -> str:
    """Return a distance with two digits that matter, and no more than a tenth."""
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def known(values: Mapping[str, Value], units: Mapping[str, str]) -> str:
    """Return what is known of a result, in a row, with its units; what is unknown is left out."""
    return " · ".join(
        f"{words} {units[name]}" if name in units else words
        for name, value in values.items()
        if (words := _words(name, value))
    )


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
