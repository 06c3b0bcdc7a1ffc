"""Rules that weigh the people who may have sent a signal: `items`, `posterior`, and `codebook` as
served.

    objective of a set S    mean over m people p of  min_{i in S} h(distance(i, p))

`items` and `posterior` make a set of their own. The candidates are the item nearest to each person
of the sample, and those of `codebook` and `nearest`; the choice is greedy, then swaps. The server
answers by the best of the own set, `codebook` and `nearest` by the objective, ties in this order.
With kinds, an item that a person does not accept costs them as much as one 4 / epsilon away, which
is about twice as far as the noise reaches.

*The choice.* Costs c_pi are whole numbers from 0 to 65535, held as float32. With at most 256 people
every sum stays below 2**24, so float32 adds exactly: no order of summation and no number of threads
changes an answer, and the first item wins a tie. So the same bytes get the same answer in any
process. Sums are numpy's own: a product by BLAS would be as exact, but its threads wait for each
other on a busy machine a hundred times as long as the product takes. Shapes: costs (m, c), people
by items. Complexity: O(k c m) for the greedy choice, O(c m) a swap over all pairs of an item and a
slot. Source: k-median by local search, Arya et al. 2004; greedy start, Cornuejols, Fisher and
Nemhauser 1977.

*`codebook` as served* is that rule's set, or `nearest`'s if it costs people less. The people are
those of the noise alone, m positions around the signal s. Most questions need no item beside each
person. Let a be the probe nearest to a person p, delta_a the distance from it to its item, which is
in the set, and R a distance within which s has k items. Then

    least distance to codebook's set  <=  |p a| + delta_a
    least distance to nearest's set   >=  |p s| - R

by the triangle inequality and because h increases. Where the first sum is below the second by more
than costs are rounded, `codebook` costs less, and the rule looks at nothing else. It finds R
quickly first, and the least R where the quick one does not decide. Guarantee: the set of least
objective for this very signal, ties to `codebook`, whichever way it was found; a function of the
signal alone, so post-processing. Complexity: O(k log n + m) where the bounds decide, O(k m) more
where not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.placement.problem import Disutility, Identity
from askew.protocol.signal import Signal
from askew_server.retrieval.near.density import ByNoise, ExpectedPeople, Laws
from askew_server.retrieval.near.index import MetricIndex, Points, Rows
from askew_server.retrieval.near.rules import AT_ONCE, CodebookRule, Kinds, ServedRule, checked

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


_LOST = 4.0  # what none of a kind costs, in 1 / epsilon


class Objective:
    """What items cost the people who may have sent a signal."""

    def __init__(
        self,
        index: MetricIndex,
        people: ExpectedPeople,
        disutility: Disutility | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        self._index, self.people, self._kinds = index, people, kinds
        self._disutility = disutility or Identity()

    def wanted(self, positions: Points) -> Rows:
        """The item that each person would take of all, (m,)."""
        if self._kinds is None:
            return self._index.nearest(positions)[:, 0]
        return self._kinds.nearest(positions)

    def costs(self, signal: Signal, items: Rows, positions: Points) -> Costs:
        """What each item costs each person, (m, c)."""
        distances = self._index.distances(items, positions)
        if self._kinds is not None:
            lost = _LOST / self._index.frame.epsilon(signal)
            distances[self._kinds.refused(items)] = lost
        if not isinstance(self._disutility, Identity):
            distances = self._disutility(distances.astype(np.float64)).astype(np.float32)
        return whole(distances)


class Sampled:
    """The rules `items` and `posterior`. others: whose items may be chosen, at least k of them, and
    if `served` whose sets compete with the own one.
    """

    def __init__(
        self, objective: Objective, others: Sequence[ServedRule], *, served: bool = True
    ) -> None:
        self._objective, self._others, self._served = objective, others, served

    def choose(self, signal: Signal, k: int) -> Rows:
        """What the others take, O(m log n) for the index and O(k m**2) for m people."""
        sets = [rule.choose(signal, k) for rule in self._others]
        positions = self._objective.people.sample(signal)
        # The others' items stand first: a slot that serves nobody of the sample goes to them.
        found = np.concatenate([*sets, self._objective.wanted(positions)])
        row_of = {item: row for row, item in enumerate(dict.fromkeys(found.tolist()))}
        items = np.fromiter(row_of, np.int64)
        costs = self._objective.costs(signal, items, positions)
        rows = [choose(costs, k)]
        if self._served:
            rows += [np.array([row_of[item] for item in each.tolist()]) for each in sets]
        return np.sort(items[min(rows, key=lambda each: cost(costs, each))])

    def cost(self, signal: Signal, k: int) -> int:
        """One answer, and what the others take."""
        return 1 + max(rule.cost(signal, k) for rule in self._others)


FEW = 128  # people tell two sets apart; more are needed only to make one


class Around(NamedTuple):
    """What belongs to a law and k, made once: moves from a signal to itself, to the k' probes, and
    to the people, (1 + k' + m, d) noise offsets; and beside each person two of these moves,
    (2, m): the nearest probe's, and the signal's.
    """

    moves: Points
    beside: NDArray[np.int64]


class ServedCodebook:
    """The rule `codebook` as a server answers by it."""

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index, self._disutility = index, disutility or Identity()
        self._codebook = CodebookRule(index, disutility)
        self._people = ByNoise(index.frame, FEW)
        self._around = Laws(self._made)

    def choose(self, signal: Signal, k: int) -> Rows:
        """The set of least objective."""
        index, frame = self._index, self._index.frame
        around = self._around.of(signal, checked(k, index))
        center = frame.inside(frame.aim(signal))
        points = frame.tree(frame.inside(center + frame.spread(signal, around.moves)))
        probes, people = points[1:-FEW], points[-FEW:]
        away, found, radius = index.nearest_and_radius(points[:-FEW], k)
        placed = self._codebook.distinct(probes, found[1:], k)
        placed.sort()
        by_probe, from_signal = index.apart(people, points[around.beside])
        by_probe += away[around.beside[0], 0]
        if self._is_better(by_probe, from_signal, radius):
            return placed
        reached, near = index.reach(points[:1], k)
        if self._is_better(by_probe, from_signal, reached[0, -1]):
            return placed
        return self._cheaper(placed, np.sort(near[0]), people)

    def cost(self, _: Signal, k: int) -> int:
        """One more for each 32 results."""
        return k // AT_ONCE

    def _is_better(self, by_probe: Points, from_signal: Points, radius: float) -> bool:
        """Whether the bounds tell that `codebook` costs less, whatever rounding does."""
        most = self._disutility(by_probe)
        least = self._disutility(np.maximum(from_signal - radius, 0.0))
        top = self._disutility(np.maximum(by_probe.max(), from_signal.max() + radius))
        # Half a level for each cost of both sets, and as much again for what float32 rounds.
        return bool(most.sum() + 2 * FEW * top / LEVELS < least.sum())

    def _cheaper(self, placed: Rows, near: Rows, people: Points) -> Rows:
        """The set of least objective, by each person's own item."""
        index = self._index
        every = index.compared(np.concatenate((placed, near)), people)
        least = index.measured(every.reshape(2, len(placed), FEW).min(axis=1))
        costs = whole(self._disutility(least.astype(np.float64)).astype(np.float32))
        by_codebook, by_nearest = costs.sum(axis=1).tolist()
        return placed if by_codebook <= by_nearest else near

    def _made(self, law: Signal, k: int) -> Around:
        offsets, people = self._codebook.offsets(law, k), self._people.moves(law)
        away = np.abs(people[:, None] - offsets).sum(axis=2)
        moves = np.concatenate((np.zeros((1, people.shape[1])), offsets, people))
        probe = away.argmin(axis=1)
        return Around(moves, np.stack((1 + probe, np.zeros_like(probe))))
