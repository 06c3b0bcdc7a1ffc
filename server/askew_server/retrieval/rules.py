"""Rules that look at the signal alone. Signals are clamped into the space after the noise.
Guarantee: post-processing.

Rules that weigh the people who may have sent a signal: `items`, `posterior`, and `codebook` as
served.

    objective of a set S    sum over rows r of  weight of r * min_{i in S} cost(i, r)

A row is some of the people: at one of m positions, with a want or without (`wants`). `items` and
`posterior` make a set of their own. The candidates are the item nearest to each position, those
beside whoever has a want, and those of `codebook` and `nearest`; the choice is greedy, then swaps.
The server answers by the best of the own set, `codebook` and `nearest` by the objective, ties in
this order.

*The choice.* Costs times weights are whole numbers, held as float32, whose largest of each row come
to less than 2**24 together. So every sum is below 2**24 and float32 adds exactly: no order of
summation and no number of threads changes an answer, and the first item wins a tie. So the same
bytes get the same answer in any process. Sums are numpy's own: a product by BLAS would be as exact,
but its threads wait for each other on a busy machine a hundred times as long as the product takes.
The greedy choice keeps what each item would save, and looks again only at rows that found a better
item, about r / i of them at the i-th. Shapes: costs (r, c), rows by items. Complexity: O(r c log k)
for the greedy choice, O(r c) a swap over all pairs of an item and a slot. Source: k-median by local
search, Arya et al. 2004; greedy start, Cornuejols, Fisher and Nemhauser 1977.

*`codebook` as served* is that rule's set, or `nearest`'s if it costs people less. The people are
those of the noise alone, m positions around the signal s. Most questions need no item beside each
person. Let a be the probe nearest to a person p, delta_a the distance from it to its item, which is
in the set, and R a distance within which s has k items. Then

    least distance to codebook's set  <=  |p a| + delta_a
    least distance to nearest's set   >=  |p s| - R

by the triangle inequality. Where the first sum is below the second by more
than costs are rounded, `codebook` costs less, and the rule looks at nothing else. It finds R
quickly first, and the least R where the quick one does not decide. Guarantee: the set of least
objective for this very signal, ties to `codebook`, whichever way it was found; a function of the
signal alone, so post-processing. Complexity: O(k log n + m) where the bounds decide, O(k m) more
where not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import Column
from askew.errors import ParameterError
from askew.placement.problem import Disutility, Identity
from askew.protocol.signal import Signal
from askew_server.retrieval.density import ByNoise, ExpectedPeople, Laws
from askew_server.retrieval.index import MetricIndex, Points, Rows
from askew_server.retrieval.wants import LOST, Costs, Wants

RESULTS_PER_SLOT = 32
"""k below it is answered on the event loop, without a thread; each 32 more take one slot of a
queue, 2 to 3 ms.
"""


class NearRule(Protocol):
    """A way to choose items for a signal that fits the space."""

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return exactly k distinct item ids, ascending.

        Raises ParameterError unless 1 <= k <= the number of items.
        """

    def slots(self, signal: Signal, k: int) -> int:
        """Return what `choose` takes, in slots of a queue, 2 to 3 ms each; 0 where it needs no
        queue.
        """


class Nearest:
    """The k items nearest to the signal."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the ids of the k items nearest to the signal, clamped into the space, ascending.
        O(k log n).
        """
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))[None]
        return np.sort(self._index.nearest(center, checked(k, self._index))[0])

    def slots(self, _: Signal, k: int) -> int:
        """Return k // 32: none below 32."""
        return k // RESULTS_PER_SLOT


class CodebookRule:
    """The item nearest to each probe; then a probe whose item was another's takes the nearest that
    is free, the probe nearest to the signal first. Fewer probes than k, where no placement of k is
    at hand, take turns.
    """

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index, self._disutility = index, disutility or Identity()
        self._placed = Laws(self.offsets)

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the k ids of the probes' items, ascending. O(k log n), or O(k**2) where probes
        compete for items.
        """
        probes = self._index.frame.tree(self.probes(signal, checked(k, self._index)))
        return np.sort(self.distinct(probes, self._index.reach(probes)[1], k))

    def slots(self, _: Signal, k: int) -> int:
        """Return k // 32: none below 32."""
        return k // RESULTS_PER_SLOT

    def probes(self, signal: Signal, k: int) -> Points:
        """Return where the rule looks for items: grid coordinates (k', d) inside the space, k' <=
        k.
        """
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        return frame.inside(center + frame.spread(signal, self._placed.get(signal, k)))

    def offsets(self, law: Signal, k: int) -> Points:
        """Return the way from the signal to each probe, as noise offsets (k', d), k' <= k."""
        return self._index.frame.offsets(law, self._disutility, k)

    def distinct(self, probes: Points, nearest: Rows, k: int) -> Rows:
        """Return k ids, each once: first the items nearest to the probes, tree points (k', e), in
        their order; then each probe whose item was taken already takes its nearest free one, in
        turns where there are fewer probes than k. nearest: of each probe, (k', 1).
        """
        taken = dict.fromkeys(nearest[:, 0].tolist())
        if len(taken) == k:
            return np.fromiter(taken, np.int64, k)
        return self._shared(probes, nearest, k)

    def _shared(self, probes: Points, nearest: Rows, k: int) -> Rows:
        turns = np.arange(k) % len(probes)
        taken: dict[int, None] = {}
        firsts = nearest[turns].tolist()
        late = [turn for turn, items in enumerate(firsts) if not _take(items, taken)]
        count = min(4, k)
        while late:
            found = self._index.reach(probes[turns[late]], count)[1].tolist()
            late = late[_served(found, taken) :]
            count = min(4 * count, k)
        return np.fromiter(taken, np.int64, k)


def _served(found: list[list[int]], taken: dict[int, None]) -> int:
    """Return how many probes get an item, in their order, until one has none left among those
    found.
    """
    for number, items in enumerate(found):
        if not _take(items, taken):
            return number
    return len(found)


def _take(items: list[int], taken: dict[int, None]) -> bool:
    """Take the first item that is free, adding it to `taken`; return True if one was."""
    for item in items:
        if item not in taken:
            taken[item] = None
            return True
    return False


def checked(k: int, index: MetricIndex) -> int:
    """Return k as it is. Raises ParameterError unless it is from 1 to the number of items."""
    if not 1 <= k <= len(index):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(index)}")
    return k


Items = NDArray[np.int64]
MOST = 2**24 - 2**12  # that costs come to; rounding adds at most half a unit a row
_SWAPS = 2  # more of them fit the sample, and nobody else


def whole(costs: Costs, weights: Points | float = 1.0) -> Costs:
    """Return costs (r, c) times their rows' weights, (r,), scaled and rounded to whole numbers,
    whose largest of each row come to about MOST together; all 0 where every cost is 0. Overwrites
    costs.
    """
    weighted = np.broadcast_to(weights, len(costs))
    top = float(weighted @ costs.max(axis=1))
    costs *= (weighted * (MOST / top if top > 0 else 0.0)).astype(np.float32)[:, None]
    return np.rint(costs, out=costs)


def total(costs: Costs, items: Items) -> float:
    """Return the sum over rows of costs (r, c) of the least cost among these items."""
    return float(costs[:, items].min(axis=1).sum())


def k_median(costs: Costs, k: int) -> Items:
    """Return k distinct columns of costs (r, c), (k,), 1 <= k <= c, whose `total` is small:
    greedily, then by swaps, in no order.
    """
    items = _greedy(costs, k)
    for _ in range(_SWAPS):
        if not _swap(costs, items):
            break
    return items


def _greedy(costs: Costs, k: int) -> Items:
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


def _swap(costs: Costs, items: Items) -> bool:
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


class Sampled:
    """The rules `items` and `posterior`. people: who may have sent a signal, as many as `wants`
    knows positions. others: whose items may be chosen, at least k of them, and if `served` whose
    sets compete with the own one.
    """

    def __init__(
        self,
        index: MetricIndex,
        people: ExpectedPeople,
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
        nearest = self._index.reach(points)[1][:, 0]
        # The others' items stand first: a slot that serves nobody of the sample goes to them.
        found = np.concatenate([*sets, nearest, self._wants.candidates(points)])
        row_of = {item: row for row, item in enumerate(dict.fromkeys(found.tolist()))}
        items = np.fromiter(row_of, np.int64)
        distances = self._index.distances(points, items)
        most = LOST / self._index.frame.epsilon(signal)
        costs = self._wants.costs(distances, items, most)
        costs = whole(costs, self._wants.weights(shares))
        rows = [k_median(costs, k)]
        if self._served:
            rows += [np.array([row_of[item] for item in each.tolist()]) for each in sets]
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


COMPARED = 128  # people: enough to tell two sets apart, too few to make one


class ServedCodebook:
    """The rule `codebook` as a server answers by it."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index
        self._codebook, self._nearest = CodebookRule(index), Nearest(index)
        self._people = ByNoise(index.frame, COMPARED)

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the k ids, ascending, of `codebook`'s set or of `nearest`'s, whichever has the
        lower objective; ties to `codebook`.
        """
        placed, near = self._codebook.choose(signal, k), self._nearest.choose(signal, k)
        people = self._index.frame.tree(self._people.sample(signal)[0])
        distances = self._index.distances(people, np.concatenate((placed, near)))
        costs = whole(distances.reshape(COMPARED, 2, k).min(axis=2))
        by_codebook, by_nearest = costs.sum(axis=0).tolist()
        return placed if by_codebook <= by_nearest else near

    def slots(self, _: Signal, k: int) -> int:
        """Return k // 32: none below 32."""
        return k // RESULTS_PER_SLOT
