"""Items in columns: a device keeps 400,000 titles in a quarter of the memory of objects."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import MAX_YEAR, Item
from askew.errors import OutOfRange
from askew.limits import MAX_TEXT, check_marks, check_text, is_visible

_AT_ONCE = 1 << 12  # items
_BLANK = re.compile("^ *$", re.MULTILINE)
_TITLE = "a title or genre"
_NO_TITLE = OutOfRange(_TITLE, f"printable text of 1 to {MAX_TEXT} characters")


class ItemColumns(Sequence[Item]):
    """Items, each made when it is looked at: their titles as UTF-8, a line each, their years and
    the numbers of their lists of genres.
    """

    def __init__(
        self,
        titles: bytes,
        years: Sequence[int],
        genres: Sequence[int],
        lists: Sequence[tuple[str, ...]],
    ) -> None:
        """titles: UTF-8, a line each. years: 0 where none is known. genres: places in `lists`.

        Raises OutOfRange where an item would, and unless there are as many of each.
        """
        if not titles.count(b"\n") + 1 == len(years) == len(genres):
            raise OutOfRange("the columns of items", "as many titles as years and genres")
        self._lists = tuple(lists)
        for genres_of_an_item in self._lists:
            Item("any", None, genres_of_an_item)  # checks them
        self._text = titles
        ends = np.flatnonzero(np.frombuffer(titles, np.uint8) == ord("\n"))
        ends = np.append(ends, len(titles))
        self._ends = array("I", ends.astype(np.uint32).tobytes())
        self._years, self._genres = _years(years), array("I", genres)
        if max(self._genres) >= len(self._lists):
            raise OutOfRange("the genres of an item", "one of the lists of its file")
        self._check_titles(np.diff(ends, prepend=-1) - 1)

    @classmethod
    def of(cls, items: Sequence[Item]) -> ItemColumns:
        """Return columns of any items, of which there is at least one."""
        if isinstance(items, ItemColumns):
            return items
        lists = {genres: at for at, genres in enumerate(dict.fromkeys(i.genres for i in items))}
        genres = [lists[item.genres] for item in items]
        titles = "\n".join([item.title for item in items])
        return cls(titles.encode(), [item.year or 0 for item in items], genres, [*lists])

    def joined(self, more: Sequence[Item]) -> ItemColumns:
        """Return these items, and others behind them. They are items already: nothing is checked.
        O(n) bytes copied.
        """
        if not more:
            return self
        behind, both = ItemColumns.of(more), object.__new__(ItemColumns)
        both._text = b"\n".join([self._text, behind._text])
        start, lists = len(self._text) + 1, len(self._lists)
        both._ends = self._ends + array("I", [start + end for end in behind._ends])
        both._years = self._years + behind._years
        both._genres = self._genres + array("I", [lists + number for number in behind._genres])
        both._lists = self._lists + behind._lists
        return both

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, at: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(at, slice):
            return tuple([self[place] for place in range(*at.indices(len(self)))])
        at = range(len(self))[at]
        return next(self._some(at, at + 1))

    def __iter__(self) -> Iterator[Item]:
        for first in range(0, len(self), _AT_ONCE):
            yield from self._some(first, min(first + _AT_ONCE, len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as of anything compared by its content

    def _some(self, first: int, last: int) -> Iterator[Item]:
        titles = self._text[self._start(first) : self._ends[last - 1]].decode().split("\n")
        rows = zip(titles, self._years[first:last], self._genres[first:last], strict=True)
        return (_item(title, year or None, self._lists[at]) for title, year, at in rows)

    def _check_titles(self, sizes: NDArray[np.int64]) -> None:
        # A character has 1 to 4 bytes. Some at a time: as text they may take four times as much
        # memory.
        if not sizes.all() or sizes.max() > 4 * MAX_TEXT:
            raise _NO_TITLE
        try:
            for first in range(0, len(self), _AT_ONCE):
                start, last = self._start(first), self._ends[min(first + _AT_ONCE, len(self)) - 1]
                text = self._text[start:last].decode()
                plain = text.replace("\n", " ").isprintable() and not _BLANK.search(text)
                if not plain and not all(map(is_visible, text.split("\n"))):
                    raise _NO_TITLE
                check_marks(_TITLE, text)  # a line ends a row of them
        except UnicodeDecodeError:
            raise _NO_TITLE from None
        for at in np.flatnonzero(sizes > MAX_TEXT).tolist():
            check_text(_TITLE, self[at].title)

    def _start(self, at: int) -> int:
        return self._ends[at - 1] + 1 if at else 0


def _item(title: str, year: int | None, genres: tuple[str, ...]) -> Item:
    # Of columns that were checked: looking at the words again would take most of the time.
    item = object.__new__(Item)
    object.__setattr__(item, "title", title)
    object.__setattr__(item, "year", year)
    object.__setattr__(item, "genres", genres)
    return item


def _years(years: Sequence[int]) -> array[int]:
    if not 0 <= min(years, default=0) <= max(years, default=0) <= MAX_YEAR:
        raise OutOfRange("a year", f"from 1 to {MAX_YEAR}")
    return array("H", years)
