"""The columns of the canonical loss: runs of equal counts beyond rank k, and blocks of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from askew.mechanisms.tally import Integers, Tally


@dataclass(frozen=True, repr=False)
class Columns:
    """First and last rank of each column, and how far its count is below x_k. All (n,).

    A block is a run of `width` columns in one row; blocks are numbered row by row.
    """

    firsts: Integers
    lasts: Integers
    below: Integers

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def width(self) -> int:
        """How many columns a block holds, but for the last of a row."""
        return max(64, isqrt(len(self)))

    def borders(self) -> tuple[Integers, Integers]:
        """The first and the last column of each block of a row."""
        starts = np.arange(0, len(self), self.width)
        return starts, np.append(starts[1:], len(self)) - 1

    def block(self, number: int) -> tuple[int, int, int]:
        """The row, first column and last column of a block."""
        row, block = divmod(number, -(-len(self) // self.width))
        return row, block * self.width, min((block + 1) * self.width, len(self)) - 1

    def cells(self, blocks: Integers) -> tuple[Integers, Integers]:
        """The rows and columns of all cells in blocks that are given as (row, place in it)."""
        columns = (blocks[:, 1, None] * self.width + np.arange(self.width)).ravel()
        rows = np.repeat(blocks[:, 0], self.width)
        real = columns < len(self)
        return (rows, columns) if real.all() else (rows[real], columns[real])


def columns_of(tally: Tally, k: int, edge: int, merged: bool, splits: tuple[int, ...]) -> Columns:
    """Each run of equal counts beyond rank k, the count x_k being `edge`.

    `splits` are ranks after which a run ends although its count goes on.
    """
    d = len(tally)
    if d == k:
        nothing = np.zeros(0, dtype=np.int64)
        return Columns(nothing, nothing, nothing)
    values = tally.values[tally.group_of(k) :]
    lasts = np.array([d]) if merged else tally.ends[tally.group_of(k) :]
    more = [rank for rank in splits if k < rank < d]
    if more:
        lasts = np.unique(np.concatenate((lasts, more)))
    firsts = np.append(k, lasts[:-1]) + 1
    if merged:
        return Columns(firsts, lasts, np.zeros(len(lasts), dtype=np.int64))
    counts = tally.values[np.searchsorted(tally.ends, lasts - 1, side="right")] if more else values
    return Columns(firsts, lasts, edge - counts)
