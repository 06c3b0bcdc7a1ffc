"""Titles as people write them, and the items of a catalog that they name.

A device looks the titles of its person up, a server those of a public release.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right

import numpy as np

from askew.item import Item
from askew.model_card import Catalog
from askew.title_key import title_key, without_article

_YEAR_AT_THE_END = re.compile(r"(.*?) ?\([0-9]{1,4}\)")  # as `Item.label` writes it


class TitleIndex:
    """The items of a catalog by `title_key` of what people type: a label, or a title that is clear
    alone; an English article too many or too few is no matter where that is clear as well.

    Kept are 8 bytes an item: half the hash of its title without an article, and its number. Whether
    an item is meant is seen by its title then.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Of two items with one label the lower id counts."""
        self._items = catalog.items
        keys = (_hash(without_article(title_key(item.title))) for item in catalog.items)
        hashes = np.fromiter(keys, np.uint32, len(catalog))
        order = np.argsort(hashes, kind="stable").astype(np.uint32)  # of one hash ascending
        self._numbers = array("I", order.tobytes())
        self._hashes = array("I", hashes[order].tobytes())

    def get(self, key: str) -> int | None:
        """The item of a key, or None."""
        near = [(at, _keys(self._items[at])) for at in self._near(key)]
        labels = [at for at, (_, label) in near if label == key]
        if labels:
            return labels[0]
        titles = [at for at, (title, _) in near if title == key]
        if len(titles) == 1:
            return titles[0]
        bare = without_article(key)
        alike = [at for at, keys in near if bare in map(without_article, keys)]
        return alike[0] if len(alike) == 1 else None

    def of_label(self, label: str) -> int | None:
        """The item of a label, to the letter, or None. The lower of two counts."""
        near = self._near(title_key(label))
        return next((at for at in near if self._items[at].label == label), None)

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def _near(self, key: str) -> list[int]:
        """The items, ascending, whose title or label may have this key but for an article."""
        dated = _YEAR_AT_THE_END.fullmatch(key)
        titles = {key} if dated is None else {key, dated[1]}
        hashes = {_hash(without_article(title)) for title in titles}
        return sorted(at for wanted in hashes for at in self._of_hash(wanted))

    def _of_hash(self, wanted: int) -> array[int]:
        first = bisect_left(self._hashes, wanted)
        return self._numbers[first : bisect_right(self._hashes, wanted, first)]


def _keys(item: Item) -> tuple[str, str]:
    return title_key(item.title), title_key(item.label)


def _hash(key: str) -> int:
    """32 bits: two titles of a million often have the same, which costs a look at both."""
    return hash(key) & 0xFFFFFFFF
