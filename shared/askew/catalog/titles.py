"""Titles as people write them, and the items of a catalog that they name.

A device looks the titles of its person up, a server those of a public release.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.item import MAX_YEAR, Item
from askew.catalog.title_key import title_key, without_article

_YEAR_AT_THE_END = re.compile(r"(?:(.*) )?\(([1-9][0-9]{0,3})\)")  # as `Item.label` writes it
_ARTICLES = ("", "a ", "an ", "the ")
_ARTICLE_TAGS = range(len(_ARTICLES))
_YEAR_BITS, _ARTICLE_BITS = MAX_YEAR.bit_length(), 2
_TAG_BITS = _YEAR_BITS + _ARTICLE_BITS
_YEARS, _TAGS, _HASHES = [(1 << bits) - 1 for bits in (_YEAR_BITS, _TAG_BITS, 64 - _TAG_BITS)]


class TitleIndex:
    """The items of a catalog by `title_key` of what people type: a label, or a title that is clear
    alone; an English article too many or too few is no matter where that is clear as well. What
    many items have is never clear without their year.

    Keys are made once, here, and 12 bytes an item are kept of them: a number that says the title
    without its article by 48 bits of a hash, the article, and the year; and the item. So to find a
    title no item is looked at: who makes a catalog must not decide how long it takes to find one
    and not another. The hash is keyed by the process, so that nobody makes two titles of one; two
    of a million titles have the same once in 500 catalogs.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Of two items with one label the lower id counts."""
        self._items = catalog.items
        keys = np.fromiter(map(_of_item, catalog.items), np.uint64, len(catalog))
        order = np.argsort(keys, kind="stable").astype(np.uint32)
        keys = keys[order]
        for same in _runs_of_one(keys):
            order[same] = sorted(order[same].tolist(), key=lambda at: catalog.items[at].label)
        self._numbers = array("I", order.tobytes())
        self._entries = array("Q", keys.tobytes())

    def with_more(self, catalog: Catalog) -> TitleIndex:
        """The index of a catalog that begins with the items of this one, the same as if made of it.
        Looks at the others alone, and moves 12 bytes an item.
        """
        index, first = object.__new__(TitleIndex), len(self._items)
        others = ((catalog.items[at], at) for at in range(first, len(catalog)))
        more = sorted([(_of_item(item), item.label, at) for item, at in others])
        places = [self._behind(entry, label) for entry, label, _ in more]
        index._items = catalog.items
        index._numbers = _with(self._numbers, places, [at for *_, at in more])
        index._entries = _with(self._entries, places, [entry for entry, *_ in more])
        return index

    def get(self, key: str) -> int | None:
        """The item of a key, or None; of several with its label, the first by letters. Looks at no
        item. O(log n_items).
        """
        entries = _labels(key)
        alike = [self._run(entry & ~_TAGS, entry | _TAGS) for entry in entries]
        labels = [self._run(each, each, run) for each, run in zip(entries, alike, strict=True)]
        titles = self._run(entries[0], entries[0] | _YEARS, alike[0])
        for entry, every in zip(entries[1:], alike[1:], strict=True):  # of one year
            dated = [entry & ~_TAGS | tag << _YEAR_BITS | entry & _YEARS for tag in _ARTICLE_TAGS]
            alike[1:] = [self._run(each, each, every) for each in dated]
        firsts = [self._numbers[run.start] for run in labels if run]
        if firsts:
            return min(firsts)
        if len(titles) == 1:
            return self._numbers[titles.start]
        clear = [run.start for run in alike if run]
        return self._numbers[clear[0]] if sum(map(len, alike)) == 1 else None

    def of_label(self, label: str) -> int | None:
        """The item of a label, to the letter, or None. The lower of two counts. O(log n_items)."""
        found = []
        for entry in _labels(title_key(label)):
            run = self._run(entry, entry)
            at = bisect_left(self._numbers, label, run.start, run.stop, key=self._label)
            found += [self._numbers[at]] if at < run.stop else []
        return next((at for at in sorted(found) if self._label(at) == label), None)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def _run(self, first: int, last: int, within: range | None = None) -> range:
        """Where entries from one to another stand."""
        start, stop = (0, len(self._entries)) if within is None else (within.start, within.stop)
        start = bisect_left(self._entries, first, start, stop)
        return range(start, bisect_right(self._entries, last, start, stop))

    def _behind(self, entry: int, label: str) -> int:
        """Where the items of an entry end that have this label, or one before it."""
        run = self._run(entry, entry)
        return bisect_right(self._numbers, label, run.start, run.stop, key=self._label)

    def _label(self, number: int) -> str:
        return self._items[number].label


def _runs_of_one(keys: NDArray[np.uint64]) -> Iterator[slice]:
    """Where the same ascending key stands twice or more."""
    ends = np.flatnonzero(np.diff(keys, append=keys[-1:] + np.uint64(1)))
    starts = np.append(0, ends[:-1] + 1)
    for run in np.flatnonzero(starts < ends):
        yield slice(starts[run], ends[run] + 1)


def _with(column: array[int], places: list[int], more: list[int]) -> array[int]:
    """A column with more numbers, each put before the one at its place."""
    new = np.insert(np.frombuffer(column, column.typecode), places, np.array(more, column.typecode))
    return array(column.typecode, new.tobytes())


def _of_item(item: Item) -> int:
    return _entry(title_key(item.title), item.year or 0)


def _entry(key: str, year: int) -> int:
    """What is kept of the key of a title."""
    bare = without_article(key)
    article = _ARTICLES.index(key.removesuffix(bare))
    return (hash(bare) & _HASHES) << _TAG_BITS | article << _YEAR_BITS | year


def _labels(key: str) -> list[int]:
    """What is kept of titles whose label has this key: of one without a year, and of one with."""
    dated = _YEAR_AT_THE_END.fullmatch(key)
    return [_entry(key, 0), *([] if dated is None else [_entry(dated[1] or "", int(dated[2]))])]
