"""A table of ratings grown file by file, without a Python object per row.

Keys become codes: the numbers from 0 on that stand for the different values of a column.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.fields import key_order
from askew_server.ratings.table import EXAMPLES, RatingTable, RejectLog

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Keys = defaultdict[str, int]
"""The code of each key; one that is new gets the next code."""
_Places = NDArray[np.intp]
_BLOCK = 1 << 20
_PART = 1 << 16


def no_keys() -> Keys:
    """None yet."""
    keys = Keys(int)
    keys.default_factory = keys.__len__
    return keys


class RatingRows(NamedTuple):
    """Codes of people and items, ratings, and times where they were asked for: in order of rows."""

    person: Codes
    item: Codes
    rating: Floats
    time: Floats | None

    def part(self, chosen: slice | Flags) -> RatingRows:
        """Some of the rows."""
        time = None if self.time is None else self.time[chosen]
        return RatingRows(self.person[chosen], self.item[chosen], self.rating[chosen], time)


class TableBuilder:
    """Collects ratings in compact arrays and makes the table of them.

    people, items: the codes of keys, also of some that no row has.
    """

    def __init__(self) -> None:
        self.people = no_keys()
        self.items = no_keys()
        self._person, self._item = array("i"), array("i")
        self._rating, self._time = array("d"), array("d")
        self._files: list[Path] = []
        # Where lines go on from row to row: the first row, its line and its file.
        self._runs = array("q"), array("q"), array("i")
        self._next_line = 0

    def begin(self, path: Path) -> None:
        """The next rows are of this file."""
        self._files.append(path)
        self._next_line = 0

    def add(
        self, line: int, user: str, item: str, rating: float, time: float | None = None
    ) -> None:
        """Adds one checked row of the file. time: of all rows, or of none."""
        self._go_on(line, 1)
        self._person.append(self.people[user])
        self._item.append(self.items[item])
        self._rating.append(rating)
        if time is not None:
            self._time.append(time)

    def extend(self, line: int, rows: RatingRows) -> None:
        """Adds checked rows of the file, of which this is the first line."""
        if not len(rows.rating):
            return
        self._go_on(line, len(rows.rating))
        _append(self._person, rows.person)
        _append(self._item, rows.item)
        _append(self._rating, rows.rating)
        if rows.time is not None:
            _append(self._time, rows.time)

    def _go_on(self, line: int, rows: int) -> None:
        if line != self._next_line:
            for column, value in zip(
                self._runs, (len(self._rating), line, len(self._files) - 1), strict=True
            ):
                column.append(value)
        self._next_line = line + rows

    def table(self, rejects: RejectLog, counts: float | None = None) -> RatingTable:
        """The table; of several ratings of an item by a person the last stays, and counts add up.

        counts: the least count that is a like, where there are counts.
        """
        if not self._rating:
            raise rejects.nothing_good("rating")
        person, n_people = _by_first_row(np.frombuffer(self._person, np.int32), len(self.people))
        item, keys = _by_key(np.frombuffer(self._item, np.int32), list(self.items))
        rating = np.frombuffer(self._rating, np.float64)
        time = np.frombuffer(self._time, np.float64) if self._time else None
        if counts is not None:
            every = RatingTable(person, item, rating, n_people, keys, time=time)
            return every.likes_of_counts(counts)
        replaced, by = _rated_again(person, item, len(keys))
        if replaced.size:
            self._log_replaced(replaced, by, rejects)
            keep = np.ones(len(person), np.bool_)
            keep[replaced] = False
            person, item, rating = person[keep], item[keep], rating[keep]
            time = None if time is None else time[keep]
        return RatingTable(person, item, rating, n_people, keys, time=time)

    def _log_replaced(self, replaced: _Places, by: _Places, rejects: RejectLog) -> None:
        for earlier, later in zip(replaced[:EXAMPLES].tolist(), by.tolist(), strict=False):
            path, line = self._origin(earlier)
            where, again = self._origin(later)
            of = "" if where == path else f" of {where.name}"
            rejects.add(line, f"rated again on line {again}{of}", path)
        rejects.count_more(len(replaced[EXAMPLES:]))

    def _origin(self, row: int) -> tuple[Path, int]:
        """The file and the line of a row."""
        rows, lines, files = self._runs
        run = bisect_right(rows, row) - 1
        return self._files[files[run]], lines[run] + row - rows[run]


def _append(column: array[Any], more: NDArray[Any]) -> None:
    column.frombytes(np.ascontiguousarray(more).view(np.uint8).data)


def _by_first_row(codes: Codes, count: int) -> tuple[Codes, int]:
    """The codes anew, in the order of their first rows, and how many are in use."""
    unused = len(codes)
    first = np.full(count, unused, np.int64)
    for start in reversed(range(0, len(codes), _BLOCK)):  # an array as long as all would be slow
        block = codes[start : start + _BLOCK]
        first[block[::-1]] = np.arange(start, start + len(block))[::-1]  # the last written stays
    rank = np.empty(count, np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(count)
    return _recoded(codes, rank), int(np.count_nonzero(first != unused))


def _by_key(codes: Codes, keys: list[str]) -> tuple[Codes, tuple[str, ...]]:
    """The codes anew, in the order of the keys, and the keys that are in use."""
    used = np.zeros(len(keys), np.bool_)
    used[codes] = True
    order = sorted(np.flatnonzero(used).tolist(), key=lambda code: key_order(keys[code]))
    rank = np.zeros(len(keys), np.int32)
    rank[order] = np.arange(len(order))
    return _recoded(codes, rank), tuple(keys[code] for code in order)


def _rated_again(person: Codes, item: Codes, n_items: int) -> tuple[_Places, _Places]:
    """The rows that a later row replaces, in order, and the next row of the same pair."""
    pair = person.astype(np.int64)
    pair *= n_items
    pair += item
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


def _recoded(codes: Codes, new: Codes) -> Codes:
    """The new code of each; nothing is moved where all stay as they are, as they often do."""
    if np.array_equal(new, np.arange(len(new))):
        return codes
    moved = np.empty(len(codes), np.int32)
    for start in range(0, len(codes), _PART):  # numpy makes places of 8 bytes of what it looks up
        part = slice(start, start + _PART)
        moved[part] = new[codes[part]]
    return moved
