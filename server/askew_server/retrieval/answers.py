"""What answers for a model: the query's collection, the card's rule, the items whole.

| rule | k items |
|---|---|
| `nearest` | nearest to the signal |
| `codebook` | nearest to the probes signal + offset, offsets placed for the noise |
| `items` | that cost whoever may have sent the signal least, by the noise alone |
| `posterior` | the same, people being where the density has them |

`items` and `posterior` are served as the best of their own set and those of the first two, for this
very signal, by the objective in `rules`. Everything in a rule is public: post-processing, free of
charge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from askew.catalog.attributes import Column
from askew.catalog.catalog_file import FIRST
from askew.errors import ArtifactError, ParameterError
from askew.placement.problem import Disutility
from askew.protocol.cards import MetricRuleKind, PlaceSlate
from askew.protocol.collection import Collection
from askew.protocol.signal import Query
from askew_server.collections.artifact import Mark, live_path, mark_of, read_live
from askew_server.collections.model import MetricModel
from askew_server.retrieval.density import ByDensity, ByNoise, Density
from askew_server.retrieval.index import MetricIndex, frame_of
from askew_server.retrieval.rules import CodebookRule, Nearest, NearRule, Sampled
from askew_server.retrieval.snapshot import Retriever, Snapshot
from askew_server.retrieval.wants import Wants

if TYPE_CHECKING:  # it brings pyarrow, which a server of places does without
    from askew_server.taste.model import ItemModel


def near_rule_of(  # noqa: PLR0913 - what a rule may look at
    kind: MetricRuleKind,
    index: MetricIndex,
    density: Density | None = None,
    wants: Wants | None = None,
    disutility: Disutility | None = None,
    *,
    served: bool = False,
) -> NearRule:
    """Return the rule of this kind: a Nearest, a CodebookRule or else a Sampled. served: `items`
    and `posterior` are the best of their own set and those of `codebook` and `nearest`, as a server
    answers, else their own set.

    density: for `posterior`. disutility: h of `codebook`, default h(t) = t. wants: for `items` and
    `posterior`. Raises ParameterError for `posterior` without a density.
    """
    if kind is MetricRuleKind.NEAREST:
        return Nearest(index)
    if kind is MetricRuleKind.CODEBOOK:
        return CodebookRule(index, disutility)
    wants = wants or Wants(index)
    people: ByNoise | ByDensity = ByNoise(index.frame, wants.size)
    if kind is MetricRuleKind.POSTERIOR:
        if density is None:
            limit = "one without a density of people: none is known"
            raise ParameterError("rule", str(kind), limit)
        people = ByDensity(index.frame, density, wants.size)
    return Sampled(index, people, wants, (CodebookRule(index), Nearest(index)), served=served)


class MetricAnswers:
    """Answers queries that the model's card has checked.

    rules: one a collection, if they are made already. Raises ParameterError for a serving rule that
    needs a density of people where there is none.
    """

    def __init__(self, model: MetricModel, rules: Mapping[str, NearRule] | None = None) -> None:
        self.model = model
        if rules is None:
            space, towns, rules = model.card.space, model.towns, {}
            items = [collection.coordinates for collection in model.collections.values()]
            density = None
            if towns is not None:
                density = Density.of_towns(frame_of(space), towns, np.concatenate(items))
            for name, collection in model.collections.items():
                index = MetricIndex(space, collection.coordinates)
                wants = Wants(index, collection.card.wants, _columns_of(collection))
                rules[name] = near_rule_of(model.card.rule, index, density, wants, served=True)
        self._rules = rules

    def with_live(self, model: MetricModel) -> MetricAnswers:
        """Return answers by the same rules over a model of which only live values changed; wants
        of live values are looked up anew.
        """
        before, rules = self.model.collections, dict(self._rules)
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
        model = self.model
        collections = tuple(model.collections.values())
        return Snapshot(
            model.card, self.answer, self.slots, collections=collections, files=model.files
        )

    def answer(self, query: Query) -> PlaceSlate:
        """Return the PlaceSlate of a query: `listings`, k items of its collection whole, in order
        of id, and `catalog_version`. Raises NotFound for no such collection, and ParameterError for
        more than its items.
        """
        asked = self.model.asked(query)
        rows = self._rules[asked.card.name].choose(query.signal, query.k)
        return PlaceSlate(asked.card.version, asked.listings(rows))

    def slots(self, query: Query) -> int:
        """Return what an answer takes, in slots of a queue, by the NearRule of the query's
        collection (`NearRule.slots`); 0 where no queue is needed. Raises NotFound as `answer`.
        """
        return self._rules[self.model.asked(query).card.name].slots(query.signal, query.k)


def _columns_of(collection: Collection) -> Mapping[str, Column]:
    names = [attribute.name for attribute in collection.card.attributes]
    return dict(zip(names, collection.columns, strict=True))


class Serving:
    """A model, ready to be served, and the files of live values beside it, if it has any.

    snapshot: with what those said last. For one thread at a time. A file that cannot be used leaves
    the values of before.
    """

    def __init__(
        self, model: ItemModel | MetricModel, directory: Path | None = None, since: int = FIRST
    ) -> None:
        """Make ready what serves a model from the Monday `since` on. directory: where its files of
        live values are. Raises ParameterError for a serving rule that needs a density where there
        is none.
        """
        self._paths: dict[str, Path] = {}
        self._marks: dict[str, Mark] = {}
        self._answers: MetricAnswers | None = None
        if isinstance(model, MetricModel):
            self._answers = MetricAnswers(model)
            self.snapshot = replace(self._answers.snapshot, since=since)
            for card in model.card.collections:
                if directory is not None and card.is_live:
                    self._paths[card.name] = live_path(directory, card.number)
        else:
            self.snapshot = replace(Retriever(model.card, model.catalog).snapshot, since=since)

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        """Read the files of live values that changed since the last call, or at first all; return
        True if `snapshot` is another one now. refused: is called with why a file was not taken,
        "live values of food were not taken, those of before stay: ...". One that is gone changes
        nothing.
        """
        answers, columns = self._answers, {}
        for name, path in self._paths.items():
            mark = mark_of(path)
            if answers is None or mark is None or mark == self._marks.get(name):
                continue
            # Noted before it is read: a file replaced meanwhile is read once more.
            self._marks[name] = mark
            try:
                columns[name] = read_live(path, answers.model.collections[name])
            except ArtifactError as error:
                refused(f"live values of {name} were not taken, those of before stay: {error}")
        if answers is not None and columns:
            self._answers = answers.with_live(answers.model.with_live(columns))
            self.snapshot = replace(self._answers.snapshot, since=self.snapshot.since)
        return bool(columns)
