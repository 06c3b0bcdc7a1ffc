"""What files are read into: ratings as parallel arrays, items by key, and the rows left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError, ParameterError
from askew.spaces.vectors import RatingScale

EXAMPLES = 20
"""Bad rows that are kept."""
LIKED_OR_NOT = RatingScale(0.0, 1.0, 1.0)
"""What counts become: on a device too, everything from 1 on is a like."""


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Ratings as three parallel arrays; a person rates an item at most once.

    Persons are coded 0..n_people-1 in the order of their first row. Items are coded by their
    place in `item_keys`, which is sorted, so the item codes do not depend on the order of rows.
    scale: the one that they were read on, or None where only their range tells. time: when each was
    made, in any unit, nan where nobody knows; None where nobody asked.
    """

    person: NDArray[np.signedinteger]
    item: NDArray[np.signedinteger]
    rating: NDArray[np.float64]
    n_people: int
    item_keys: tuple[str, ...]
    scale: RatingScale | None = None
    time: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        for name, column in (("item", self.item), ("rating", self.rating), ("time", self.time)):
            if column is None:
                continue
            if column.shape != self.person.shape or column.ndim != 1:
                raise ParameterError(name, column.shape, "one-dimensional and as long as person")
        _check_codes("person", self.person, self.n_people)
        _check_codes("item", self.item, len(self.item_keys))

    def __len__(self) -> int:
        """The number of ratings."""
        return len(self.rating)

    def only(self, people: NDArray[np.integer]) -> RatingTable:
        """The ratings of these people, in the order of their codes. Items stay, also those that
        nobody of them rated.
        """
        wanted = np.zeros(self.n_people, dtype=np.bool_)
        wanted[people] = True
        kept, code = wanted[self.person], np.cumsum(wanted) - 1
        return replace(
            self,
            person=code[self.person[kept]],
            item=self.item[kept],
            rating=self.rating[kept],
            n_people=int(wanted.sum()),
            time=None if self.time is None else self.time[kept],
        )

    def likes_of_counts(self, least: float) -> RatingTable:
        """Counts as ratings, 1 for a like: `least` of a thing or more, 0 for fewer.

        The counts of one thing by one person add up.
        """
        pairs = self.person.astype(np.int64) * len(self.item_keys) + self.item
        _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
        totals = np.bincount(place, weights=self.rating)
        by_row = np.argsort(first)
        person, item, liked = self.person[first], self.item[first], totals >= least
        return replace(
            self,
            person=person[by_row],
            item=item[by_row],
            rating=liked[by_row].astype(np.float64),
            scale=LIKED_OR_NOT,
            time=None if self.time is None else self.time[first][by_row],
        )


@dataclass(frozen=True, slots=True)
class ItemRow:
    """What is known about one item."""

    title: str
    year: int | None
    genres: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out; the reason names the field and its limit."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rejects:
    """How many rows were left out, with the first ones found as examples."""

    count: int
    examples: tuple[BadRow, ...]


class RejectLog:
    """Counts the bad rows of a file, or of the files of a folder, and keeps the first ones."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.file = path
        self._count = 0
        self._examples: list[BadRow] = []

    def begin(self, file: Path) -> None:
        """The next rows are of this file."""
        self.file = file

    def add(self, line: int, reason: object, file: Path | None = None) -> None:
        """Counts one bad row, of the file that was begun unless it is told."""
        self._count += 1
        if len(self._examples) < EXAMPLES:
            self._examples.append(BadRow(str(file or self.file), line, str(reason)))

    def count_more(self, rows: int) -> None:
        """Counts bad rows of which others are examples."""
        self._count += rows

    def summary(self) -> Rejects:
        """What was counted so far."""
        return Rejects(self._count, tuple(self._examples))

    def nothing_good(self, kind: str) -> DataError:
        """The error where every row is bad."""
        where = "file" if self._path == self.file else "folder"
        message = f"{self._path}: no usable {kind} in the {where}, bad rows: {self._count}"
        if self._examples:
            first = self._examples[0]
            of = "" if where == "file" else f"{Path(first.file).name}, "
            message += f"; {of}line {first.line}: {first.reason}"
        return DataError(message)


def _check_codes(name: str, codes: NDArray[np.signedinteger], n_codes: int) -> None:
    if codes.size and not 0 <= codes.min() <= codes.max() < n_codes:
        span = f"{codes.min()}..{codes.max()}"
        raise ParameterError(name, span, f"codes from 0 to {n_codes - 1}")
