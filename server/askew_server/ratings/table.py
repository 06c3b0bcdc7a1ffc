"""What tables are read into: ratings as parallel arrays, items by key."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askew.spaces.vectors import RatingScale

LIKED_OR_NOT = RatingScale(0.0, 1.0, 1.0)
"""The scale that counts become: on a device too, everything from 1 on is a like."""


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Ratings as three parallel arrays; a person rates an item at most once.

    Persons are coded 0..n_people-1 in the order of their first row. Items are coded by their
    place in `item_keys`, which is sorted, so the item codes do not depend on the order of rows.
    scale: the one that they were read on, or None where only their range tells. time: of every
    rating, in any unit, nan where the file has none; None where nobody asked.
    """

    person: NDArray[np.signedinteger]
    item: NDArray[np.signedinteger]
    rating: NDArray[np.float64]
    n_people: int
    item_keys: tuple[str, ...]
    scale: RatingScale | None = None
    time: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """Return the number of ratings."""
        return len(self.rating)

    def only(self, people: NDArray[np.integer]) -> RatingTable:
        """Return the ratings of these people, who are coded anew from 0 in the order of their old
        codes. Items stay, also those that nobody of them rated.
        """
        wanted = np.zeros(self.n_people, dtype=np.bool_)
        wanted[people] = True
        table, code = self._at(wanted[self.person]), np.cumsum(wanted) - 1
        return replace(table, person=code[table.person], n_people=int(wanted.sum()))

    def without(self, rows: NDArray[np.intp]) -> RatingTable:
        """Return all ratings but those of these rows; people and items stay, with their codes."""
        kept = np.ones(len(self), np.bool_)
        kept[rows] = False
        return self._at(kept)

    def likes_of_counts(self, least: float) -> RatingTable:
        """Return counts as ratings on the scale from 0 to 1, one a person and item: 1, a like,
        where a person's counts of a thing add up to `least` or more, else 0.
        """
        pairs = self.person.astype(np.int64) * len(self.item_keys) + self.item
        _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
        totals = np.bincount(place, weights=self.rating)
        by_row = np.argsort(first)
        liked = (totals >= least)[by_row].astype(np.float64)
        return replace(self._at(first[by_row]), rating=liked, scale=LIKED_OR_NOT)

    def _at(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> RatingTable:
        return replace(
            self,
            person=self.person[rows],
            item=self.item[rows],
            rating=self.rating[rows],
            time=None if self.time is None else self.time[rows],
        )


@dataclass(frozen=True, slots=True)
class ItemRow:
    """The public words of one item."""

    title: str
    year: int | None
    genres: tuple[str, ...]
