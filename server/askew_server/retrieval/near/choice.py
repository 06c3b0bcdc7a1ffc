"""k items that cost equally likely people least, each going to their nearest: greedy, then swaps.

    cost(S) = sum_p min_{i in S} c_ip,    c_ip whole numbers from 0 to 65535, held as float32

With at most 256 people every sum stays below 2**24, so float32 adds exactly: no order of summation,
number of threads or library changes an answer, and ties are true ties, won by the first row.

Shapes: costs (c, m). Complexity: O(k c m) for the greedy choice, O(c m + c m k) a swap in one
matrix product over all pairs of a candidate and a slot. Source: k-median by local search, Arya et
al. 2004; greedy start, Cornuejols, Fisher and Nemhauser 1977.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float32]
LEVELS = 65535
MOST_PEOPLE = 2**24 // (LEVELS + 1)  # 256
_SWAPS = 4  # more of them fit the sample, and nobody else


def whole(distances: Costs) -> Costs:
    """Distances (c, m) as whole numbers, the largest 65535; overwrites them."""
    top = float(distances.max())
    distances *= np.float32(LEVELS / top if top > 0 else 0.0)
    return np.rint(distances, out=distances)


def cost(costs: Costs, rows: NDArray[np.int64]) -> float:
    """What these rows cost everybody together."""
    return float(costs[rows].min(axis=0).sum())


def choose(costs: Costs, k: int) -> NDArray[np.int64]:
    """k distinct rows, (k,), 1 <= k <= c."""
    rows = _greedy(costs, k)
    for _ in range(_SWAPS):
        if not _swap(costs, rows):
            break
    return rows


def _greedy(costs: Costs, k: int) -> NDArray[np.int64]:
    """One row after the other, each the best beside those before it."""
    ones = np.ones(costs.shape[1], np.float32)
    best = np.full(costs.shape[1], LEVELS, np.float32)
    taken = np.zeros(len(costs), np.float32)
    together = np.empty_like(costs)
    rows = np.empty(k, np.int64)
    for slot in range(k):
        np.minimum(costs, best, out=together)
        row = int((together @ ones + taken).argmin())
        rows[slot], taken[row] = row, np.inf
        np.minimum(best, costs[row], out=best)
    return rows


def _swap(costs: Costs, rows: NDArray[np.int64]) -> bool:
    """Makes the best swap, if one saves anything."""
    chosen = costs[rows]
    owner = chosen.argmin(axis=0)
    people = np.arange(costs.shape[1])
    first = chosen[owner, people]
    chosen[owner, people] = LEVELS
    second = chosen.min(axis=0)
    owns = np.zeros((costs.shape[1], len(rows)), np.float32)
    owns[people, owner] = 1
    # Beside all rows, and what a person pays more once their own row is gone.
    beside = np.minimum(costs, first)
    more = np.minimum(costs, second) - beside
    totals = beside.sum(axis=1)[:, None] + more @ owns
    totals[rows] = np.inf
    row, slot = np.unravel_index(totals.argmin(), totals.shape)
    if totals[row, slot] >= first.sum():
        return False
    rows[slot] = row
    return True
