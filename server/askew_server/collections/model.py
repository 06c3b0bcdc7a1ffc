"""A metric model: a card, its collections, and where people are expected to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.metric.map_space import MetricSpace
from askew.metric_card import MetricCard, MetricRule
from askew.rule_kind import MetricRuleKind
from askew_server.collections.collection import Collection
from askew_server.collections.columns import Column

NO_DENSITY = "none"
MOST_PEOPLE = 1e11  # of a town; far more would be infinitely many in 32 bits


@dataclass(frozen=True, eq=False)
class Towns:
    """A public density of people, as points: coordinates (m, d) like a collection's, people (m,)
    positive, at most MOST_PEOPLE. It may come from a csv of towns with their populations, never
    from who asked.
    """

    coordinates: NDArray[np.float64] = field(repr=False)
    people: NDArray[np.float64] = field(repr=False)
    source: str


@dataclass(frozen=True, eq=False)
class MetricModel:
    """What a server of collections serves; `collections` by name, one a collection of the card."""

    card: MetricCard
    collections: Mapping[str, Collection] = field(repr=False)
    towns: Towns | None = field(default=None, repr=False)

    @property
    def words(self) -> str:
        """What it is, for an operator."""
        n_items = sum(map(len, self.collections.values()))
        return f"{n_items} items, {', '.join(self.collections)}"

    def with_live(self, columns: Mapping[str, Mapping[str, Column]]) -> MetricModel:
        """The same with other live values, by collection and attribute; nothing else is copied."""
        changed = {
            name: self.collections[name].with_live(each) for name, each in columns.items() if each
        }
        return replace(self, collections={**self.collections, **changed})


def model_of(
    space: MetricSpace,
    collections: Sequence[Collection],
    towns: Towns | None = None,
    rule: MetricRuleKind | None = None,
    largest: int = 64,
) -> MetricModel:
    """A model of collections over one space, that answers `largest` items, or as many as there
    are. rule: else `posterior` with towns and `items` without.

    Raises OutOfRange for two collections of one name, and ParameterError for a rule that needs
    towns where there are none.
    """
    if rule is None:
        rule = MetricRuleKind.ITEMS if towns is None else MetricRuleKind.POSTERIOR
    if rule is MetricRuleKind.POSTERIOR and towns is None:
        raise ParameterError("rule", str(rule), "another without a list of towns")
    uses = towns is not None and rule is MetricRuleKind.POSTERIOR
    density = f"{len(towns.people):,} towns, {towns.source}" if towns and uses else NO_DENSITY
    cards = tuple([each.card for each in collections])
    size = min(largest, max(map(len, collections)))
    card = MetricCard(space, cards, size, MetricRule(rule, density))
    return MetricModel(card, {each.card.name: each for each in collections}, towns)
