"""Codes of keys: the numbers from 0 on that stand for the different values of a column."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Keys = defaultdict[str, int]
"""The code of each key; one that is new gets the next code."""

_BLOCK = 1 << 16
_DENSE, _SMALL = 4, 1 << 20  # a table of so many entries a value, or so many in all, is quicker


def no_keys() -> Keys:
    """None yet."""
    keys = Keys(int)
    keys.default_factory = keys.__len__
    return keys


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
    moved = np.empty(len(codes), np.int32)
    for start in range(0, len(codes), _BLOCK):  # numpy makes places of 8 bytes of what it looks up
        part = slice(start, start + _BLOCK)
        moved[part] = new[codes[part]]
    return moved
