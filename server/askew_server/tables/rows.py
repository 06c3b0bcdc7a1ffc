"""Batches of rows, and what is left out of a file, counted by its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askew.errors import DataError

SHOWN = 3
"""Rows that are named for each reason."""
MOST_BAD = 0.1
"""The share of the rows of a file that may be bad, where nobody says another."""
LONGEST_ROW = 1 << 24
"""Bytes of a row of text, or of a line of JSON; a block is at most as long."""
TOO_LONG = "a row must be at most {:,} bytes"
TEXT: Final = pa.string()
CODED: Final = pa.dictionary(pa.int32(), TEXT)
Progress = Callable[[float], object]
"""Is called with how much is read, from 0 to 1."""


class BadField(Exception):
    """A field breaks its limit; the message is the reason to report. rule: the same without the
    text. value: kept in place of the text, else the column's missing value.
    """

    def __init__(self, field: str, limit: str, text: str, value: float | None = None) -> None:
        super().__init__(field, limit, text, value)
        self.rule, self.value, self._text = f"{field} must be {limit}", value, text

    def __str__(self) -> str:
        text = self._text
        return f"{self.rule}, got {text[:40]!r}{'...' if len(text) > 40 else ''}"


def number(text: str, field: str = "rating") -> float:
    """Return the finite number that a text is, as a float: 3.0 for " 3 ", 1000.0 for "1e3". Raises
    BadField, which names the field, for any other text, and for one with "_".
    """
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    # float() reads "1_000" as a number, which no file means.
    if not np.isfinite(value) or "_" in text:
        raise BadField(field, "a finite number", text)
    return value


class Batch(NamedTuple):
    """Some rows of one file: the number of each, a text of each in each column, and how much is
    read by then, from 0 to 1: of its file, or, as `Table.batches` yields it, of the table.
    """

    rows: NDArray[np.int64]
    texts: Sequence[pa.Array]
    progress: float
    file: str = ""


@dataclass
class Omissions:
    """What is left out of a table, by reason: how many, and which came first. unit: what `row`
    counts: row, line or feature.
    """

    table: str
    unit: str
    several: bool = False
    notes: tuple[str, ...] = ()
    reasons: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def add(self, row: int, reason: BadField | str, file: str = "", *, times: int = 1) -> None:
        """Count a row as left out for this reason, or `times` rows of which it is the first; the
        row numbers of the first three calls of a reason are named. file: named too where the table
        has several.
        """
        rule = reason.rule if isinstance(reason, BadField) else reason
        count, shown = self.reasons.get(rule, (0, []))
        if len(shown) < SHOWN:
            shown.append(f"{row} of {Path(file).name}" if self.several and file else str(row))
        self.reasons[rule] = count + times, shown

    @property
    def count(self) -> int:
        """Return how many rows are left out, for all reasons."""
        return sum(count for count, _ in self.reasons.values())

    @property
    def lines(self) -> tuple[str, ...]:
        """Return a line for each reason, for an operator, the commonest first, then by reason: how
        many rows, the reason, and the numbers of the first, "4: rating must be a finite number
        (lines 2, 5, 9, ...)".
        """
        lines = []
        for reason, (count, shown) in sorted(self.reasons.items(), key=lambda x: (-x[1][0], x[0])):
            numbers = ", ".join(shown) + ", ..." * (count > len(shown))
            lines.append(f"{count:,}: {reason} ({self.unit}{'s' * (count > 1)} {numbers})")
        return tuple(lines)

    def refuse_many(self, good: int, most_bad: float = MOST_BAD) -> None:
        """Raise DataError where no row is good, or a larger share of all rows, good and left out,
        than `most_bad`, by default .1, is left out.
        """
        reasons = "; ".join((*self.lines, *self.notes)) or "it has no rows"
        if not good:
            raise DataError(f"{self.table}: no row of it is usable: {reasons}")
        if self.count > most_bad * (good + self.count):
            raise DataError(
                f"{self.table}: {self.count:,} of {good + self.count:,} rows cannot be used, so it"
                f" is hardly what it should be: {reasons}. --max-bad-rows names another share"
            )


def is_utf8(text: bytes) -> bool:
    """Return True for bytes that are text in UTF-8, also for none."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
