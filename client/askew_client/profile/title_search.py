"""Search in a catalog by the words of a title. On the device: no search is ever sent."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import overload

from askew.item import Item
from askew.model_card import Catalog
from askew.title_key import plain_text
from askew_client.views.rated import Title

_END = "\n"  # in no title: they are printable
_SAMPLE = 1 << 16  # characters
_AT_ONCE = 4096  # titles, so that there are never many pieces of text


class Titles(Sequence[Title]):
    """The titles of items, each made when it is looked at: most never are."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, at: int) -> Title: ...

    @overload
    def __getitem__(self, at: slice) -> Titles: ...

    def __getitem__(self, at: int | slice) -> Title | Titles:
        if isinstance(at, slice):
            return Titles(self._items[at])
        item = self._items[at]
        return Title(item.label, item.title, item.genres)


class TitleSearch:
    """The titles of one catalog, ready to be searched with every key press.

    All of them are one text, a line each, so that looking for a word runs at the speed of memory
    and stops with the last title that is shown.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.titles = Titles(catalog.items)
        parts, self._starts = [_END], array("q", [1])
        for first in range(0, len(catalog.items), _AT_ONCE):
            some = catalog.items[first : first + _AT_ONCE]
            lines = [plain_text(item.label) + _END for item in some]
            self._starts.extend(accumulate(map(len, lines), initial=self._starts.pop()))
            parts.append("".join(lines))
        self._text = "".join(parts)

    def find(self, text: str, limit: int) -> tuple[Title, ...]:
        """Titles that contain every word of `text`; those that begin with it come first."""
        wanted = plain_text(text).strip()
        words = [word.rstrip(",") for word in wanted.split()]  # "Usual Suspects, The" is typed too
        found = list(islice(self._lines_with(self._rarest(words), words), limit + 1))
        if len(found) > limit:  # those that begin with it may be among the rest
            first = list(islice(self._lines_with(_END + wanted, words), limit))
            found = first + [at for at in found if not self._begins(at, wanted)]
        else:
            found.sort(key=lambda at: not self._begins(at, wanted))  # stable
        return tuple(self.titles[at] for at in found[:limit])

    def _begins(self, at: int, wanted: str) -> bool:
        return self._text.startswith(wanted, self._starts[at])

    def _rarest(self, words: list[str]) -> str:
        """The word that few titles of the first ones have, so that the fewest lines are read."""
        return min(
            words, key=lambda word: (self._text.count(word, 0, _SAMPLE), -len(word)), default=""
        )

    def _lines_with(self, anchor: str, words: list[str]) -> Iterator[int]:
        """The lines that have `anchor`, ascending, and all the words."""
        text, place = self._text, 0 if anchor.startswith(_END) else 1
        while 0 <= (place := text.find(anchor, place)) < len(text) - 1:
            at = bisect_right(self._starts, place + anchor.startswith(_END)) - 1
            start, end = self._starts[at], self._starts[at + 1] - 1
            if all(text.find(word, start, end) >= 0 for word in words):
                yield at
            place = end + (not anchor)  # or nothing would be found in this line again
