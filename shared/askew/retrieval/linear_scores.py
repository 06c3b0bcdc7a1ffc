"""What items are worth at any point, nearly, by d + 1 numbers an item.

A point is decoded to a taste that is linear in d shifts w (`Encoder.tastes`), so a score is, too:

    f_i(w) = <v_i, origin> + sum_j w_j <v_i, p_j>,    p_j the taste that a shift of 1 adds

The exact score of an item, which decides, is the float64 product s_i = <v_i, taste> of its vector
with the decoded taste, summed in the same order for every item. What is computed here is F_i.

Slack. Let V be the largest |v_i|_2, and R = |origin|_2 + sum_j max|w_j| |p_j|_2, so that no taste
is longer than R and no |f_i| is above V R. By the bound of any sum of n products, n u / (1 - n u),
with u = 2**-53 and s = 2**-24, the unit roundoff of float32, in which F is computed:

    |s_i - f_i| <= ((d + 2) u + D u) V R (1 + ...)    the taste is rounded, then the product
    |F_i - f_i| <= (D u + (d + 4) s) V R (1 + ...)    numbers, their cast, shifts' cast, the sum

so |F_i - s_i| < margin := (2 (D + d + 8) u + (d + 8) s) V R + 2**-80, where the rest of 8 covers
the second order (D, d <= 256) and the rounding of one threshold F - 2 margin, and 2**-80 underflow.
So an item whose F is more than 2 margin below another's has the lower exact score. Where V R is
beyond 2**80, F is 0 for all, which tells nothing and is never wrong, whatever the margin: it is
that of 2**80, which float32 can say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.encoder import Encoder

_BLOCK = 256  # items whose best one stands for them
_AT_ONCE = 1 << 19  # scores: 2 MiB, which stay in a core's own cache
_LARGEST = 2.0**80


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Some items. numbers: (1 + d, m). items: (m,), their ascending ids. margin: see above. before:
    as `doubles_before`, (m,).
    """

    numbers: NDArray[Any] = field(repr=False)
    items: NDArray[np.int64] = field(repr=False)
    margin: float
    before: NDArray[np.int32] = field(repr=False)

    def __len__(self) -> int:
        """The number m of items."""
        return len(self.items)

    @property
    def dimension(self) -> int:
        """The number d of shifts."""
        return len(self.numbers) - 1

    def at(self, shifts: NDArray[np.float64], some: slice | NDArray[np.int64]) -> NDArray[Any]:
        """F of some of the items at these shifts (n, d), (n, number of those items).

        All numbers are finite. OpenBLAS 0.3.31 calls a row times columns of 5 invalid now and then,
        by what its registers held before; the product is right.
        """
        with np.errstate(invalid="ignore"):
            found: NDArray[Any] = self.factors(shifts) @ self.numbers[:, some]
        return found

    def factors(self, shifts: NDArray[np.float64]) -> NDArray[Any]:
        """What the numbers are multiplied with, (n, 1 + d)."""
        moved = np.ones((len(shifts), 1 + self.dimension), self.numbers.dtype)
        moved[:, 1:] = shifts
        return moved

    def only(self, rows: NDArray[np.int64]) -> LinearScores:
        """These of the items, ascending."""
        return LinearScores(self.numbers[:, rows], self.items[rows], self.margin, self.before[rows])

    def leading(self, shifts: NDArray[np.float64], k: int) -> LinearScores:
        """At least the k items of the best exact scores at each of these shifts (n, d), and all
        that may be as good as those. O(m n d) time, O(n m / 256) memory.

        The k-th largest of what blocks of items have at most is reached by k items.
        """
        if len(self) * len(shifts) <= _AT_ONCE or len(self) < k * _BLOCK:
            return self
        most = self._most_of_blocks(shifts)  # (n, blocks)
        reached = np.partition(most, -k, axis=1)[:, -k:].min(axis=1, keepdims=True)
        least = reached - 2 * self.margin
        blocks = np.flatnonzero((most >= least).any(axis=0))
        kept = []
        for part in np.array_split(blocks, 1 + len(blocks) * _BLOCK * len(shifts) // _AT_ONCE):
            rows = (part[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
            rows = rows[rows < len(self)]
            kept.append(rows[(self.at(shifts, rows) >= least).any(axis=0)])
        return self.only(np.concatenate(kept))

    def _most_of_blocks(self, shifts: NDArray[np.float64]) -> NDArray[Any]:
        """The largest F of each block of items, (n, blocks)."""
        n, size = len(shifts), _BLOCK * max(_AT_ONCE // (_BLOCK * len(shifts)), 1)
        parts = []
        for start in range(0, len(self), size):
            found = self.at(shifts, slice(start, start + size))
            whole = found.shape[1] // _BLOCK * _BLOCK
            parts.append(found[:, :whole].reshape(n, -1, _BLOCK).max(axis=2))
            if whole < found.shape[1]:
                parts.append(found[:, whole:].max(axis=1, keepdims=True))
        return np.concatenate(parts, axis=1)


def numbers_of(encoder: Encoder, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The d + 1 numbers of each of these items (m, D), (1 + d, m)."""
    along = np.vstack([encoder.origin, encoder.per_shift])
    numbers: NDArray[np.float64] = along @ vectors.T.astype(np.float64)
    return numbers


def largest_score(encoder: Encoder, vectors: NDArray[np.float32]) -> float:
    """V R, rounded up."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    shifts = np.abs(encoder.shift_limits).max(axis=0)
    tastes = np.linalg.norm(encoder.origin.astype(np.float64))
    tastes += shifts @ np.linalg.norm(encoder.per_shift, axis=1)
    return float(np.sqrt(squares.max()) * tastes) * (1 + 2.0**-40)


def margin_of(encoder: Encoder, largest: float) -> float:
    """How far F can be off where no score is above `largest`."""
    d, sizes = encoder.dimension, encoder.dimension + encoder.ranking_dimension
    unit, own = 2.0**-53, 2.0**-24
    return (2 * (sizes + 8) * unit + (d + 8) * own) * min(largest, _LARGEST) + 2.0**-80


def is_measurable(largest: float) -> bool:
    """Whether F tells anything: no number is so large that it could overflow."""
    return largest <= _LARGEST
