"""The rules that make a set of their own for whoever may have sent the signal.

    objective of a set S    mean over the people of the sample of  min_{i in S} h(distance(i, p))

With kinds, an item that a person does not accept costs them as much as one 4 / epsilon away, which
is about twice as far as the noise reaches.
`items` and `posterior` make a set of their own: the candidates are the item nearest to each person
of the sample, and those of `codebook` and `nearest`; greedy choice, then swaps. Served is the best
of a rule's own set, `codebook` and `nearest` by the objective, ties in this order. The sample is a
function of the signal and sums are exact, so the same bytes get the same answer in any process.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.placement.problem import Disutility, Identity
from askew.signal import Signal
from askew_server.retrieval.near import choice
from askew_server.retrieval.near.frame import Points
from askew_server.retrieval.near.index import MetricIndex, Rows
from askew_server.retrieval.near.kinds import Kinds
from askew_server.retrieval.near.people import People
from askew_server.retrieval.near.rules import ServedRule

_LOST = 4.0  # what none of a kind costs, in 1 / epsilon


class Objective:
    """What items cost the people who may have sent a signal."""

    def __init__(
        self,
        index: MetricIndex,
        people: People,
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

    def costs(self, signal: Signal, items: Rows, positions: Points) -> choice.Costs:
        """What each item costs each person, (m, c)."""
        distances = self._index.distances(items, positions)
        if self._kinds is not None:
            lost = _LOST / self._index.frame.epsilon(signal)
            distances[self._kinds.refused(items)] = lost
        if not isinstance(self._disutility, Identity):
            distances = self._disutility(distances.astype(np.float64)).astype(np.float32)
        return choice.whole(distances)


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
        rows = [choice.choose(costs, k)]
        if self._served:
            rows += [np.array([row_of[item] for item in each.tolist()]) for each in sets]
        return np.sort(items[min(rows, key=lambda each: choice.cost(costs, each))])

    def cost(self, signal: Signal, k: int) -> int:
        """One answer, and what the others take."""
        return 1 + max(rule.cost(signal, k) for rule in self._others)
