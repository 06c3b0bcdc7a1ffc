"""Rows and numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from askew.dp.release import plain_name

Row = Mapping[str, str | int]


def number(value: Fraction | int) -> str:
    """Return a number with at most six significant digits, such as "0.333333" or "1e-06"; the exact
    rational stands in the release.
    """
    return f"{float(value):.6g}"


def losses(epsilon: Fraction, delta: Fraction) -> str:
    """Return a loss in words: "epsilon 1, delta 1e-06"."""
    return f"epsilon {number(epsilon)}, delta {number(delta)}"


class Within(Protocol):
    """What has noisy counts, and says how far off they may be."""

    @property
    def each_within(self) -> int | None:
        """Return how far each count may be from the true one, with the chance of `within_in_words`;
        None without counts.
        """

    @property
    def all_within(self) -> int | None:
        """Return how far any of the counts may be from the true one; None without counts."""


def within_in_words(counts: Within) -> str:
    """Return a phrase that says how far noisy counts may be from the true ones: each of them, and
    all at once.
    """
    sure = "at least 95 % sure"  # `askew.mechanisms.shortfall.CHANCE`, which would bring numpy
    return f"each within {counts.each_within:,}, all within {counts.all_within:,}, {sure}"


def headed(lines: Sequence[tuple[str, str]]) -> str:
    """Return lines of a heading and its text, the texts aligned two spaces behind the longest
    heading.
    """
    width = max(len(heading) for heading, _ in lines)
    return "\n".join(f"{heading:<{width}}  {plain_name(text)}" for heading, text in lines)


def aligned(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table for a person, of these columns of the rows in this order, the names first:
    columns of whole numbers alone to the right, others to the left.
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
