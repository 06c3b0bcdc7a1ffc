"""The keys of a saved model's items: bytes in a row, where a string each would be four times as
large. A server never looks at them, and has to read them all the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np


class StoredKeys(Sequence[str]):
    """Keys in order of item id. distinct: whether no two are the same."""

    def __init__(self, keys: Iterable[str]) -> None:
        text, ends, hashes = bytearray(), array("q", [0]), array("q")
        for key in keys:
            text += key.encode()
            ends.append(len(text))
            hashes.append(hash(key))
        self._text, self._ends = bytes(text), ends
        ascending = np.frombuffer(hashes, dtype=np.int64)
        ascending.sort()  # in place: a set of all keys is larger than they are
        differ = bool((ascending[1:] != ascending[:-1]).all())
        self.distinct = differ or len(set(self)) == len(self)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple([self[each] for each in range(*at.indices(len(self)))])
        place = range(len(self))[at]
        return self._text[self._ends[place] : self._ends[place + 1]].decode()
