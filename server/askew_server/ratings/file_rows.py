"""The rows of one file of ratings: those of its columns, and those that were judged one by one."""

from __future__ import annotations

from array import array
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew_server.ratings.codes import Codes, recoded
from askew_server.ratings.lines import among_all

if TYPE_CHECKING:
    from askew_server.ratings.columns import Columns

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Keys = defaultdict[str, int]
"""The code of each key; one that is new gets the next code."""


def no_keys() -> Keys:
    """None yet."""
    keys = Keys(int)
    keys.default_factory = keys.__len__
    return keys


class Coded(NamedTuple):
    """Ratings in the order of their rows: codes of people and items, ratings and times."""

    person: Codes
    item: Codes
    rating: Floats
    time: Floats | None


class FileRows:
    """Collects the rows of a file in compact arrays; keys that are new get the next codes."""

    def __init__(self, path: Path, people: Keys, items: Keys, columns: Columns | None) -> None:
        self.path = path
        self._keys = people, items
        self._lines = array("q")
        self._codes = array("i"), array("i")
        self._rating, self._time = array("d"), array("d")
        self._columns = columns

    def add(self, line: int, user: str, item: str, rating: float, time: float | None) -> None:
        """Adds a checked row, after those of lower lines."""
        self._lines.append(line)
        for codes, keys, key in zip(self._codes, self._keys, (user, item), strict=True):
            codes.append(keys[key])
        self._rating.append(rating)
        if time is not None:
            self._time.append(time)

    def coded(self) -> Coded:
        """All rows, in order."""
        added = Coded(
            np.frombuffer(self._codes[0], np.int32),
            np.frombuffer(self._codes[1], np.int32),
            np.frombuffer(self._rating, np.float64),
            np.frombuffer(self._time, np.float64) if self._time else None,
        )
        if (given := self._columns) is None:
            return added
        people, items = self._keys
        person = _known(given.person, given.people, people)
        columns = Coded(person, _known(given.item, given.items, items), given.rating, given.time)
        self._columns = given.without_rows()
        if not self._lines:
            return columns
        places = np.frombuffer(self._lines, np.int64) - given.first
        at = places - np.searchsorted(given.odd, places)  # so many odd rows are before each
        return Coded(*(_inserted(*parts, at) for parts in zip(columns, added, strict=True)))

    def line(self, row: int) -> int:
        """The line of a row among all that were added."""
        lines = np.frombuffer(self._lines, np.int64)
        if self._columns is None:
            return int(lines[row])
        first = self._columns.first
        left_out = np.setdiff1d(self._columns.odd, lines - first)
        return first + int(among_all(np.array([row]), left_out)[0])


def _known(codes: Codes, keys: list[str], known: Keys) -> Codes:
    """The codes as those of all files."""
    return recoded(codes, np.fromiter(map(known.__getitem__, keys), np.int32, len(keys)))


def _inserted(columns: Any, added: Any, at: Rows) -> Any:
    return columns if added is None else np.insert(columns, at, added)
