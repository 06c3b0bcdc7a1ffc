"""A table of ratings grown row by row, without a Python object per row."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.fields import key_order
from askew_server.ratings.rejects import RejectLog
from askew_server.ratings.table import RatingTable

if TYPE_CHECKING:
    from askew_server.ratings.columns import Columns

Codes = NDArray[np.signedinteger]
Rows = NDArray[np.intp]


class TableBuilder:
    """Collects ratings in compact arrays and makes the table of them."""

    def __init__(self) -> None:
        self._people: dict[str, int] = {}
        self._items: dict[str, int] = {}
        self._line = array("q")
        self._person = array("i")
        self._item = array("i")
        self._rating = array("d")
        self._time = array("d")
        self._columns: Columns | None = None

    def add(
        self, line: int, user: str, item: str, rating: float, time: float | None = None
    ) -> None:
        """Adds one checked row. time: of all rows, or of none."""
        self._line.append(line)
        self._person.append(self._people.setdefault(user, len(self._people)))
        self._item.append(self._items.setdefault(item, len(self._items)))
        self._rating.append(rating)
        if time is not None:
            self._time.append(time)

    def extend(self, columns: Columns) -> None:
        """Begins with the checked rows of a file's columns."""
        self._people = {key: code for code, key in enumerate(columns.people)}
        self._items = {key: code for code, key in enumerate(columns.items)}
        self._columns = columns

    def table(self, rejects: RejectLog, counts: float | None = None) -> RatingTable:
        """The table; of several ratings of an item by a person the last stays, and counts add up.

        counts: the least count that is a like, where there are counts.
        """
        line, person, item, rating = self._in_order()
        if not line.size:
            raise rejects.nothing_good("rating")
        time = np.frombuffer(self._time, np.float64) if self._time else None
        keys, rank = _sorted_keys(list(self._items))
        person, item = _by_first_row(person, len(self._people)), rank[item]
        if counts is not None:
            every = RatingTable(person, item, rating, len(self._people), keys, time=time)
            return every.likes_of_counts(counts)
        replaced, by = _rated_again(person, item, len(keys))
        if replaced.size:
            _log_replaced(line, replaced, by, rejects)
            keep = np.ones(len(person), np.bool_)
            keep[replaced] = False
            person, item, rating = person[keep], item[keep], rating[keep]
            time = None if time is None else time[keep]
        return RatingTable(person, item, rating, len(self._people), keys, time=time)

    def _in_order(self) -> tuple[Codes, Codes, Codes, NDArray[np.float64]]:
        """Lines, people, items and ratings of all rows, by line."""
        line, rating = np.frombuffer(self._line, np.int64), np.frombuffer(self._rating, np.float64)
        person, item = (np.frombuffer(codes, np.intc) for codes in (self._person, self._item))
        if (given := self._columns) is None:
            return line, person, item, rating
        if not line.size:
            return given.line, given.person, given.item, given.rating
        order = np.argsort(line := np.append(given.line, line), kind="stable")
        columns = (given.person, person), (given.item, item)
        person, item = (np.append(*parts)[order] for parts in columns)
        return line[order], person, item, np.append(given.rating, rating)[order]


def _log_replaced(line: Codes, replaced: Rows, by: Rows, rejects: RejectLog) -> None:
    for earlier, later in zip(line[replaced].tolist(), line[by].tolist(), strict=True):
        rejects.add(earlier, f"rated again on line {later}")


def _by_first_row(codes: Codes, count: int) -> Codes:
    """The codes anew, in the order of their first rows."""
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of one code's rows, the last to be written
    rank = np.empty(count, np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(count)
    return rank[codes]


def _sorted_keys(keys: list[str]) -> tuple[tuple[str, ...], Codes]:
    """The keys in order, and the place of each given key in that order."""
    order = sorted(range(len(keys)), key=lambda code: key_order(keys[code]))
    rank = np.empty(len(keys), np.int32)
    rank[order] = np.arange(len(keys))
    return tuple(keys[code] for code in order), rank


def _rated_again(person: Codes, item: Codes, n_items: int) -> tuple[Rows, Rows]:
    """The rows that a later row replaces, in order, and the next row of the same pair."""
    pair = person.astype(np.int64) * n_items + item
    ascending = np.sort(pair)  # far quicker than the order, which is rarely needed
    if not (ascending[:-1] == ascending[1:]).any():
        return np.empty(0, np.intp), np.empty(0, np.intp)
    # Stable, so that equal pairs stay in the order of their rows.
    order = np.argsort(pair, kind="stable")
    pair = pair[order]
    again = np.flatnonzero(pair[:-1] == pair[1:])
    replaced, by = order[again], order[again + 1]
    by_row = np.argsort(replaced)
    return replaced[by_row], by[by_row]
