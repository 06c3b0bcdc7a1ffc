"""Rules that choose k items near a place, or near a point on axes, for a noisy signal.

`nearest` and `codebook` look at the signal alone, clamped into the space. `items` and `posterior`
weigh the people who may have sent it:

    objective of a set S    sum over rows r of  weight of r * min_{i in S} cost(i, r)

A row is some of the people: at one of m positions, with a want or without (`wants`). `items` and
`posterior` make a set of their own. The candidates are the item nearest to each position, those
beside whoever has a want, and those of `codebook` and `nearest`; the choice is greedy, then swaps.
The server answers by the best of the own set, `codebook` and `nearest` by the objective, ties in
this order. A set is a function of the signal and of public things alone: post-processing.

*The choice.* Costs times weights are whole numbers, held as float32, whose largest of each row come
to less than 2**24 together. So every sum is below 2**24 and float32 adds exactly: no order of
summation and no number of threads changes an answer, and the first item wins a tie. So the same
bytes get the same answer in any process. Sums are numpy's own: a product by BLAS would be as exact,
but its threads wait for each other on a busy machine a hundred times as long as the product takes.
The greedy choice keeps what each item would save, and looks again only at rows that found a better
item, about r / i of them at the i-th. Shapes: costs (r, c), rows by items. Complexity: O(r c log k)
for the greedy choice, O(r c) a swap over all pairs of an item and a slot. Source: k-median by local
search, Arya et al. 2004; greedy start, Cornuejols, Fisher and Nemhauser 1977.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from askew.catalog.attributes import Column
from askew.errors import ParameterError
from askew.placement.problem import Disutility, Identity
from askew.protocol.signal import Signal
from askew_server.retrieval.density import CACHED_LAWS, ByDensity, ByNoise
from askew_server.retrieval.index import MetricIndex, Points, Rows
from askew_server.retrieval.wants import LOST, Costs, Wants

RESULTS_PER_SLOT = 32
MOST = 2**24 - 2**12  # that costs come to; rounding adds at most half a unit a row
_SWAPS = 2  # more of them fit the sample, and nobody else


class NearRule(ABC):
    """A way to choose items for a signal that fits the space."""

    @abstractmethod
    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the k distinct ids, ascending, of the items that this rule shows for a signal.

        Raises ParameterError unless 1 <= k <= the number of items.
        """

    def slots(self, signal: Signal, k: int) -> int:  # noqa: ARG002
        """Return what `choose` takes, in slots of a queue, 2 to 3 ms each: k // 32. It is 0 below
        32 results, which need no queue and no thread.
        """
        return k // RESULTS_PER_SLOT


class Nearest(NearRule):
    """The k items nearest to the signal, clamped into the space. O(k log n)."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the ids of the k items nearest to the signal, ascending; it is clamped first."""
        _require_items(self._index, k)
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))[None]
        return np.sort(self._index.nearest(frame.tree(center), k)[0])


class CodebookRule(NearRule):
    """The item nearest to each probe; then a probe whose item was another's takes the nearest that
    is free, the probe nearest to the signal first. Fewer probes than k, where no placement of k is
    at hand, take turns. O(k log n), or O(k**2) where probes compete for items.
    """

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index = index
        measure = disutility or Identity()
        self._offsets = lru_cache(CACHED_LAWS)(
            lambda epsilon, k: index.frame.offsets(epsilon, measure, k)
        )

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the k ids of the probes' items, all different, ascending. Raises ParameterError
        for a k not from 1 to the number of items.
        """
        _require_items(self._index, k)
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        offsets = frame.spread(signal, self._offsets(frame.epsilon(signal), k))
        probes = frame.tree(frame.inside(center + offsets))
        nearest = self._index.nearest(probes)[:, 0]
        taken = dict.fromkeys(nearest.tolist())
        _, firsts = np.unique(nearest, return_index=True)
        waiting, count = np.delete(np.arange(k), firsts) % len(probes), min(4, k)
        while waiting.size:
            served = 0
            for items in self._index.nearest(probes[waiting], count).tolist():
                item = next((item for item in items if item not in taken), None)
                if item is None:  # of `count`; whoever comes after it waits with it
                    break
                taken[item], served = None, served + 1
            waiting, count = waiting[served:], min(4 * count, k)
        return np.sort(np.fromiter(taken, np.int64, k))


def _require_items(index: MetricIndex, k: int) -> None:
    if not 1 <= k <= len(index):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(index)}")


def whole(costs: Costs, weights: Points) -> Costs:
    """Return costs (r, c) times their rows' weights, (r,), scaled and rounded to whole numbers,
    still of float32, whose largest of each row come to about MOST, 16,773,120, together; all 0
    where every cost is 0. Overwrites costs.
    """
    top = float(weights @ costs.max(axis=1))
    costs *= (weights * (MOST / top if top > 0 else 0.0)).astype(np.float32)[:, None]
    return np.rint(costs, out=costs)


def total(costs: Costs, items: Rows) -> float:
    """Return the sum over rows of costs (r, c) of the least cost among these items."""
    return float(costs[:, items].min(axis=1).sum())


def k_median(costs: Costs, k: int) -> Rows:
    """Return k distinct columns of costs (r, c), (k,), 1 <= k <= c, whose `total` is small:
    greedily, then by swaps, in no order.
    """
    items = _greedy(costs, k)
    for _ in range(_SWAPS):
        if not _swap(costs, items):
            break
    return items


def _greedy(costs: Costs, k: int) -> Rows:
    # One item after the other, the best beside those before it.
    items = np.empty(k, np.int64)
    items[0] = costs.sum(axis=0).argmin()
    least = costs[:, items[0]].copy()
    totals = np.minimum(costs, least[:, None]).sum(axis=0)  # with one more item
    totals[items[0]] = np.inf
    for slot in range(1, k):
        items[slot] = item = int(totals.argmin())
        rows = np.flatnonzero(costs[:, item] < least)
        now = costs[rows, item]
        # Totals fall by what these rows pay less; what an item saves them beyond that, it keeps.
        beside = np.clip(costs[rows], now[:, None], least[rows, None])
        totals -= beside.sum(axis=0) - now.sum()
        totals[item], least[rows] = np.inf, now
    return items


def _swap(costs: Costs, items: Rows) -> bool:
    """Make the best swap of one chosen item for another, in `items`; return True if it saved
    anything.
    """
    chosen = costs[:, items]
    owner = chosen.argmin(axis=1)
    order = np.argsort(owner, kind="stable")  # rows of one slot stand together
    chosen, owner = chosen[order], owner[order]
    rows = np.arange(len(costs))
    least = chosen[rows, owner]
    chosen[rows, owner] = np.inf
    next_best = chosen.min(axis=1)
    by_slot = costs[order]
    beside = np.minimum(by_slot, least[:, None]).sum(axis=0)
    # What rows of a slot pay more, once its item is gone.
    more = np.clip(by_slot, least[:, None], next_best[:, None], out=by_slot)
    ends = np.searchsorted(owner, np.arange(len(items) + 1)).tolist()
    lost = [more[a:b].sum(axis=0) - least[a:b].sum() for a, b in pairwise(ends)]
    totals = np.array(lost) + beside  # (k, c): slot out, item in
    totals[:, items] = np.inf
    out, into = np.unravel_index(totals.argmin(), totals.shape)
    if totals[out, into] >= least.sum():
        return False
    items[out] = into
    return True


class Sampled(NearRule):
    """The rules `items` and `posterior`. people: who may have sent a signal, as many as `wants`
    knows positions. others: whose items may be chosen, at least k of them, and if `served` whose
    sets compete with the own one.
    """

    def __init__(
        self,
        index: MetricIndex,
        people: ByNoise | ByDensity,
        wants: Wants,
        others: Sequence[NearRule],
        *,
        served: bool = True,
    ) -> None:
        self._index, self._people, self._wants = index, people, wants
        self._others, self._served = others, served

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the k ids, ascending, of the best set by the objective. Takes the others' time,
        O((m + r) log n) and O(r c log k) for r rows.
        """
        sets = [rule.choose(signal, k) for rule in self._others]
        places, shares = self._people.sample(signal)
        points = self._index.frame.tree(places)
        nearest = self._index.nearest(points)[:, 0]
        # The others' items stand first: a slot that serves nobody of the sample goes to them.
        candidates = np.concatenate([*sets, nearest, self._wants.candidates(points)])
        row_of = {item: row for row, item in enumerate(dict.fromkeys(candidates.tolist()))}
        items = np.fromiter(row_of, np.int64)
        distances = self._index.distances(points, items)
        most = LOST / self._index.frame.epsilon(signal)
        costs = self._wants.costs(distances, items, most)
        costs = whole(costs, self._wants.weights(shares))
        rows = [k_median(costs, k)]
        if self._served:
            rows += [np.array([row_of[item] for item in ids.tolist()]) for ids in sets]
        return np.sort(items[min(rows, key=lambda row: total(costs, row))])

    def with_columns(self, columns: Mapping[str, Column]) -> Sampled:
        """Return the rule over other values of live attributes; signals and people are looked at as
        before.
        """
        wants = self._wants.with_columns(self._index, columns)
        return Sampled(self._index, self._people, wants, self._others, served=self._served)

    def slots(self, signal: Signal, k: int) -> int:
        """Return the slots that an answer takes: 1 + the most that one of the others takes."""
        # Not their sum: `codebook` takes the time, and `nearest` beside it hardly any.
        return 1 + max(rule.slots(signal, k) for rule in self._others)
