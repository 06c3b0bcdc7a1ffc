"""The rules from a signal to k items near it, and the one that a server answers by.

| rule | k items |
|---|---|
| `nearest` | nearest to the signal |
| `codebook` | nearest to the probes signal + offset, the offsets placed for the noise |
| `items` | that cost whoever may have sent the signal least: the expected h(distance) |
| `posterior` | the same, people being where the density has them |
| `remap` | nearest to the posterior's median |
| `one`, `area`, `cell` | see `baselines`; as many as they need |

Served are `codebook`, `items` and `posterior`, each as the best of its own set, `codebook` and
`nearest` by the objective that the sample of `people` stands for, ties in this order; and `nearest`
as it is. Signals are clamped into the space after the noise. Guarantee: post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.disutility import Disutility, Identity
from askew.rule_kind import MetricRuleKind
from askew.signal import Signal
from askew_server.retrieval.near import choice
from askew_server.retrieval.near.baselines import Area, Cell, One, Remap
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.frame import Points
from askew_server.retrieval.near.index import MetricIndex, Rows
from askew_server.retrieval.near.people import Kinds, People

_CACHED_PLACEMENTS = 256  # devices choose epsilon and k, so the cache needs a limit


class NearRule(Protocol):
    """A way to choose items for a signal that fits the space."""

    def choose(self, signal: Signal, k: int) -> Rows:
        """Exactly k distinct item ids, ascending; `one`, `area` and `cell` a number of their own.

        Raises ParameterError unless 1 <= k <= the number of items.
        """


class Nearest:
    """The k items nearest to the signal."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, k: int) -> Rows:
        """O(k log n)."""
        frame = self._index.frame
        found = self._index.nearest(frame.inside(frame.aim(signal))[None], _checked(k, self._index))
        return np.sort(found[0])


class Codebook:
    """The item nearest to each probe, the nearest probe first, that no probe before it has taken.

    Fewer probes than k, where no placement of k is at hand, take turns.
    """

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index, self._disutility = index, disutility or Identity()
        self._placed = lru_cache(maxsize=_CACHED_PLACEMENTS)(self._offsets)

    def choose(self, signal: Signal, k: int) -> Rows:
        """O(k log n) where items are dense, O(k**2) where probes compete for them."""
        return np.sort(self._distinct(self.probes(signal, _checked(k, self._index)), k))

    def probes(self, signal: Signal, k: int) -> Points:
        """Where it looks: grid coordinates (k', d) inside the space, k' <= k."""
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        law = replace(signal, values=(0,) * len(center))
        return frame.inside(center + self._placed(law, k))

    def _offsets(self, law: Signal, k: int) -> Points:
        frame = self._index.frame
        return frame.spread(law, frame.offsets(law, self._disutility, k))

    def _distinct(self, probes: Points, k: int) -> Rows:
        count = 1
        while True:
            found = self._index.nearest(probes, count)
            taken = _dealt(found.tolist(), k)
            if len(taken) == k:
                return np.array(taken, np.int64)
            count = min(4 * count, k)


class Sampled:
    """The best by the sampled objective: the rules `items` and `posterior`, and any as served.

    others: rules whose items may be chosen, together at least k. own: whether greedy choice and
    swaps make a set of their own. served: whether the sets of the others compete with it.
    """

    def __init__(  # noqa: PLR0913
        self,
        index: MetricIndex,
        people: People,
        others: Sequence[NearRule],
        disutility: Disutility | None = None,
        *,
        own: bool = True,
        served: bool = True,
    ) -> None:
        self._index, self._people, self._others = index, people, others
        self._own, self._served = own, served
        self._disutility = disutility or Identity()

    def choose(self, signal: Signal, k: int) -> Rows:
        """O(m log n) for the index, and O(k m**2) for a sample of m people."""
        positions = self._people.sample(signal)
        sets = [rule.choose(signal, k) for rule in self._others]
        known = [self._index.nearest(positions)[:, 0]] if self._own else []
        rows = np.unique(np.concatenate([*known, *sets]))
        costs = self._costs(rows, positions)
        picked = [np.searchsorted(rows, each) for each in sets if self._served or not self._own]
        if self._own:
            picked.insert(0, choice.choose(costs, k))
        return np.sort(rows[min(picked, key=lambda each: choice.cost(costs, each))])

    def _costs(self, rows: Rows, positions: Points) -> NDArray[np.float32]:
        distances = self._index.distances(rows, positions)
        if not isinstance(self._disutility, Identity):
            distances = self._disutility(distances.astype(np.float64)).astype(np.float32)
        return choice.whole(distances)


def near_rule_of(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    kinds: Kinds | None = None,
    disutility: Disutility | None = None,
) -> NearRule:
    """The bare rule of a name, for comparisons. density: for `posterior` and `remap`.

    Raises ParameterError where these need a density and there is none.
    """
    return _rule(kind, index, density, kinds, disutility, served=False)


def served_rule_of(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    kinds: Kinds | None = None,
    disutility: Disutility | None = None,
) -> NearRule:
    """What a server answers by whose card names this rule. Raises ParameterError as above, and for
    a rule that is not served.
    """
    if not kind.served:
        raise ParameterError("rule", str(kind), "one that is served")
    return _rule(kind, index, density, kinds, disutility, served=True)


def _rule(  # noqa: PLR0913
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None,
    kinds: Kinds | None,  # noqa: ARG001
    disutility: Disutility | None,
    *,
    served: bool,
) -> NearRule:
    def people(where: Density) -> People:
        return People(index.frame, where)

    nearest, codebook = Nearest(index), Codebook(index, disutility)
    anywhere = Density.uniform(index.frame)
    match kind:
        case MetricRuleKind.NEAREST:
            return nearest
        case MetricRuleKind.CODEBOOK:
            sets = (codebook, nearest)
            served_as = Sampled(index, people(anywhere), sets, disutility, own=False)
            return served_as if served else codebook
        case MetricRuleKind.ITEMS | MetricRuleKind.POSTERIOR:
            where = anywhere if kind is MetricRuleKind.ITEMS else _known(kind, density)
            sets = (codebook, nearest)
            return Sampled(index, people(where), sets, disutility, served=served)
        case MetricRuleKind.REMAP:
            return Remap(index, people(_known(kind, density)))
        case MetricRuleKind.ONE:
            return One(index)
        case MetricRuleKind.AREA:
            return Area(index, people(anywhere))
        case MetricRuleKind.CELL:
            return Cell(index)


def _known(kind: MetricRuleKind, density: Density | None) -> Density:
    if density is None:
        raise ParameterError("rule", str(kind), "one without a density of people: none is known")
    return density


def _checked(k: int, index: MetricIndex) -> int:
    if not 1 <= k <= len(index):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(index)}")
    return k


def _dealt(found: list[list[int]], k: int) -> list[int]:
    """The first of each probe's items that is free, probes taking turns until there are k; fewer
    than k where a probe has none left.
    """
    taken: dict[int, None] = {}
    for turn in range(k):
        free = next((item for item in found[turn % len(found)] if item not in taken), None)
        if free is None:
            break
        taken[free] = None
    return list(taken)
