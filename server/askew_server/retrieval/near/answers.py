"""A server of collections answers: the query's collection, the card's rule, the items whole."""

from __future__ import annotations

from askew.ranking import Slate
from askew.signal import Query
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.frame import frame_of
from askew_server.retrieval.near.index import MetricIndex
from askew_server.retrieval.near.rules import NearRule, served_rule_of


class MetricAnswers:
    """Answers queries that the model's card has checked.

    Raises ParameterError for a serving rule that needs a density of people where there is none.
    """

    def __init__(self, model: MetricModel) -> None:
        self._model = model
        towns = model.towns
        density = None if towns is None else Density.of_towns(frame_of(model.card.space), towns)
        self._rules: dict[str, NearRule] = {
            name: served_rule_of(
                model.card.rule.kind,
                MetricIndex(model.card.space, collection.coordinates),
                density,
            )
            for name, collection in model.collections.items()
        }

    @classmethod
    def _with(cls, model: MetricModel, rules: dict[str, NearRule]) -> MetricAnswers:
        answers = cls.__new__(cls)
        answers._model, answers._rules = model, rules
        return answers

    def with_live(self, model: MetricModel) -> MetricAnswers:
        """The same rules over a model whose live values changed and nothing else: no index is
        built again.
        """
        return self._with(model, self._rules)

    def answer(self, query: Query) -> Slate:
        """The k items of a collection, in order of id."""
        collection = self._model.collections[query.collection]
        chosen = self._rules[query.collection].choose(query.signal, query.k)
        listings = collection.listings(chosen.tolist())
        return Slate.of_listings(collection.card.version, listings)
