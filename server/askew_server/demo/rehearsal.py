"""What else a server could answer to a demo's question: the rows beside its own.

For simulated places and made-up people: a row is asked with a position that no device would send.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from askew.errors import NotFound
from askew.protocol.collection import Collection, curve_order
from askew.protocol.metric_card import MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query
from askew_server.collections.model import MetricModel
from askew_server.retrieval.answers import MetricAnswers, near_rule_of
from askew_server.retrieval.index import MetricIndex

_HELD = 6_000  # places of 9 bytes each take what a week of 14 questions takes, with 4 kB a reply


class RehearsedRules:
    """One model, asked in several ways: `served` is what its server answers, `nearest` has the k
    items nearest to the signal, `held` the k nearest of a list that all devices hold.
    """

    def __init__(self, model: MetricModel) -> None:
        self._model = model
        self._index = cache(self._made_index)
        self._ways: dict[str, Callable[[Query], PlaceSlate]] = {
            "served": MetricAnswers(model).answer,
            "nearest": self._nearest,
            "held": self._held,
        }

    def answer(self, way: str, query: Query) -> PlaceSlate:
        """Return the k items of a query that the card has checked, by this way to answer: `served`,
        `nearest` or `held`. Raises NotFound for another.
        """
        if way not in self._ways:
            raise NotFound("way to answer")
        return self._ways[way](query)

    def _nearest(self, query: Query) -> PlaceSlate:
        asked = self._model.asked(query)
        rule = near_rule_of(MetricRuleKind.NEAREST, self._index(asked))
        return _slate(asked, rule.choose(query.signal, query.k))

    def _held(self, query: Query) -> PlaceSlate:
        asked = self._model.asked(query)
        coordinates = asked.coordinates
        order = curve_order(coordinates)
        listed = order[np.arange(min(_HELD, len(order))) * len(order) // min(_HELD, len(order))]
        index = MetricIndex(self._model.card.space, coordinates[listed])
        found = near_rule_of(MetricRuleKind.NEAREST, index).choose(query.signal, query.k)
        return _slate(asked, np.sort(listed[found]))

    def _made_index(self, collection: Collection) -> MetricIndex:
        return MetricIndex(self._model.card.space, collection.coordinates)


def _slate(collection: Collection, rows: np.ndarray) -> PlaceSlate:
    return PlaceSlate(collection.card.version, collection.listings(rows.tolist()))
