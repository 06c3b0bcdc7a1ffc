"""A server of collections answers: the query's collection, the card's rule, the items whole.

| rule | k items | served as |
|---|---|---|
| `codebook` | nearest to the probes signal + offset, offsets placed for the noise | best of two |
| `items` | that cost whoever may have sent the signal least, by the noise alone | best of three |
| `posterior` | the same, people being where the density has them | best of three |
| `nearest` | nearest to the signal | itself |

Best of two are `codebook` and `nearest`, of three these and the rule's own set, for this very
signal, by the objective in `sampled`. Everything in a rule is public: post-processing, free of
charge. Bare rules, without the comparison, serve benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from askew.catalog.attributes import Column
from askew.errors import ParameterError
from askew.placement.problem import Disutility
from askew.protocol.collection import Collection
from askew.protocol.metric_card import MetricRuleKind, PlaceSlate
from askew.protocol.signal import Query
from askew_server.collections.model import MetricModel
from askew_server.retrieval.near.density import ByDensity, ByNoise, Density, ExpectedPeople
from askew_server.retrieval.near.index import MetricIndex, frame_of
from askew_server.retrieval.near.rules import CodebookRule, Nearest, NearRule
from askew_server.retrieval.near.sampled import Sampled, ServedCodebook
from askew_server.retrieval.near.wants import Wants
from askew_server.retrieval.snapshot import Snapshot


def near_rule_of(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    wants: Wants | None = None,
    disutility: Disutility | None = None,
) -> NearRule:
    """Return the rule of this kind, bare: without comparing its set with those of other rules.

    density: for `posterior`. disutility: h of `codebook`, default h(t) = t. wants: for `items` and
    `posterior`. Raises ParameterError for a rule that needs a density where there is none.
    """
    match kind:
        case MetricRuleKind.NEAREST:
            return Nearest(index)
        case MetricRuleKind.CODEBOOK:
            return CodebookRule(index, disutility)
        case _:
            return _sampled(kind, index, density, wants, served=False)


def served_rule_of(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    wants: Wants | None = None,
) -> NearRule:
    """Return the rule that a server answers by whose card names this kind: the best of several
    sets, or `nearest` itself. Raises ParameterError for `posterior` without a density.
    """
    if kind is MetricRuleKind.NEAREST:
        return Nearest(index)
    if kind is MetricRuleKind.CODEBOOK:
        return ServedCodebook(index)
    return _sampled(kind, index, density, wants, served=True)


def _sampled(
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None,
    wants: Wants | None,
    *,
    served: bool,
) -> NearRule:
    frame, wants = index.frame, wants or Wants(index)
    if kind is MetricRuleKind.ITEMS:
        people: ExpectedPeople = ByNoise(frame, wants.size)
    else:
        if density is None:
            limit = "one without a density of people: none is known"
            raise ParameterError("rule", str(kind), limit)
        people = ByDensity(frame, density, wants.size)
    return Sampled(index, people, wants, (CodebookRule(index), Nearest(index)), served=served)


class MetricAnswers:
    """Answers queries that the model's card has checked.

    rules: one a collection, if they are made already. Raises ParameterError for a serving rule that
    needs a density of people where there is none.
    """

    def __init__(self, model: MetricModel, rules: Mapping[str, NearRule] | None = None) -> None:
        self._model = model
        self._rules = _rules_of(model) if rules is None else rules

    def with_live(self, model: MetricModel) -> MetricAnswers:
        """Return answers by the same rules over a model of which only live values changed.

        Wants of live values are looked up anew.
        """
        before, rules = self._model.collections, dict(self._rules)
        for name, collection in model.collections.items():
            rule, card = rules[name], collection.card
            live = {attribute.name for attribute in card.attributes if attribute.live}
            wanted = not live.isdisjoint(want.attribute for want in card.wants)
            if wanted and isinstance(rule, Sampled) and collection is not before[name]:
                rules[name] = rule.with_columns(_columns_of(collection))
        return MetricAnswers(model, rules)

    @property
    def snapshot(self) -> Snapshot:
        """Return a snapshot of the model with these answers, its collections and its files, ready
        to be served.
        """
        model = self._model
        collections = tuple(model.collections.values())
        return Snapshot(model.card, self, collections=collections, files=model.files)

    def answer(self, query: Query) -> PlaceSlate:
        """Return the k items of a collection that the query names, with all that a reply shows of
        them, in order of id.
        """
        asked = self._model.asked(query)
        rows = self._rules[asked.card.name].choose(query.signal, query.k)
        return PlaceSlate(asked.card.version, asked.listings(rows))

    def slots(self, query: Query) -> int:
        """Return what an answer takes, in slots of a queue, by the rule of the query's
        collection.
        """
        return self._rules[self._model.asked(query).card.name].slots(query.signal, query.k)


def _columns_of(collection: Collection) -> Mapping[str, Column]:
    names = [attribute.name for attribute in collection.card.attributes]
    return dict(zip(names, collection.columns, strict=True))


def _rules_of(model: MetricModel) -> Mapping[str, NearRule]:
    space, towns, rules = model.card.space, model.towns, {}
    items = np.concatenate([collection.coordinates for collection in model.collections.values()])
    density = None if towns is None else Density.of_towns(frame_of(space), towns, items)
    for name, collection in model.collections.items():
        index = MetricIndex(space, collection.coordinates)
        wants = Wants(index, collection.card.wants, _columns_of(collection))
        rules[name] = served_rule_of(model.card.rule, index, density, wants)
    return rules
