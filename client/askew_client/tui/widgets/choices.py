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
_NONE_YET = (("none yet", ""),)


def choice(label: str, id: str) -> Horizontal:
    """Return a row of a label and a Select of this id that has only "none yet" to choose."""
    select = Select[_Value](_NONE_YET, allow_blank=False, id=id, compact=True)
    return Horizontal(Label(label), select, classes="field")


def offer(
    screen: Widget,
    name: str,
    values: Sequence[_Value],
    chosen: _Value | None = None,
    words: Mapping[Any, str] | None = None,
) -> None:
    """Set the options of the Select with the id `name`, without a message, and choose `chosen`, or
    the first where that is not among them. A number of one's own is offered beside `values`, in
    order, since using what stands there must change nothing.

    words: what stands on the screen for some of the values.
    """
    options: list[_Value] = list(values)
    if isinstance(chosen, Fraction) and chosen not in options:
        options = sorted([*options, chosen], key=float)
    select = screen.query_one(f"#{name}", Select)
    with select.prevent(Select.Changed):
        texts = [(Text((words or {}).get(option, short(option))), option) for option in options]
        select.set_options(texts or _NONE_YET)
        if chosen in options:
            select.value = chosen
        # Its words may be others for the same value.
        select.mutate_reactive(Select.value)  # type: ignore[misc]  # a reactive, not a value


def chosen_name(screen: Widget, name: str) -> str:
    """Return the chosen value of the Select with the id `name`; "" where there is none to
    choose.
    """
    return cast("str", screen.query_one(f"#{name}", Select).value)


def chosen_number(screen: Widget, name: str) -> Fraction:
    """Return the chosen value of the Select with the id `name`, which offers numbers."""
    return cast("Fraction", screen.query_one(f"#{name}", Select).value)


def short(value: _Value) -> str:
    """Return a name as it is, and a number with at most four significant digits."""
    return value if isinstance(value, str) else f"{float(value):.4g}"
