"""Rows and numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from askew.dp.release import plain_name

Row = Mapping[str, str | int]


def number(value: Fraction | int) -> str:
    """Return a number with at most six significant digits, such as "0.333333", "1e-06" or
    "1.5e+06"; the exact rational stands in the release.
    """
    return f"{float(value):.6g}"


def losses(epsilon: Fraction, delta: Fraction) -> str:
    """Return a loss in words, its numbers as `number` writes them: "epsilon 1, delta 1e-06"."""
    return f"epsilon {number(epsilon)}, delta {number(delta)}"


def within_in_words(each_within: int | None, all_within: int | None) -> str:
    """Return how far each noisy count may be from the true one, and any of them: "each within 9,
    all within 12, at least 95 % sure". Takes no None.
    """
    sure = "at least 95 % sure"  # `askew.mechanisms.shortfall.CHANCE`, which would bring numpy
    return f"each within {each_within:,}, all within {all_within:,}, {sure}"


def headed(lines: Sequence[tuple[str, str]]) -> str:
    """Return a line for each pair of a heading and its text, as `plain_name` has it; the texts are
    aligned two spaces behind the longest heading. Raises ValueError for no pair.
    """
    width = max(len(heading) for heading, _ in lines)
    return "\n".join(f"{heading:<{width}}  {plain_name(text)}" for heading, text in lines)


def aligned(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table for a person, of these columns of the rows in this order: a line of the names,
    then one for each row, with two spaces between columns. Columns of whole numbers alone stand to
    the right, others to the left, with no spaces at the end of a line and no line feed at the last.
    """
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


def _cell(value: str | int) -> str:
    return plain_name(str(value)) if value != "" else ""
