"""Titles as people write them, and the items of a catalog that they name.

A device looks the titles of its person up, a server those of a public release.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from askew.item import MAX_YEAR, Item
from askew.model_card import Catalog
from askew.title_key import title_key, without_article

_YEAR_AT_THE_END = re.compile(r"(.*?) ?\(([0-9]{1,4})\)")  # as `Item.label` writes it
_YEAR_BITS = MAX_YEAR.bit_length()
_FEW = 8  # items of one title: of more, a year says which are looked at


class TitleIndex:
    """The items of a catalog by `title_key` of what people type: a label, or a title that is clear
    alone; an English article too many or too few is no matter where that is clear as well. What
    many items have is never clear without their year.

    Kept are 8 bytes an item: half the hash of its title without an article, and its number; those
    of one hash stand by year, label and number. Whether an item is meant is seen by its title then.
    Who makes a catalog must not decide how long it takes to find one title and not another, so a
    few items are looked at, however many have a title.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Of two items with one label the lower id counts."""
        self._items = catalog.items
        keys = np.fromiter(map(_order, catalog.items), np.uint64, len(catalog))
        order = np.argsort(keys, kind="stable").astype(np.uint32)
        keys = keys[order]
        for same in _runs_of_one(keys):  # title and year
            order[same] = sorted(order[same].tolist(), key=lambda at: catalog.items[at].label)
        self._numbers = array("I", order.tobytes())
        self._hashes = array("I", (keys >> _YEAR_BITS).astype(np.uint32).tobytes())

    def with_more(self, catalog: Catalog) -> TitleIndex:
        """The index of a catalog that begins with the items of this one, the same as if made of it.
        Looks at the others alone, and moves 8 bytes an item.
        """
        index, first = object.__new__(TitleIndex), len(self._items)
        others = ((catalog.items[at], at) for at in range(first, len(catalog)))
        more = sorted([(_order(item), item.label, at) for item, at in others])
        places = [self._behind(order, label) for order, label, _ in more]
        index._items = catalog.items
        index._numbers = _with(self._numbers, places, [at for *_, at in more])
        index._hashes = _with(self._hashes, places, [order >> _YEAR_BITS for order, *_ in more])
        return index

    def get(self, key: str) -> int | None:
        """The item of a key, or None. O(log n_items)."""
        runs = self._runs(key)
        dated = [self._of_year(*run) for run in runs]
        some = self._numbers_at(each[:_FEW] for each in dated)
        near = [(at, _keys(self._items[at])) for at in some]
        labels = [at for at, (_, label) in near if label == key]
        if labels:
            return labels[0]
        if max(map(len, (runs[0][0], *dated))) > _FEW:
            return None
        titles = [at for at, (title, _) in near if title == key]
        if len(titles) == 1:
            return titles[0]
        bare = without_article(key)
        alike = [at for at, keys in near if bare in map(without_article, keys)]
        return alike[0] if len(alike) == 1 else None

    def of_label(self, label: str) -> int | None:
        """The item of a label, to the letter, or None. The lower of two counts. O(log n_items)."""
        firsts = [self._first(run, (year, label)) for run, year in self._runs(title_key(label))]
        near = self._numbers_at(firsts)
        return next((at for at in near if self._items[at].label == label), None)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def _runs(self, key: str) -> list[tuple[range, int]]:
        """Where items stand whose title or label may have this key but for an article, with the
        year that a label of this key is of.
        """
        dated = _YEAR_AT_THE_END.fullmatch(key)
        titles = [(key, 0)] if dated is None else [(key, 0), (dated[1], int(dated[2]))]
        return [(self._run(_hash(without_article(title))), year) for title, year in titles]

    def _run(self, wanted: int) -> range:
        """Where a hash stands."""
        first = bisect_left(self._hashes, wanted)
        return range(first, bisect_right(self._hashes, wanted, first))

    def _behind(self, order: int, label: str) -> int:
        """Where the items of a title, year and label end."""
        run, year = self._run(order >> _YEAR_BITS), order & ((1 << _YEAR_BITS) - 1)
        return bisect_right(self._numbers, (year, label), run.start, run.stop, key=self._dated)

    def _first(self, run: range, dated: tuple[int, str]) -> range:
        """The first item of a year and label, or the one that stands where it would."""
        at = bisect_left(self._numbers, dated, run.start, run.stop, key=self._dated)
        return range(at, min(at + 1, run.stop))

    def _of_year(self, run: range, year: int) -> range:
        """A few as they are; of many those of this year."""
        if len(run) <= _FEW:
            return run
        within = self._numbers, year, run.start, run.stop
        return range(bisect_left(*within, key=self._year), bisect_right(*within, key=self._year))

    def _year(self, number: int) -> int:
        return self._items[number].year or 0

    def _dated(self, number: int) -> tuple[int, str]:
        item = self._items[number]
        return item.year or 0, item.label

    def _numbers_at(self, runs: Iterable[range]) -> list[int]:
        """The items of some runs, ascending."""
        return sorted({self._numbers[at] for run in runs for at in run})


def _runs_of_one(keys: NDArray[np.uint64]) -> Iterator[slice]:
    """Where the same ascending key stands twice or more."""
    ends = np.flatnonzero(np.diff(keys, append=keys[-1:] + np.uint64(1)))
    starts = np.append(0, ends[:-1] + 1)
    for run in np.flatnonzero(starts < ends):
        yield slice(starts[run], ends[run] + 1)


def _with(column: array[int], places: list[int], more: list[int]) -> array[int]:
    """A column with more numbers, each put before the one at its place."""
    return array("I", np.insert(column, places, np.array(more, np.uint32)).tobytes())


def _order(item: Item) -> int:
    """The hash of its title, and its year behind that."""
    return _hash(without_article(title_key(item.title))) << _YEAR_BITS | (item.year or 0)


def _keys(item: Item) -> tuple[str, str]:
    return title_key(item.title), title_key(item.label)


def _hash(key: str) -> int:
    """32 bits: two titles of a million often have the same, which costs a look at both."""
    return hash(key) & 0xFFFFFFFF
