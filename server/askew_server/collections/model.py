"""A metric model: a card, its collections, and where people are expected to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from askew.metric_card import MetricCard
from askew_server.collections.collection import Collection
from askew_server.collections.columns import Column


@dataclass(frozen=True, eq=False)
class Towns:
    """A public density of people, as points: coordinates (m, d) like a collection's, people (m,)
    positive. It may come from a csv of towns with their populations, never from who asked.
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
