"""What else a server could answer to a demo's question: the rows beside its own.

For simulated places and made-up people: a row is asked with a position that no device would send.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from askew.errors import NotFound
from askew.protocol.collection import curve_order
from askew.protocol.metric_card import MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.answers import MetricAnswers, near_rule_of
from askew_server.retrieval.near.index import MetricIndex

_HELD = 6_000  # places of 9 bytes each take what a week of 14 questions takes, with 4 kB a reply


class RehearsedRules:
    """One model, asked in several ways: `served` is what its server answers, `nearest` has the k
    items nearest to the signal, `held` the k nearest of a list that all devices hold.
    """

    def __init__(self, model: MetricModel) -> None:
        self._model = model
        self._index = cache(self._make_index)
        self._ways: dict[str, Callable[[Query], PlaceSlate]] = {
            "served": MetricAnswers(model).answer,
            "nearest": self._nearest,
            "held": self._held,
        }

    def answer(self, way: str, query: Query) -> PlaceSlate:
        """Answer a query that the card has checked. Raises NotFound for another way."""
        if way not in self._ways:
            raise NotFound("way to answer")
        return self._ways[way](query)

    def _nearest(self, query: Query) -> PlaceSlate:
        rule = near_rule_of(MetricRuleKind.NEAREST, self._index(query.collection))
        return self._slate(query.collection, rule.choose(query.signal, query.k))

    def _held(self, query: Query) -> PlaceSlate:
        # A list spread evenly, the same for everybody; who holds it ranks by the true place.
        coordinates = self._model.collections[query.collection].coordinates
        order = curve_order(coordinates)
        listed = order[np.arange(min(_HELD, len(order))) * len(order) // min(_HELD, len(order))]
        index = MetricIndex(self._model.card.space, coordinates[listed])
        rows = near_rule_of(MetricRuleKind.NEAREST, index).choose(query.signal, query.k)
        return self._slate(query.collection, np.sort(listed[rows]))

    def _make_index(self, collection: str) -> MetricIndex:
        return MetricIndex(self._model.card.space, self._model.collections[collection].coordinates)

    def _slate(self, name: str, rows: np.ndarray) -> PlaceSlate:
        collection = self._model.collections[name]
        return PlaceSlate(collection.card.version, collection.listings(rows.tolist()))
