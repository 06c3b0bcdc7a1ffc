"""The columns of the canonical loss: runs of equal counts beyond rank k."""

from __future__ import annotations

import numpy as np

from askew.mechanisms.tally import Integers, Tally


def columns_of(
    tally: Tally, k: int, edge: int, merged: bool, splits: tuple[int, ...]
) -> tuple[Integers, Integers, Integers]:
    """First and last rank of each run of equal counts beyond rank k, and how far below x_k it is.

    `splits` are ranks after which a run ends although its count goes on.
    """
    d = len(tally)
    if d == k:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    values = tally.values[tally.group_of(k) :]
    lasts = np.array([d]) if merged else tally.ends[tally.group_of(k) :]
    more = [rank for rank in splits if k < rank < d]
    if more:
        lasts = np.unique(np.concatenate((lasts, more)))
    firsts = np.append(k, lasts[:-1]) + 1
    if merged:
        return firsts, lasts, np.zeros(len(lasts), dtype=np.int64)
    counts = tally.values[np.searchsorted(tally.ends, lasts - 1, side="right")] if more else values
    return firsts, lasts, edge - counts
