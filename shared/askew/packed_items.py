"""Items in columns: what a device holds of a million titles, at a quarter of what objects take."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange
from askew.item import MAX_YEAR, Item
from askew.plain_text import MAX_TEXT, check_marks, check_text

_AT_ONCE = 1 << 12  # items
_PIECE = 1 << 16  # characters
_TITLE = "a title or genre"


class PackedItems(Sequence[Item]):
    """Items, each made when it is looked at: their titles as UTF-8, a line each, their years and
    the numbers of their lists of genres.
    """

    def __init__(
        self,
        titles: str,
        years: Sequence[int],
        genres: Sequence[int],
        lists: Sequence[tuple[str, ...]],
    ) -> None:
        """titles: a line each. years: 0 where none is known. genres: places in `lists`.

        Raises OutOfRange where an item would, and unless there are as many of each.
        """
        self._lists = tuple(lists)
        for each in self._lists:
            Item("any", None, each)
        _check_printable(titles)
        check_marks(_TITLE, titles)  # a line ends a row of them
        self._text = titles.encode()
        ends = np.flatnonzero(np.frombuffer(self._text, np.uint8) == ord("\n"))
        ends = np.append(ends, len(self._text))
        self._ends = array("I", ends.astype(np.uint32).tobytes())
        if not len(self._ends) == len(years) == len(genres):
            raise OutOfRange("the columns of items", "as many titles as years and genres")
        self._years, self._genres = _years(years), array("I", genres)
        if max(self._genres) >= len(self._lists):
            raise OutOfRange("the genres of an item", "one of the lists of its file")
        self._check_lengths(np.diff(ends, prepend=-1) - 1)

    @classmethod
    def of(cls, items: Sequence[Item]) -> PackedItems:
        """Any items, of which there is at least one."""
        lists = {genres: at for at, genres in enumerate(dict.fromkeys(i.genres for i in items))}
        genres = [lists[item.genres] for item in items]
        titles = "\n".join([item.title for item in items])
        return cls(titles, [item.year or 0 for item in items], genres, [*lists])

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, at: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(*at.indices(len(self)))])
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
        start = self._ends[first - 1] + 1 if first else 0
        titles = self._text[start : self._ends[last - 1]].decode().split("\n")
        rows = zip(titles, self._years[first:last], self._genres[first:last], strict=True)
        return (_item(title, year or None, self._lists[at]) for title, year, at in rows)

    def _check_lengths(self, sizes: NDArray[np.int64]) -> None:
        """Raises OutOfRange for a title that is none, or long. A character has 1 to 4 bytes."""
        if not sizes.all():
            check_text(_TITLE, "")
        for at in np.flatnonzero(sizes > MAX_TEXT).tolist():
            check_text(_TITLE, self[at].title)


def _item(title: str, year: int | None, genres: tuple[str, ...]) -> Item:
    """An item of columns that were checked: looking at its words again takes most of its time."""
    item = object.__new__(Item)
    object.__setattr__(item, "title", title)
    object.__setattr__(item, "year", year)
    object.__setattr__(item, "genres", genres)
    return item


def _years(years: Sequence[int]) -> array[int]:
    if not 0 <= min(years, default=0) <= max(years, default=0) <= MAX_YEAR:
        raise OutOfRange("a year", f"from 1 to {MAX_YEAR}")
    return array("H", years)


def _check_printable(titles: str) -> None:
    """Raises OutOfRange for a character that is not. Some at a time: a copy is as large."""
    for start in range(0, len(titles), _PIECE):
        piece = titles[start : start + _PIECE].replace("\n", " ")
        if not piece.isprintable():
            raise OutOfRange(_TITLE, f"printable text of 1 to {MAX_TEXT} characters")
