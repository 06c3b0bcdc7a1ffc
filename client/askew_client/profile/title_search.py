"""Search in a catalog by the words of a title. On the device: no search is ever sent.

The labels of all items are one text, in lower case without accents, a line each, and a word is
looked for in it byte by byte: some 25 ms for 400,000 titles, without an index.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from askew.catalog.item import Item
from askew.catalog.title_key import plain_text, title_key
from askew_client.profile.document import ProfileDocument
from askew_client.views.answers import Match, Rated

_END = b"\n"  # in no label


class Matches(Sequence[Match]):
    """What a search places, with the person's own ratings, each made when it is looked at: a list
    shows a few lines of hundreds.
    """

    def __init__(
        self, items: Sequence[Item], places: Sequence[int], document: ProfileDocument
    ) -> None:
        self._items, self._places, self._document = items, places, document

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Match: ...

    @overload
    def __getitem__(self, at: slice) -> Matches: ...

    def __getitem__(self, at: int | slice) -> Match | Matches:
        if isinstance(at, slice):
            return Matches(self._items, self._places[at], self._document)
        item, document = self._items[self._places[at]], self._document
        label = document.rated.get(title_key(item.label)) if document.ratings else None
        rated = None if label is None else Rated(label, document.ratings[label])
        return Match(item.label, item.genres, rated)


class TitleSearch:
    """The labels of items, ready to be searched with every key press."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._text, self._starts = _END, array("I")
        self._add(items)

    def with_more(self, items: Sequence[Item]) -> TitleSearch:
        """Return a search with more items behind these, whose text is copied and not made again;
        this one stays as it is.
        """
        search = TitleSearch(())
        search._text, search._starts = self._text, self._starts[:]
        search._add(items)
        return search

    def places(self, text: str, limit: int) -> list[int]:
        """Return the indexes of at most `limit` items whose labels contain every word of `text`, in
        any case and without accents; an empty text finds the first items.

        Those that begin with the text come first, and each of the two parts is ascending.
        """
        wanted = plain_text(text).strip()
        words = {word.rstrip(",") for word in wanted.split()} - {""}  # as of "Suspects, The"
        places = list(islice(self._having([_encoded(word) for word in words]), limit + 1))
        beginning = _END + _encoded(wanted)
        if len(places) <= limit:  # these are all, so those that begin with it are among them
            first = [at for at in places if self._text.startswith(beginning, self._starts[at] - 1)]
        else:
            first = list(islice(self._lines(beginning), limit))
        taken = set(first)
        return [*first, *(at for at in places if at not in taken)][:limit]

    def _add(self, items: Sequence[Item]) -> None:
        lines = [_encoded(plain_text(item.label)) + _END for item in items]
        start = len(self._text)
        for line in lines:
            self._starts.append(start)
            start += len(line)
        self._text = b"".join([self._text, *lines])

    def _having(self, words: Sequence[bytes]) -> Iterator[int]:
        # Ascending. The longest word is rare more often than others.
        for at in self._lines(max(words, key=len)) if words else range(len(self._starts)):
            start, end = self._starts[at], self._text.index(_END, self._starts[at])
            if all(self._text.find(word, start, end) >= 0 for word in words):
                yield at

    def _lines(self, part: bytes) -> Iterator[int]:
        # Ascending. A part that begins with _END begins its line.
        place = self._text.find(part)
        while place >= 0:
            inside = place + part.startswith(_END)
            yield bisect_right(self._starts, inside) - 1
            place = self._text.find(part, self._text.find(_END, inside))


def _encoded(text: str) -> bytes:
    # What a terminal made of bytes that are no text is in no label.
    return text.encode(errors="surrogatepass")
