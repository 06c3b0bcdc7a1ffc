"""A table of ratings grown file by file, without a Python object per row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from askew_server.ratings.codes import Codes, recoded
from askew_server.ratings.fields import key_order
from askew_server.ratings.file_rows import Coded, FileRows, Rows, no_keys
from askew_server.ratings.rejects import EXAMPLES, RejectLog
from askew_server.ratings.table import RatingTable

if TYPE_CHECKING:
    from askew_server.ratings.columns import Columns


class TableBuilder:
    """Collects ratings in compact arrays and makes the table of them."""

    def __init__(self) -> None:
        self._people = no_keys()
        self._items = no_keys()
        self._files: list[FileRows] = []

    def begin(self, path: Path, columns: Columns | None = None) -> None:
        """Begins with a file, and with the plainly good rows of its columns if there are any."""
        self._files.append(FileRows(path, self._people, self._items, columns))

    def add(
        self, line: int, user: str, item: str, rating: float, time: float | None = None
    ) -> None:
        """Adds one checked row of the file. time: of all rows, or of none."""
        self._files[-1].add(line, user, item, rating, time)

    def table(self, rejects: RejectLog, counts: float | None = None) -> RatingTable:
        """The table; of several ratings of an item by a person the last stays, and counts add up.

        counts: the least count that is a like, where there are counts.
        """
        person, item, rating, time = self._joined()
        if not person.size:
            raise rejects.nothing_good("rating")
        keys, rank = _sorted_keys(list(self._items))
        person, item = _by_first_row(person, len(self._people)), recoded(item, rank)
        if counts is not None:
            every = RatingTable(person, item, rating, len(self._people), keys, time=time)
            return every.likes_of_counts(counts)
        replaced, by = _rated_again(person, item, len(keys))
        if replaced.size:
            self._log_replaced(replaced, by, rejects)
            keep = np.ones(len(person), np.bool_)
            keep[replaced] = False
            person, item, rating = person[keep], item[keep], rating[keep]
            time = None if time is None else time[keep]
        return RatingTable(person, item, rating, len(self._people), keys, time=time)

    def _joined(self) -> Coded:
        """The rows of all files."""
        files = [file.coded() for file in self._files]
        self._ends = np.cumsum([len(rows.rating) for rows in files])
        if len(files) == 1:
            return files[0]
        person, item, rating = (np.concatenate([rows[at] for rows in files]) for at in range(3))
        times = [rows.time for rows in files if rows.time is not None]
        return Coded(person, item, rating, np.concatenate(times) if times else None)

    def _log_replaced(self, replaced: Rows, by: Rows, rejects: RejectLog) -> None:
        for earlier, later in zip(replaced[:EXAMPLES].tolist(), by.tolist(), strict=False):
            path, line = self._origin(earlier)
            where, again = self._origin(later)
            of = "" if where == path else f" of {where.name}"
            rejects.add(line, f"rated again on line {again}{of}", path)
        rejects.count_more(len(replaced[EXAMPLES:]))

    def _origin(self, row: int) -> tuple[Path, int]:
        """The file and the line of a row."""
        at = int(np.searchsorted(self._ends, row, side="right"))
        return self._files[at].path, self._files[at].line(row - int(self._ends[at - 1]) * (at > 0))


def _by_first_row(codes: Codes, count: int) -> Codes:
    """The codes anew, in the order of their first rows."""
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # of one code's rows, the last to be written
    rank = np.empty(count, np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(count)
    return recoded(codes, rank)


def _sorted_keys(keys: list[str]) -> tuple[tuple[str, ...], Codes]:
    """The keys in order, and the place of each given key in that order."""
    order = sorted(range(len(keys)), key=lambda code: key_order(keys[code]))
    rank = np.empty(len(keys), np.int32)
    rank[order] = np.arange(len(keys))
    return tuple(keys[code] for code in order), rank


def _rated_again(person: Codes, item: Codes, n_items: int) -> tuple[Rows, Rows]:
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
