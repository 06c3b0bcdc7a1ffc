"""One of several values, in a Select of one row. Names may come from outside: never markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from rich.text import Text
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Label, Select

_Value = str | Fraction


def choice(label: str, id: str) -> Horizontal:
    """Return a row of a label and a Select that has nothing to choose yet."""
    return Horizontal(
        Label(label), Select[str]((), prompt="none yet", id=id, compact=True), classes="field"
    )


def offer(
    screen: Widget,
    name: str,
    values: Sequence[_Value],
    chosen: _Value | None = None,
    words: Mapping[Any, str] | None = None,
) -> None:
    """Offer `values` in the Select of this id, without a message; the first where `chosen` is not
    among them. A number of one's own is offered beside them, since using what stands there must
    change nothing.

    words: what stands on the screen for some of the values.
    """
    options: list[_Value] = list(values)
    if isinstance(chosen, Fraction) and chosen not in options:
        options = sorted([*options, chosen], key=float)
    select = screen.query_one(f"#{name}", Select)
    with select.prevent(Select.Changed):
        select.set_options(
            (Text((words or {}).get(option, short(option))), option) for option in options
        )
        if options:
            select.value = chosen if chosen in options else options[0]


def chosen_name(screen: Widget, name: str) -> str | None:
    """Return the chosen name, or None where there is none to choose."""
    value = screen.query_one(f"#{name}", Select).value
    return value if isinstance(value, str) else None


def chosen_number(screen: Widget, name: str) -> Fraction:
    """Return the chosen number."""
    return cast("Fraction", screen.query_one(f"#{name}", Select).value)


def short(value: _Value) -> str:
    """Return a name as it is, and a number as short as it is exact enough to read."""
    return value if isinstance(value, str) else f"{float(value):.4g}"
