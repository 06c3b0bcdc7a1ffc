"""What a model can recommend: its items, and the vectors that score them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from askew.catalog.columns import ItemColumns
from askew.catalog.item import Item
from askew.catalog.neighbors import Neighbors
from askew.errors import DimensionMismatch, OutOfRange
from askew.limits import VERSION_BYTES
from askew.spaces.item_codes import joined_vectors

MAX_VECTOR_SIZE = 1024.0
_AT_ONCE = 4096  # items


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
        """Return boost_i * v_i, (n_items, D): what a taste is multiplied with to rank."""
        if (self.boosts == 1).all():
            return self.vectors
        scoring: NDArray[np.float32] = self.vectors * self.boosts[:, None]
        return scoring

    def decoded(self) -> Catalog:
        """Return this catalog with its vectors as one array, for what reads all of them often."""
        return replace(self, vectors=np.asarray(self.vectors))

    def first(self, n: int) -> Catalog:
        """Return the first n items, as a catalog of their own, without neighbors, which are for who
        holds every item. Its shared slate is as long as this one, or as there are items: default
        items come best first, and this slate is of the others.
        """
        if n == len(self):
            return self
        kept = dict.fromkeys(item for item in (*self.shared_slate, *range(n)) if item < n)
        shared = tuple(kept)[: len(self.shared_slate)]
        return Catalog(self.items[:n], self.vectors[:n], self.boosts[:n], shared)

    def joined(self, more: Catalog) -> Catalog:
        """Return these items, and those of another catalog behind them; this one's shared slate.
        Nothing is checked again. O(n) bytes copied, of columns and codes where this has those.
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
        for array in (self.vectors, self.boosts):
            for at in range(0, len(array), _AT_ONCE):
                digest.update(np.ascontiguousarray(array[at : at + _AT_ONCE], dtype="<f4").data)
        digest.update(repr(self.shared_slate).encode())
        for part in self.neighbors.parts if self.neighbors is not None else ():
            digest.update(part)
        return digest.hexdigest()[: 2 * VERSION_BYTES]
