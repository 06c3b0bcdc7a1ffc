"""What else a server could answer to a demo's question: the rows beside its own.

For simulated places and made-up people: a row is asked with a position that no device would send.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from askew.errors import NotFound
from askew.protocol.metric_card import MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query
from askew_server.collections.model import MetricModel, Towns
from askew_server.retrieval.near import sampled
from askew_server.retrieval.near.answers import MetricAnswers, near_rule_of
from askew_server.retrieval.near.index import MetricIndex

_PEOPLE = 256  # for whom the list for everybody is chosen: as many as `sampled` adds up exactly


class RehearsedRules:
    """One model, asked in several ways: `served` is what its server answers, `nearest` has the k
    items nearest to the signal, `everybody` the same k whatever the signal is.
    """

    def __init__(self, model: MetricModel, people: Towns) -> None:
        """people: who `everybody` is."""
        self._model, self._people = model, people
        self._index = cache(self._made_index)
        self._for_everybody = cache(self._chosen_for_everybody)
        self._ways: dict[str, Callable[[Query], PlaceSlate]] = {
            "served": MetricAnswers(model).answer,
            "nearest": self._nearest,
            "everybody": lambda query: self._for_everybody(query.collection, query.k),
        }

    def answer(self, way: str, query: Query) -> PlaceSlate:
        """The k items of a query that the card has checked. Raises NotFound for another way."""
        if way not in self._ways:
            raise NotFound("way to answer")
        return self._ways[way](query)

    def _nearest(self, query: Query) -> PlaceSlate:
        rule = near_rule_of(MetricRuleKind.NEAREST, self._index(query.collection))
        return self._slate(query.collection, rule.choose(query.signal, query.k))

    def _chosen_for_everybody(self, collection: str, k: int) -> PlaceSlate:
        """Of the items nearest to some people drawn by the towns' populations, with a fixed seed,
        the k that are nearest to all of these people together.
        """
        index, people = self._index(collection), self._people
        rng = np.random.Generator(np.random.PCG64(1))
        some = rng.choice(len(people.people), _PEOPLE, p=people.people / people.people.sum())
        here = index.frame.grid(people.coordinates[some])
        rows = np.unique(index.nearest(here)[:, 0])
        costs = sampled.whole(index.distances(index.frame.tree(here), rows))
        return self._slate(collection, np.sort(rows[sampled.choose(costs, k)]))

    def _made_index(self, collection: str) -> MetricIndex:
        return MetricIndex(self._model.card.space, self._model.collections[collection].coordinates)

    def _slate(self, name: str, rows: np.ndarray) -> PlaceSlate:
        collection = self._model.collections[name]
        return PlaceSlate(collection.card.version, collection.listings(rows.tolist()))
