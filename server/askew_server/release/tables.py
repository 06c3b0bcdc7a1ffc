"""Rows and numbers as a person, a spreadsheet or a program reads them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

from askew.dp.release import plain_name

Row = Mapping[str, str | int]

# What a spreadsheet takes for the beginning of a formula, also in the wide forms of East Asia; and
# the mark itself, so that taking one mark off the front gives the text back, whatever it was.
_MARK = "'"
_MARKED = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", _MARK)  # noqa: RUF001


def number(value: Fraction | int) -> str:
    """A short decimal; the exact rational stands in the release."""
    return f"{float(value):.6g}"


def losses(epsilon: Fraction, delta: Fraction) -> str:
    """A loss."""
    return f"epsilon {number(epsilon)}, delta {number(delta)}"


def rows_in(form: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Rows as a table, as JSON (a list of objects) or as CSV with a header.

    In CSV, text that could be a formula has an apostrophe in front, and so has text that begins
    with one: whoever reads it takes one leading apostrophe off. Item ids come from people's events.
    """
    if form == "json":
        return json.dumps([dict(row) for row in rows], ensure_ascii=False)
    if form == "csv":
        return _csv(columns, rows)
    return _table(columns, rows)


def headed(lines: Sequence[tuple[str, str]]) -> str:
    """Headings and their text, aligned."""
    width = max(len(heading) for heading, _ in lines)
    return "\n".join(f"{heading:<{width}}  {plain_name(text)}" for heading, text in lines)


def _cell(value: str | int) -> str:
    return plain_name(str(value)) if value != "" else ""


def _csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _inert(value) for name, value in row.items()} for row in rows)
    return text.getvalue().removesuffix("\n")


def _inert(value: str | int) -> str | int:
    marked = isinstance(value, str) and value.startswith(_MARKED)
    return f"{_MARK}{value}" if marked else value


def _table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    cells = [list(columns), *([_cell(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    numeric = [all(isinstance(row[name], int) for row in rows) for name in columns]
    lines = (
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, numeric, strict=True)
        )
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)
