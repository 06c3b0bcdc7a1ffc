"""Items that a device met behind those that it holds, without a copy of what it holds: there may be
a million, as codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar, cast, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item

Number = TypeVar("Number", bound=np.floating[Any])


def joined(catalog: Catalog, more: Catalog) -> Catalog:
    """A catalog, and the items of another behind its own; its shared slate. Nothing is checked
    again. O(n_items) for the boosts, a few bytes each; the rest takes as long as the others are
    many.
    """
    both = object.__new__(Catalog)
    boosts = np.concatenate([catalog.boosts, more.boosts])
    parts = {
        "items": JoinedItems(catalog.items, more.items),
        "vectors": joined_rows(catalog.vectors, more.vectors),
        "boosts": boosts,
        "shared_slate": catalog.shared_slate,
    }
    for name, part in parts.items():
        object.__setattr__(both, name, part)
    return both


def joined_rows(before: NDArray[Number], more: NDArray[Number]) -> NDArray[Number]:
    """Rows (n, D), and others (m, D) behind them: what is asked of either, of both."""
    return cast("NDArray[Number]", JoinedRows(before, more))


class JoinedItems(Sequence[Item]):
    """Items, and others behind them."""

    def __init__(self, before: Sequence[Item], more: Sequence[Item]) -> None:
        self._before, self._more = before, more

    def __len__(self) -> int:
        return len(self._before) + len(self._more)

    @overload
    def __getitem__(self, at: int) -> Item: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, at: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(*at.indices(len(self)))])
        at, first = range(len(self))[at], len(self._before)
        return self._before[at] if at < first else self._more[at - first]

    def __iter__(self) -> Iterator[Item]:
        return chain(self._before, self._more)


class JoinedRows:
    """Two arrays as one, in what devices ask of one: rows, products, and all of it for what asks
    for more.
    """

    ndim = 2

    def __init__(self, before: NDArray[Any], more: NDArray[Any]) -> None:
        self._before, self._more = before, more
        self.dtype = before.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(n + m, D)."""
        return len(self), self._before.shape[1]

    def __len__(self) -> int:
        return len(self._before) + len(self._more)

    def __getitem__(self, rows: slice | Sequence[int] | NDArray[np.integer]) -> NDArray[Any]:
        """These rows, as an array."""
        first = len(self._before)
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step != 1 or stop > first:
                return self[np.arange(start, stop, step)]
            return self._before[start:stop]
        at = np.asarray(rows, dtype=np.int64)
        found = np.empty((len(at), self.shape[1]), self.dtype)
        is_new = at >= first
        found[~is_new], found[is_new] = self._before[at[~is_new]], self._more[at[is_new] - first]
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All of them, of which no copy is kept."""
        return np.concatenate([self._before, self._more], dtype=dtype)

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        """(n + m, D) times (D,) or (D, d)."""
        return np.concatenate([self._before @ other, self._more @ other])

    def __mul__(self, boosts: NDArray[Any]) -> JoinedRows:
        """Each row times its boost, (n + m, 1)."""
        first = len(self._before)
        return JoinedRows(self._before * boosts[:first], self._more * boosts[first:])
