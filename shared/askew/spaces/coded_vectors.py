"""Item vectors kept as their codes, an eighth of the numbers, made where they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from askew.spaces.item_codes import Codes, Vectors, check_codes, numbers_of

_AT_ONCE = 1 << 16  # items


class CodedVectors:
    """Vectors (n, D) float32 by their codes (n, W) and scales (D,), each times its boost.

    An array in what devices ask of one: rows, products, and all of it for what asks for more.
    """

    dtype, ndim = np.dtype(np.float32), 2

    def __init__(self, codes: Codes, scales: Vectors, boosts: Vectors | None = None) -> None:
        self._codes, self._scales, self._boosts = codes, scales, boosts

    @property
    def shape(self) -> tuple[int, int]:
        """(n, D)."""
        return len(self._codes), len(self._scales)

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, rows: int | slice | Sequence[int] | NDArray[np.integer]) -> Vectors:
        """These rows, as an array."""
        found = numbers_of(self._codes[rows], self._scales)
        if self._boosts is not None:
            found *= self._boosts[rows, None]
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All of them, of which no copy is kept."""
        return np.asarray(self[:], dtype)

    def __matmul__(self, other: NDArray[Any]) -> NDArray[Any]:
        """(n, D) times (D,) or (D, d), some rows at a time."""
        return np.concatenate([part @ other for part in self._parts()])

    def __mul__(self, boosts: Vectors) -> CodedVectors:
        """Each vector times its boost, (n, 1)."""
        before = np.float32(1) if self._boosts is None else self._boosts
        return CodedVectors(self._codes, self._scales, before * boosts[:, 0])

    def min(self, initial: float) -> np.float32:
        """The least of all numbers and `initial`."""
        return np.float32(min(part.min(initial=initial) for part in self._parts()))

    def max(self, initial: float) -> np.float32:
        """The largest of all numbers and `initial`."""
        return np.float32(max(part.max(initial=initial) for part in self._parts()))

    def _parts(self) -> Iterator[Vectors]:
        return (self[at : at + _AT_ONCE] for at in range(0, len(self), _AT_ONCE))


def held_vectors(data: bytes, scales: Vectors, n: int) -> Vectors:
    """The vectors (n, D) of codes, for a catalog. Raises Malformed for codes of another size."""
    return cast("Vectors", CodedVectors(check_codes(data, len(scales), n), scales))
