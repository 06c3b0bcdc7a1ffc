"""Results in their private order, of a catalog and near a place. Titles are text from outside,
never markup.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text
from textual.reactive import reactive

from askew.catalog.item import Value
from askew_client.tui.widgets.plain_text import Inked
from askew_client.views.answers import NearAnswer, Result
from askew_client.views.place_map import Ink, rank_sign


class ResultList(Inked):
    """A row a result, ◇ before what came with the answer."""

    COMPONENT_CLASSES = {"results--arrived", "results--picked", "results--seen", "results--place"}

    results: reactive[tuple[Result, ...]] = reactive((), layout=True)

    def render(self) -> Table:
        rows = Table.grid(padding=(0, 1, 0, 0), expand=True)
        rows.add_column(width=4, style=self.ink("results--place"))
        rows.add_column(ratio=1)
        for result in self.results:
            kind = "picked" if result.picked else "seen" if result.seen else "arrived"
            note = "  ◀ your pick" if result.picked else "  already rated" if result.seen else ""
            text = Text(f"{result.title}{note}", self.ink(f"results--{kind}"))
            rows.add_row(f"{result.place:>2} {'◇' if result.came else ''}", text)
        return rows


FAILS = "not what you filter for"


class NearList(Inked):
    """A row a result: its title, how far it is, and what is known of it."""

    COMPONENT_CLASSES = {"near--picked", "near--result", "near--failing", "near--detail"}

    answer: reactive[NearAnswer | None] = reactive(None, layout=True)

    def render(self) -> Table:
        rows = Table.grid(padding=(0, 1, 0, 0), expand=True)
        rows.add_column(width=1)
        rows.add_column(ratio=1)
        if self.answer is None:
            return rows
        for result in self.answer.results:
            kind = "picked" if result.picked else "result" if result.passes else "failing"
            sign = Ink.PICK.value if result.picked else rank_sign(result.rank)
            details = known(result.values, self.answer.units)
            ink, detail = self.ink(f"near--{kind}"), self.ink("near--detail")
            far = f", {distance(result.distance)} {self.answer.unit}"
            said = details if result.passes else f"{FAILS} · {details}".removesuffix(" · ")
            text = Text.assemble((result.title, ink), (far, ink), (said and f"\n{said}", detail))
            rows.add_row(Text(sign, ink), text)
        return rows


def distance(value: float) -> str:
    """Return a distance as text, to two significant digits below 1, to a tenth below 100, else
    whole: "0.12", "12.3", "123".
    """
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def known(values: Mapping[str, Value], units: Mapping[str, str]) -> str:
    """Return the known values of a result in a row, each with its unit: "price 8.5 EUR · bakery ·
    free table"; False is "not free table", what is unknown is left out.
    """
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
