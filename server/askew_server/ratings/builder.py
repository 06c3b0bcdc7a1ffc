"""A table of ratings grown row by row, without a Python object per row."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.fields import key_order
from askew_server.ratings.rejects import RejectLog
from askew_server.ratings.table import RatingTable


class TableBuilder:
    """Collects ratings in compact arrays and makes the table of them."""

    def __init__(self) -> None:
        self._people: dict[str, int] = {}
        self._items: dict[str, int] = {}
        self._line = array("q")
        self._person = array("q")
        self._item = array("q")
        self._rating = array("d")

    def add(self, line: int, user: str, item: str, rating: float) -> None:
        """Adds one checked row."""
        self._line.append(line)
        self._person.append(self._people.setdefault(user, len(self._people)))
        self._item.append(self._items.setdefault(item, len(self._items)))
        self._rating.append(rating)

    def table(self, rejects: RejectLog, counts: float | None = None) -> RatingTable:
        """The table; of several ratings of an item by a person the last stays, and counts add up.

        counts: the least count that is a like, where there are counts.
        """
        if not self._line:
            raise rejects.nothing_good("rating")
        keys, rank = _sorted_keys(list(self._items))
        person = np.frombuffer(self._person, np.int64)
        item = rank[np.frombuffer(self._item, np.int64)]
        rating = np.frombuffer(self._rating, np.float64)
        if counts is not None:
            every = RatingTable(person, item, rating, len(self._people), keys)
            return every.likes_of_counts(counts)
        replaced, by = _rated_again(person, item, len(keys))
        if replaced.size:
            self._log_replaced(replaced, by, rejects)
            keep = np.ones(len(person), np.bool_)
            keep[replaced] = False
            person, item, rating = person[keep], item[keep], rating[keep]
        return RatingTable(person, item, rating, len(self._people), keys)

    def _log_replaced(
        self, replaced: NDArray[np.intp], by: NDArray[np.intp], rejects: RejectLog
    ) -> None:
        for earlier, later in zip(replaced.tolist(), by.tolist(), strict=True):
            rejects.add(self._line[earlier], f"rated again on line {self._line[later]}")


def _sorted_keys(keys: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The keys in order, and the place of each given key in that order."""
    order = sorted(range(len(keys)), key=lambda code: key_order(keys[code]))
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys))
    return tuple(keys[code] for code in order), rank


def _rated_again(
    person: NDArray[np.int64], item: NDArray[np.int64], n_items: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows that a later row replaces, in order, and the next row of the same pair."""
    pair = person * n_items + item
    # Stable, so that equal pairs stay in the order of their rows.
    order = np.argsort(pair, kind="stable")
    sorted_pair = pair[order]
    again = np.flatnonzero(sorted_pair[:-1] == sorted_pair[1:])
    replaced, by = order[again], order[again + 1]
    by_row = np.argsort(replaced)
    return replaced[by_row], by[by_row]
