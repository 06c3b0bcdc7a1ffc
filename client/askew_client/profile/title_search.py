"""Search in a catalog by the words of a title. On the device: no search is ever sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, islice
from typing import overload

from askew.catalog.item import Item
from askew.catalog.joined_catalog import JoinedItems
from askew.catalog.title_key import plain_text, title_key
from askew_client.profile.document import ProfileDocument
from askew_client.profile.title_words import WordLines
from askew_client.views.answers import Match, Rated, Title


class Titles(Sequence[Title]):
    """The titles of items, each made when it is looked at: most never are."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items

    def with_more(self, items: Sequence[Item]) -> Titles:
        """With those of other items behind them."""
        return Titles(JoinedItems(self._items, items))

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


class Matches(Sequence[Match]):
    """What a search found, with the person's own ratings, each made when it is looked at: a list
    shows a few lines of hundreds.
    """

    def __init__(
        self, titles: Sequence[Title], places: Sequence[int], document: ProfileDocument
    ) -> None:
        self._titles, self._places, self._document = titles, places, document

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> Match: ...

    @overload
    def __getitem__(self, at: slice) -> Matches: ...

    def __getitem__(self, at: int | slice) -> Match | Matches:
        if isinstance(at, slice):
            return Matches(self._titles, self._places[at], self._document)
        title, document = self._titles[self._places[at]], self._document
        label = document.rated.get(title_key(title.label)) if document.ratings else None
        return Match(title, None if label is None else Rated(label, document.ratings[label]))


class TitleSearch:
    """The titles of items, ready to be searched with every key press."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.titles = Titles(items)
        self._parts: tuple[_Part, ...] = (_Part(items, 0),)

    def with_more(self, items: Sequence[Item]) -> TitleSearch:
        """With more items behind these. O(size of those)."""
        search = object.__new__(TitleSearch)
        search.titles = self.titles.with_more(items)
        search._parts = (*self._parts, _Part(items, len(self.titles)))
        return search

    def find(self, text: str, limit: int) -> tuple[Title, ...]:
        """Titles that contain every word of `text`; those that begin with it come first."""
        return tuple([self.titles[at] for at in self.places(text, limit)])

    def places(self, text: str, limit: int) -> list[int]:
        """Where they are in the catalog."""
        wanted = plain_text(text).strip()
        words = {word.rstrip(",") for word in wanted.split()} - {""}  # as of "Suspects, The"
        found = list(islice(chain.from_iterable(p.having(words) for p in self._parts), limit + 1))
        # Of many, those that begin with it may be among the rest.
        among = found if len(found) <= limit else None
        begun = chain.from_iterable(part.beginning(wanted, among) for part in self._parts)
        first = list(islice(begun, limit))
        known = set(first)
        return [*first, *(at for at in found if at not in known)][:limit]


class _Part:
    """Items that stand together, by where they are in the catalog: from `first` on."""

    def __init__(self, items: Sequence[Item], first: int) -> None:
        self._items, self._first = items, first
        self._oddly_spaced: set[int] = set()
        self._lines = WordLines(self._words())

    def having(self, words: Set[str]) -> Iterator[int]:
        """Those that contain each of these words."""
        return (self._first + at for at in self._lines.having(words))

    def beginning(self, wanted: str, among: Sequence[int] | None) -> Iterator[int]:
        """Those, of all or of some, that begin with what is wanted, to the letter."""
        words = wanted.split()
        evenly = wanted == " ".join(words)
        own = None if among is None else self._own(among)
        for at in self._lines.beginning(words, own):
            if at in self._oddly_spaced:
                begins = plain_text(self._items[at].label).startswith(wanted)
            else:
                begins = evenly
            if begins:
                yield self._first + at

    def _own(self, places: Iterable[int]) -> list[int]:
        return [at - self._first for at in places if 0 <= at - self._first < len(self._items)]

    def _words(self) -> Iterator[list[str]]:
        for at, item in enumerate(self._items):
            text = plain_text(item.label)
            if "  " in text or text != text.strip():
                self._oddly_spaced.add(at)
            yield text.split()
