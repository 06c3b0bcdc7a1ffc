"""Titles as people write them, and the items of a catalog that they name.

A device looks the titles of its person up, a server those of a public release.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import MAX_YEAR, Item, title_key, without_article

_YEAR_AT_THE_END = re.compile(r"(?:(.*) )?\(([1-9][0-9]{0,3})\)")  # as `Item.label` writes it
_ARTICLES = ("", "a ", "an ", "the ")
_ARTICLE_TAGS = range(len(_ARTICLES))
_YEAR_BITS, _ARTICLE_BITS = MAX_YEAR.bit_length(), 2
_TAG_BITS = _YEAR_BITS + _ARTICLE_BITS
_YEARS, _TAGS, _HASHES, _ALL = [
    (1 << bits) - 1 for bits in (_YEAR_BITS, _TAG_BITS, 64 - _TAG_BITS, 64)
]


class TitleIndex:
    """Items by `title_key` of what people type: a label, or a title that is clear alone; an English
    article too many or too few is no matter where that is clear as well. What many items have is
    never clear without their year.

    The index makes keys once and keeps 24 bytes an item of them: a number that says the title
    without its article by 48 bits of a hash, the article, and the year; a hash of the label; and
    the item of each. So it looks at no item to find a title: who makes a catalog must not decide
    how long it takes to find one and not another. The hashes are keyed by the process, so that
    nobody makes two titles of one; two of 400,000 titles have the same 48 bits once in 3,500
    catalogs.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self._count = 0
        self._titles, self._labels = _Sorted(), _Sorted()
        self._add(items)

    def with_more(self, items: Sequence[Item]) -> TitleIndex:
        """Return the index of these items with others behind them, whose numbers go on, the same as
        one of all; this one stays as it is. Looks at the others alone, and moves 24 bytes an item.
        """
        index = object.__new__(TitleIndex)
        index._count, index._titles, index._labels = self._count, self._titles, self._labels
        index._add(items)
        return index

    def _add(self, items: Sequence[Item]) -> None:
        numbers = np.arange(self._count, self._count + len(items), dtype=np.uint32)
        self._titles = self._titles.with_more(
            (_entry(title_key(i.title), i.year or 0) for i in items), numbers
        )
        self._labels = self._labels.with_more((_of_label(item.label) for item in items), numbers)
        self._count += len(items)

    def get(self, key: str) -> int | None:
        """Return the number, from 0, of the item that a `title_key` names: a label, "alien (1979)",
        or a title alone, "alien"; one English article is optional. None where none or several do;
        of several whose very label it is, the first. Looks at no item. O(log n_items).
        """
        entries, run = _labels(key), self._titles.run
        alike = [run(entry & ~_TAGS, entry | _TAGS) for entry in entries]
        labels = [run(entry, entry, every) for entry, every in zip(entries, alike, strict=True)]
        titles = run(entries[0], entries[0] | _YEARS, alike[0])
        for entry, every in zip(entries[1:], alike[1:], strict=True):  # of one year
            dated = [entry & ~_TAGS | tag << _YEAR_BITS | entry & _YEARS for tag in _ARTICLE_TAGS]
            alike[1:] = [run(year, year, every) for year in dated]
        numbers = self._titles.numbers
        firsts = [numbers[places.start] for places in labels if places]
        if firsts:
            return min(firsts)
        if len(titles) == 1:
            return numbers[titles.start]
        clear = [places.start for places in alike if places]
        return numbers[clear[0]] if sum(map(len, alike)) == 1 else None

    def of_label(self, label: str) -> int | None:
        """Return the number, from 0, of the first item of a label, "Alien (1979)", to the letter,
        or None. Looks at no item. O(log n).
        """
        key = _of_label(label)
        places = self._labels.run(key, key)
        return self._labels.numbers[places.start] if places else None

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None


class _Sorted:
    """Numbers of items by keys of 64 bits, ascending; of equal keys the lower number first."""

    def __init__(self) -> None:
        self.keys, self.numbers = array("Q"), array("I")

    def with_more(self, keys: Iterable[int], numbers: NDArray[np.uint32]) -> _Sorted:
        new = np.fromiter(keys, np.uint64, len(numbers))
        order = np.argsort(new, kind="stable")
        before = np.frombuffer(self.keys, np.uint64)
        places = np.searchsorted(before, new[order], side="right")
        merged = _Sorted()
        merged.keys.frombytes(np.insert(before, places, new[order]).tobytes())
        every = np.insert(np.frombuffer(self.numbers, np.uint32), places, numbers[order])
        merged.numbers.frombytes(every.tobytes())
        return merged

    def run(self, first: int, last: int, within: range | None = None) -> range:
        start, stop = (0, len(self.keys)) if within is None else (within.start, within.stop)
        start = bisect_left(self.keys, first, start, stop)
        return range(start, bisect_right(self.keys, last, start, stop))


def _of_label(label: str) -> int:
    return hash(label) & _ALL


def _entry(key: str, year: int) -> int:
    bare = without_article(key)
    article = _ARTICLES.index(key.removesuffix(bare))
    return (hash(bare) & _HASHES) << _TAG_BITS | article << _YEAR_BITS | year


def _labels(key: str) -> list[int]:
    # Without a year, and with.
    dated = _YEAR_AT_THE_END.fullmatch(key)
    return [_entry(key, 0), *([] if dated is None else [_entry(dated[1] or "", int(dated[2]))])]
