"""Titles as people write them, and the items of a catalog that they name.

A device looks the titles of its person up, a server those of a public release.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from askew.model_card import Catalog

# "Avventura, L' (1960)", "City of Lost Children, The (Cité des enfants perdus, La) (1995)"
_ARTICLE_AT_THE_END = re.compile(
    r"([^(]+), (the|an?|l[aeo]s?|l'|il|el|der|die|das|den|det|une?|una)( \(.*)?"
)
_ARTICLE_AT_THE_START = re.compile(r"^(the|an?) (?=[^(])")


def title_key(text: str) -> str:
    """What a title is found by: "Misérables, The (1998)" and "the miserables (1998)" are one."""
    plain = " ".join(plain_text(text).split())
    turned = _ARTICLE_AT_THE_END.fullmatch(plain)
    if turned is None:
        return plain
    name, article, rest = turned.groups(default="")
    joint = "" if article.endswith("'") else " "
    return f"{article}{joint}{name}{rest}"


class TitleIndex:
    """The items of a catalog by `title_key` of what people type: a label, or a title that is clear
    alone; an English article too many or too few is no matter where that is clear as well.
    """

    def __init__(self, catalog: Catalog) -> None:
        """Of two items with one label the lower id counts."""
        labels, titles, bare = _Hashes(), _Hashes(), _Hashes()
        for number, item in enumerate(catalog.items):
            title, label = title_key(item.title), title_key(item.label)
            labels.add(label, number)
            titles.add(title, number)
            for each in {_without_article(title), _without_article(label)}:
                bare.add(each, number)
        self._labels, self._titles, self._bare = labels.first(), titles.clear(), bare.clear()

    def get(self, key: str) -> int | None:
        """The item of a key, or None."""
        found = self._labels.get(key)
        if found is None:
            found = self._titles.get(key)
        return self._bare.get(_without_article(key)) if found is None else found

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None


class LabelIndex:
    """The items of a catalog by their labels, to the letter. The lower of two counts."""

    def __init__(self, catalog: Catalog) -> None:
        labels = _Hashes()
        for number, item in enumerate(catalog.items):
            labels.add(item.label, number)
        self._labels = labels.first()

    def __getitem__(self, label: str) -> int:
        found = self._labels.get(label)
        if found is None:
            raise KeyError(label)
        return found

    def __contains__(self, label: str) -> bool:
        return self._labels.get(label) is not None


class _Places:
    """Numbers by the hashes of keys: 12 bytes a key, which with its text in a dictionary has two
    hundred. Two keys of one 64-bit hash would be taken for each other: the odds that any two of a
    million are is 3e-8, and who names the keys does not know how they are hashed.
    """

    def __init__(self, hashes: NDArray[np.int64], numbers: NDArray[np.int32]) -> None:
        """Ascending hashes, each once; a negative number is none."""
        self._hashes, self._numbers = array("q", hashes.tobytes()), array("i", numbers.tobytes())

    def get(self, key: str) -> int | None:
        """The number of a key, or None."""
        wanted = hash(key)
        at = bisect_left(self._hashes, wanted)
        if at == len(self._hashes) or self._hashes[at] != wanted or self._numbers[at] < 0:
            return None
        return self._numbers[at]


class _Hashes:
    """Keys that are being collected, with a number each."""

    def __init__(self) -> None:
        self._hashes, self._numbers = array("q"), array("i")

    def add(self, key: str, number: int) -> None:
        """One more."""
        self._hashes.append(hash(key))
        self._numbers.append(number)

    def first(self) -> _Places:
        """The lowest number of each key."""
        hashes, lowest, _ = self._grouped()
        return _Places(hashes, lowest)

    def clear(self) -> _Places:
        """The number of each key that has only one."""
        hashes, lowest, highest = self._grouped()
        return _Places(hashes, np.where(lowest == highest, lowest, -1).astype(np.int32))

    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        hashes, numbers = np.frombuffer(self._hashes, np.int64), np.frombuffer(self._numbers, "i4")
        order = np.argsort(hashes, kind="stable")
        hashes, numbers = hashes[order], numbers[order]
        starts = np.flatnonzero(np.diff(hashes, prepend=hashes[0] - 1))
        lowest = np.minimum.reduceat(numbers, starts)
        return hashes[starts], lowest, np.maximum.reduceat(numbers, starts)


def _without_article(key: str) -> str:
    return _ARTICLE_AT_THE_START.sub("", key)


def plain_text(text: str) -> str:
    """Lower case without accents, so that "amelie" finds "Amélie"."""
    if text.isascii():  # the same, and most are
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in decomposed if not unicodedata.combining(each))
