"""What the loaders give: ratings as parallel arrays, items by key, and the rows left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.spaces.vectors import RatingScale

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


def _check_codes(name: str, codes: NDArray[np.signedinteger], n_codes: int) -> None:
    if codes.size and not 0 <= codes.min() <= codes.max() < n_codes:
        span = f"{codes.min()}..{codes.max()}"
        raise ParameterError(name, span, f"codes from 0 to {n_codes - 1}")
