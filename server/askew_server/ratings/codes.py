"""Codes of keys: the numbers from 0 on that stand for the different values of a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]

_DENSE, _SMALL = 4, 1 << 20  # a table of so many entries a value, or so many in all, is quicker


def coded(values: NDArray[np.integer]) -> tuple[Codes, NDArray[np.int64]]:
    """The code of each value, and the values by code, which ascend.

    Linear where the values lie close together, as ids mostly do, and a sort of them elsewhere.
    """
    if not values.size:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > _DENSE * values.size + _SMALL:
        different, places = np.unique(values, return_inverse=True)
        return places.astype(np.int32), different.astype(np.int64)
    places = values - values.dtype.type(low) if low else values
    seen = np.zeros(high - low + 1, np.bool_)
    seen[places] = True
    different = np.flatnonzero(seen)
    rank = np.empty(len(seen), np.int32)
    rank[different] = np.arange(len(different), dtype=np.int32)
    return recoded(places, rank), different + low


def recoded(codes: NDArray[np.integer], new: Codes) -> Codes:
    """The new code of each; nothing is moved where all stay as they are, as they often do."""
    if codes.dtype == np.int32 and np.array_equal(new, np.arange(len(new))):
        return codes.astype(np.int32, copy=False)
    moved: Codes = new[codes]
    return moved
