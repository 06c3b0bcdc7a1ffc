"""k items that cost equally likely people least, each going to their nearest: greedy, then swaps.

    cost(S) = sum_p min_{i in S} c_pi,    c_pi whole numbers from 0 to 65535, held as float32

With at most 256 people every sum stays below 2**24, so float32 adds exactly: no order of summation
and no number of threads changes an answer, and ties are true ties, won by the first item. Sums are
numpy's own: a product by BLAS would be as exact, but its threads wait for each other on a busy
machine a hundred times as long as the product takes.

Shapes: costs (m, c), people by items. Complexity: O(k c m) for the greedy choice, O(c m) a swap
over all pairs of an item and a slot. Source: k-median by local search, Arya et al. 2004; greedy
start, Cornuejols, Fisher and Nemhauser 1977.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float32]
Items = NDArray[np.int64]
LEVELS = 65535
MOST_PEOPLE = 2**24 // (LEVELS + 1)
_SWAPS = 3  # more of them fit the sample, and nobody else


def whole(distances: Costs) -> Costs:
    """Distances as whole numbers, the largest 65535; overwrites them."""
    top = float(distances.max())
    distances *= np.float32(LEVELS / top if top > 0 else 0.0)
    return np.rint(distances, out=distances)


def cost(costs: Costs, items: Items) -> float:
    """What these items cost everybody together."""
    return float(costs[:, items].min(axis=1).sum())


def choose(costs: Costs, k: int) -> Items:
    """k distinct items, (k,), 1 <= k <= c."""
    items, by_person = _greedy(costs, k), np.ascontiguousarray(costs)
    for _ in range(_SWAPS):
        if not _swap(by_person, items):
            break
    return items


def _greedy(costs: Costs, k: int) -> Items:
    """One item after the other, each the best beside those before it."""
    by_item = np.ascontiguousarray(costs.T)
    best = np.full(len(costs), LEVELS, np.float32)
    ones, taken = np.ones_like(best), np.zeros(len(by_item), np.float32)
    beside, items = np.empty_like(by_item), np.empty(k, np.int64)
    for slot in range(k):
        np.minimum(by_item, best, out=beside)
        item = int((np.vecdot(beside, ones) + taken).argmin())
        items[slot], taken[item] = item, np.inf
        np.minimum(best, by_item[item], out=best)
    return items


def _swap(costs: Costs, items: Items) -> bool:
    """Makes the best swap, if one saves anything."""
    chosen = costs[:, items]
    owner = chosen.argmin(axis=1)
    order = np.argsort(owner, kind="stable")  # people of one slot stand together
    costs, chosen, owner = costs[order], chosen[order], owner[order]
    people = np.arange(len(costs))
    first = chosen[people, owner]
    chosen[people, owner] = LEVELS
    beside = np.minimum(costs, first[:, None])
    more = np.minimum(costs, chosen.min(axis=1)[:, None])  # once a person's own item is gone
    more -= beside
    ends = np.searchsorted(owner, np.arange(len(items) + 1)).tolist()
    lost = [np.add.reduce(more[start:end]) for start, end in pairwise(ends)]
    totals = np.array(lost) + beside.sum(axis=0)  # (k, c): slot out, item in
    totals[:, items] = np.inf
    out, into = np.unravel_index(totals.argmin(), totals.shape)
    if totals[out, into] >= first.sum():
        return False
    items[out] = into
    return True
