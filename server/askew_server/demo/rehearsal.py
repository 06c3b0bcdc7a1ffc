"""What else a server could answer to a demo's question: the rows beside its own.

For simulated places and made-up people: a row is asked with a position that no device would send.
"""

from __future__ import annotations

import numpy as np

from askew.errors import NotFound
from askew.protocol.collection import curve_order
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
        self._model, self._answers = model, MetricAnswers(model)

    def answer(self, way: str, query: Query) -> PlaceSlate:
        """Return the k items of a query that the card has checked, by this way to answer: `served`,
        `nearest` or `held`. Raises NotFound for another.
        """
        if way == "served":
            return self._answers.answer(query)
        if way not in ("nearest", "held"):
            raise NotFound("way to answer")
        asked = self._model.asked(query)
        rows = np.arange(len(asked))
        if way == "held" and len(asked) > _HELD:  # evenly along a curve, whoever asks
            rows = curve_order(asked.coordinates)[np.arange(_HELD) * len(asked) // _HELD]
        index = MetricIndex(self._model.card.space, asked.coordinates[rows])
        nearest = near_rule_of(MetricRuleKind.NEAREST, index).choose(query.signal, query.k)
        return PlaceSlate(asked.card.version, asked.listings(np.sort(rows[nearest]).tolist()))
