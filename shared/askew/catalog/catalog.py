"""What a model can recommend: its items in columns, the vectors that score them, and neighbors."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import overload

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import MAX_YEAR, Item
from askew.errors import DimensionMismatch, OutOfRange
from askew.limits import MAX_TEXT, VERSION_BYTES, check_marks, check_text, is_visible
from askew.spaces.item_codes import joined_vectors

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
        if not 0 <= min(years, default=0) <= max(years, default=0) <= MAX_YEAR:
            raise OutOfRange("a year", f"from 1 to {MAX_YEAR}")
        self._years, self._genres = array("H", years), array("I", genres)
        if max(self._genres) >= len(self._lists):
            raise OutOfRange("the genres of an item", "one of the lists of its file")
        self._check_titles(np.diff(ends, prepend=-1) - 1)

    @classmethod
    def of(cls, items: Sequence[Item]) -> ItemColumns:
        """Return columns of these items; what are columns already is returned as it is. Raises
        OutOfRange for no items.
        """
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


MOST = 32
MOST_ITEMS = 1 << 16
TOP = 15
_LARGEST_STEP = 1024.0


@dataclass(frozen=True, eq=False)
class Neighbors:
    """What vectors leave of a model's scores: what a like of one item adds to a few others. Public.

        added to item j by likes S    boost_j / sqrt(max(|S|, least_likes)) times the sum over i in
                                      S of N_ij = N_ji = step * code,  a code of 1 to 15

    beside what vectors say (`askew.protocol.ranking`). A pair is listed once, by one of its two
    items, each of which lists at most K. Only devices that hold every item have neighbors, and rank
    by them at home: they are in no reply, and nothing is asked by them. At 16 bits an item and 4
    bits a code, K of them take 2.5 K bytes an item.

    items, codes: (n, K), uint16 and uint8; a place without a neighbor has item 0 and code 0.
    Raises OutOfRange outside the limits. Complexity: O(n K) for a person.
    """

    items: NDArray[np.uint16] = field(repr=False)
    codes: NDArray[np.uint8] = field(repr=False)
    step: float

    def __post_init__(self) -> None:
        if self.items.shape != self.codes.shape or self.items.ndim != 2:
            raise OutOfRange("the neighbors of items", "one code each")
        n, count = self.items.shape
        if not 1 <= count <= MOST or n > MOST_ITEMS:
            raise OutOfRange("the neighbors of items", f"1 to {MOST} of at most {MOST_ITEMS} items")
        if (self.items >= n).any() or (self.codes > TOP).any() or self.items[self.codes == 0].any():
            raise OutOfRange("a neighbor", f"an item of the catalog, with a code of 1 to {TOP}")
        if not 0 < self.step <= _LARGEST_STEP:
            raise OutOfRange("the step of neighbors", f"positive and at most {_LARGEST_STEP:g}")

    def __len__(self) -> int:
        """Return the number n of items."""
        return len(self.items)

    @property
    def parts(self) -> Iterator[bytes]:
        """Yield three bytes objects, little-endian: of items (uint16), codes (uint8) and step
        (float64).
        """
        yield self.items.astype("<u2").tobytes()
        yield self.codes.tobytes()
        yield np.float64(self.step).astype("<f8").tobytes()

    def by_likes(self, liked: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return for every item j the sum of N_ij = N_ji = step * code over liked items i, (n,),
        whichever of the two lists the pair; a liked row of n or more adds nothing.
        """
        sums, liked = np.zeros(len(self)), liked[liked < len(self)]
        np.add.at(sums, self.items[liked], self.codes[liked])
        likes = np.zeros(len(self))
        likes[liked] = 1.0
        sums += (likes[self.items] * self.codes).sum(axis=1)
        return self.step * sums

    def moved(self, places: NDArray[np.int64], n: int) -> Neighbors | None:
        """Return the neighbors of the same items in another catalog of n items; None where n is
        above 65536, too large to have any. places: of these items there, (len(self),), -1 for one
        that is gone, to which no item links any more. A new item has no neighbors.
        """
        if n > MOST_ITEMS:
            return None
        items = np.zeros((n, self.items.shape[1]), np.uint16)
        codes = np.zeros(items.shape, np.uint8)
        stay = places >= 0
        neighbors = places[self.items[stay]]
        kept = (neighbors >= 0) & (self.codes[stay] > 0)
        items[places[stay]] = np.where(kept, neighbors, 0)
        codes[places[stay]] = np.where(kept, self.codes[stay], 0)
        return Neighbors(items, codes, self.step)


MAX_VECTOR_SIZE = 1024.0


@dataclass(frozen=True, eq=False)
class Catalog:
    """All items, and what scores them.

    An item's id is its place in `items`. vectors: V, (n_items, D) float32, which likes are folded
    in with. boosts: (n_items,) float32, positive; a score is boost_i * <taste, v_i>.
    shared_slate: item ids in the order in which somebody who knows nothing of the person would
    show them; its first k are the zero-information slate, next to which every figure belongs. Where
    there are default items, it is of the other items, for what they add to those. neighbors: of
    every item, where the catalog is whole and its model has some.
    Raises OutOfRange or DimensionMismatch for a catalog that does not fit together.
    """

    items: Sequence[Item] = field(repr=False)
    vectors: NDArray[np.float32] = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)
    shared_slate: tuple[int, ...] = field(repr=False)
    neighbors: Neighbors | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        n = len(self.items)
        if n == 0 or self.vectors.ndim != 2 or len(self.vectors) != n:
            raise DimensionMismatch(len(self.vectors), n)
        if self.boosts.shape != (n,):
            raise DimensionMismatch(self.boosts.size, n)
        lowest, highest = self.vectors.min(initial=0), self.vectors.max(initial=0)  # NaN, if any is
        if self.vectors.dtype != np.float32 or not max(-lowest, highest) <= MAX_VECTOR_SIZE:
            raise OutOfRange("an item vector", f"float32, at most {MAX_VECTOR_SIZE:g} in size")
        positive = (self.boosts > 0) & (self.boosts <= MAX_VECTOR_SIZE)
        if self.boosts.dtype != np.float32 or not positive.all():
            raise OutOfRange("a boost", f"float32, positive and at most {MAX_VECTOR_SIZE:g}")
        if len(set(self.shared_slate)) != len(self.shared_slate) or any(
            not 0 <= item < n for item in self.shared_slate
        ):
            raise OutOfRange("the shared slate", "distinct items of the catalog")
        if self.neighbors is not None and len(self.neighbors) != n:
            raise DimensionMismatch(len(self.neighbors), n)

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def scoring(self) -> NDArray[np.float32]:
        """Return boost_i * v_i, (n_items, D): what a taste is multiplied with to rank; the vectors
        themselves where all boosts are 1.
        """
        if (self.boosts == 1).all():
            return self.vectors
        scoring: NDArray[np.float32] = self.vectors * self.boosts[:, None]
        return scoring

    def decoded(self) -> Catalog:
        """Return a copy of this catalog whose vectors are one array, for who reads them often."""
        return replace(self, vectors=np.asarray(self.vectors))

    def first(self, n: int) -> Catalog:
        """Return the first n items, at least 1, as a catalog of their own without neighbors; itself
        where n is all. Its shared slate is this one's items below n, then 0, 1, ... (default items
        come best first), as long as this one's, or n if that is less.
        """
        if n == len(self):
            return self
        kept = dict.fromkeys(item for item in (*self.shared_slate, *range(n)) if item < n)
        shared = tuple(kept)[: len(self.shared_slate)]
        return Catalog(self.items[:n], self.vectors[:n], self.boosts[:n], shared)

    def joined(self, more: Catalog) -> Catalog:
        """Return these items, and those of another catalog behind them; this one's shared slate and
        neighbors. Nothing is checked again. O(n) bytes copied, of columns and codes where this has
        those.
        """
        parts = {
            "items": ItemColumns.of(self.items).joined(more.items),
            "vectors": joined_vectors(self.vectors, more.vectors),
            "boosts": np.concatenate([self.boosts, more.boosts]),
            "shared_slate": self.shared_slate,
            "neighbors": self.neighbors,
        }
        both = object.__new__(Catalog)
        for name, part in parts.items():
            object.__setattr__(both, name, part)
        return both

    @cached_property
    def version(self) -> str:
        """Return 32 hexadecimal digits: a digest of every item, vector and boost, the shared slate,
        and neighbors.
        """
        digest = hashlib.sha256()
        digest.update(repr(self.vectors.shape).encode())  # so that no part can pass for another
        items = iter(self.items)
        for start in range(0, len(self), _AT_ONCE):  # all lines at once are larger than the items
            lines = [repr((i.title, i.year, i.genres)) for i in islice(items, _AT_ONCE)]
            digest.update(("\n" * (start > 0) + "\n".join(lines)).encode())
        for numbers in (self.vectors, self.boosts):
            for at in range(0, len(numbers), _AT_ONCE):
                digest.update(np.ascontiguousarray(numbers[at : at + _AT_ONCE], dtype="<f4").data)
        digest.update(repr(self.shared_slate).encode())
        for part in self.neighbors.parts if self.neighbors is not None else ():
            digest.update(part)
        return digest.hexdigest()[: 2 * VERSION_BYTES]
