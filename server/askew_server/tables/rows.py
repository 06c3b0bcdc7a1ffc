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
BAD_SHARE = 0.1
"""Of which the rows of a file may be bad, where nobody says another share."""
TEXT: Final = pa.string()
CODED: Final = pa.dictionary(pa.int32(), TEXT)
Share = Callable[[float], object]
"""Is called with the share of the files that is read."""


class BadField(Exception):
    """A field breaks its limit; the message is the reason to report. rule: the same without the
    text. value: what of it can be used all the same.
    """

    def __init__(self, field: str, limit: str, text: str, value: float | None = None) -> None:
        super().__init__(field, limit, text, value)
        self.rule, self.value, self._text = f"{field} must be {limit}", value, text

    def __str__(self) -> str:
        text = self._text
        return f"{self.rule}, got {text[:40]!r}{'...' if len(text) > 40 else ''}"


def number(text: str, field: str = "rating") -> float:
    """Return the finite number that a text is, as a float. Raises BadField, which names the field,
    for any other text, and for one with "_".
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
    """Some rows of one file: the number of each, a text of each in each column, and the share of
    the files that is read.
    """

    rows: NDArray[np.int64]
    texts: Sequence[pa.Array]
    share: float
    file: str = ""


@dataclass
class Omissions:
    """What is left out of a file, by reason: how many, and which came first. unit: of a number."""

    file: str
    unit: str
    several: bool = False
    notes: tuple[str, ...] = ()
    reasons: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def add(self, row: int, reason: BadField | str, file: str = "", *, times: int = 1) -> None:
        """Count a row as left out for this reason, or `times` rows of which it is the first; the
        first three of a reason are named. file: named too where the table has several.
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
        """Return a line for each reason, for an operator, the commonest first: how many rows, the
        reason, and the numbers of the first.
        """
        lines = []
        for reason, (count, shown) in sorted(self.reasons.items(), key=lambda x: (-x[1][0], x[0])):
            numbers = ", ".join(shown) + ", ..." * (count > len(shown))
            lines.append(f"{count:,}: {reason} ({self.unit}{'s' * (count > 1)} {numbers})")
        return tuple(lines)

    def refuse_many(self, good: int, share: float = BAD_SHARE) -> None:
        """Raise DataError where no row is good, or more than `share` of all rows, good and left
        out, are left out.
        """
        reasons = "; ".join(self.lines) or "it has no rows"
        if not good:
            raise DataError(f"{self.file}: no row of it is usable: {reasons}")
        if self.count > share * (good + self.count):
            raise DataError(
                f"{self.file}: {self.count:,} of {good + self.count:,} rows cannot be used, so it"
                f" is hardly what it should be: {reasons}. --max-bad-rows names another share"
            )


def is_utf8(text: bytes) -> bool:
    """Return True for bytes that are text in UTF-8, also for none."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
