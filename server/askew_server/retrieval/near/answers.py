"""A server of collections answers: the query's collection, the card's rule, the items whole."""

from __future__ import annotations

from collections.abc import Mapping

from askew.listing import AttributeKind
from askew.ranking import Slate
from askew.signal import Query
from askew_server.collections.collection import Collection, Picked
from askew_server.collections.columns import Words
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.frame import frame_of
from askew_server.retrieval.near.index import MetricIndex
from askew_server.retrieval.near.kinds import Kinds
from askew_server.retrieval.near.rules import ServedRule
from askew_server.retrieval.near.table import served_rule_of
from askew_server.retrieval.snapshot import Snapshot


class MetricAnswers:
    """Answers queries that the model's card has checked.

    rules: one a collection, if they are made already. Raises ParameterError for a serving rule that
    needs a density of people where there is none.
    """

    def __init__(self, model: MetricModel, rules: Mapping[str, ServedRule] | None = None) -> None:
        self._model = model
        self._rules = _rules_of(model) if rules is None else rules

    def with_live(self, model: MetricModel) -> MetricAnswers:
        """The same rules over a model of which live values changed and nothing else."""
        return MetricAnswers(model, self._rules)

    @property
    def snapshot(self) -> Snapshot:
        """This model, ready to be served."""
        return Snapshot(self._model.card, self, collections=tuple(self._model.collections.values()))

    def answer(self, query: Query) -> Slate:
        """The k items of a collection, in order of id."""
        collection, rows = self.picked(query)
        return Slate.of_listings(collection.card.version, collection.listings(rows))

    def picked(self, query: Query) -> Picked:
        """The same by row."""
        chosen = self._rules[query.collection].choose(query.signal, query.k)
        return Picked(self._model.collections[query.collection], chosen)

    def cost(self, query: Query) -> int:
        """What the answer takes by the rule of its collection."""
        return self._rules[query.collection].cost(query.signal, query.k)


def kinds_of(index: MetricIndex, collection: Collection) -> Kinds | None:
    """What people look for: the first category that is not live, if there is one."""
    for attribute, column in zip(collection.card.attributes, collection.columns, strict=True):
        category = attribute.kind is AttributeKind.CATEGORY and not attribute.live
        if category and isinstance(column, Words):
            return Kinds(index, column.codes)
    return None


def _rules_of(model: MetricModel) -> Mapping[str, ServedRule]:
    space, towns, rules = model.card.space, model.towns, {}
    density = None if towns is None else Density.of_towns(frame_of(space), towns)
    for name, collection in model.collections.items():
        index = MetricIndex(space, collection.coordinates)
        kinds = kinds_of(index, collection)
        rules[name] = served_rule_of(model.card.rule.kind, index, density, kinds)
    return rules
