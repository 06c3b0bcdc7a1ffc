"""The utility table of a card, measured on people whom the model did not see (`model.held_out`).

    local    a device that holds every item ranks them all
    cached   a device ranks the first n items that everybody would be shown
    query    it ranks what is held and the k items of one noisy signal, answered as served
    gain     of a query over as many items for everybody: those held and k more, paired
    equivalent items
             the least n so that n more items for everybody give as much as the signal

All is NDCG@10 of likes held out, with recall@20 beside it, and beside what plain recommenders give
the same people (`baselines`).

Every figure is of people who chose nothing. Where a device can hold all, the signals are measured
for one that holds nothing, and the table proposes `local`. Else, and where items have payloads, so
that nothing held can be read, it proposes one signal if that gains: at the k that was trained for,
by the mechanism that the first group prefers of those whose plain epsilon is at most the one that
was trained for. The second group's gain must be clear (`rule_choice`), and above twice its standard
error in thousandths too, by which devices reckon. That is one test, so what gains nothing is
proposed with a chance of 2.3 %; of at most twice that where those people have refused a rule for
points before, which leaves buckets. Otherwise the table proposes `cached`.

Sizes are those of the very files (`sized`): the table is in the card, and the card in the files, so
a table of the same rows with other sizes is as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import (
    DEVICE_BYTES,
    Baseline,
    BaselineName,
    ModeUtility,
    ServingMode,
    UtilityTable,
)
from askew_server.taste.baselines import met_by_baselines, most_liked
from askew_server.taste.measures import Gains, Met, mean_of
from askew_server.taste.model.held_out import Figure, Groups
from askew_server.taste.model.rule_choice import ServedSignals, SignalTerms, is_clear
from askew_server.taste.model.shared_slate import shared_slate
from askew_server.taste.training.factors import Histories, Tastes

FileSize = Callable[[ModelCard, Catalog], int]
"""How many bytes the file has that a device holds, of a card and of these items."""

SLATES = (5, 8, 20)
SHARED = (8, 25, 64, 200)
_MOST_WORTH = 256  # items for everybody that a signal is compared with
_UNMEASURED = 1  # bytes
_SLACK = 16  # bytes that another proposal may take


@dataclass(frozen=True, eq=False)
class ModeComparison:
    """Everything that a table compares.

    order: items for everybody, best first, beginning with those that devices hold; then as many as
    a signal may be worth.
    """

    signals: ServedSignals
    order: NDArray[np.int64] = field(repr=False)
    baselines: tuple[Baseline, ...] = ()

    def table(self) -> UtilityTable:
        """The rows in the order in which a person reads them, their sizes still to come."""
        n, held = len(self.signals.catalog), self.signals.groups.held
        people = self.signals.groups.testing
        sizes = sorted({*SHARED, held} - {0, n})
        offers = [_nothing_sent(ServingMode.LOCAL, n, people.local)]
        offers += [
            _nothing_sent(ServingMode.CACHED, size, people.cached(self.order[:size]))
            for size in sizes
            if size <= len(self.order)
        ]
        proposed = next((at for at, each in enumerate(offers) if each.held == held), 0)
        if self.signals.question.has_payloads and not proposed:  # nobody holds payloads
            proposed = min(1, len(offers) - 1)
        candidate = self._candidate()
        for terms in self.signals.rows():
            for offer, clear in self._of(terms):
                tested = terms == candidate and offer.k == self.signals.question.k
                if tested and clear and 2 * offer.gain_error <= offer.gain > 0:
                    proposed = len(offers)
                offers.append(offer)
        return UtilityTable(tuple(offers), proposed, self.baselines)

    @property
    def _sizes(self) -> list[int]:
        """The k of the signals, as far as the server answers them."""
        most = len(self.signals.catalog.shared_slate)
        return sorted({k for k in (*SLATES, self.signals.question.k) if k <= most})

    def _of(self, terms: SignalTerms) -> Iterator[tuple[ModeUtility, bool]]:
        """The rows of a signal, one for each k, and whether its gain is clear."""
        people, held = self.signals.groups.testing, self.signals.groups.held
        for k, got in self.signals.met(people, terms, self._sizes).items():
            nothing = people.served(self.order[held : held + k])
            figure = Figure.of(got, nothing)
            offer = ModeUtility(
                ServingMode.QUERY,
                held,
                _UNMEASURED if held else 0,
                figure.ndcg.mean,
                figure.gain.mean,
                figure.gain.error,
                terms.mechanism,
                terms.epsilon,
                k,
                self._equivalent(float(got.ndcg.sum())),
                figure.ndcg.error,
                figure.recall.mean,
                figure.recall.error,
            )
            yield offer, is_clear(mean_of(got.ndcg - nothing.ndcg), len(people))

    def _equivalent(self, reached: float) -> int:
        enough = np.flatnonzero(self._for_everybody >= reached)
        return int(enough[0]) if enough.size else 0

    @cached_property
    def _for_everybody(self) -> Gains:
        """The NDCG of the second group by n more items for everybody, n = 0, 1, ..., in all."""
        people, held = self.signals.groups.testing, self.signals.groups.held
        more = people.with_more(self.order[held:])
        return np.array([met.ndcg.sum() for met in more], dtype=np.float64)

    def _candidate(self) -> SignalTerms | None:
        """The terms that the first group prefers of those that may be proposed."""
        people, k = self.signals.groups.choosing, self.signals.question.k
        terms = self.signals.of(self.signals.question.epsilon)
        gains = [float(self.signals.met(people, each, [k])[k].ndcg.sum()) for each in terms]
        return terms[int(np.argmax(gains))] if terms else None


def _nothing_sent(mode: ServingMode, held: int, met: Met) -> ModeUtility:
    figure = Figure.of(met, met)
    return ModeUtility(
        mode,
        held,
        _UNMEASURED,
        figure.ndcg.mean,
        ndcg_error=figure.ndcg.error,
        recall=figure.recall.mean,
        recall_error=figure.recall.error,
    )


def baselines_of(trained: Histories, groups: Groups) -> tuple[Baseline, ...]:
    """What plain recommenders, made of the likes of those trained on, give the second group. The
    first chooses their parameters.
    """
    told = groups.testing
    plain = met_by_baselines(trained.likes, groups.choosing.profiles, told.profiles)
    met: dict[BaselineName, Met] = {"popularity": plain.pop("popularity")}
    met["popular-200"] = told.cached(most_liked(trained.likes))
    return tuple([_baseline(name, each) for name, each in (met | plain).items()])


def _baseline(name: BaselineName, met: Met) -> Baseline:
    figure = Figure.of(met, met)
    ndcg, recall = figure.ndcg, figure.recall
    return Baseline(name, ndcg.mean, ndcg.error, recall.mean, recall.error)


def order_for_everybody(
    tastes: Tastes, catalog: Catalog, held: int, seed: int
) -> NDArray[np.int64]:
    """The items held, the shared slate, and what one would show to anybody after those."""
    rng = np.random.default_rng([seed, 12])
    more = shared_slate(tastes, catalog.scoring, rng, held, most=_MOST_WORTH)
    known = set(catalog.shared_slate)
    further = [item for item in more if item not in known]
    return np.array([*range(held), *catalog.shared_slate, *further], dtype=np.int64)


def of_catalog(table: UtilityTable, held: Mapping[int, int], n_items: int) -> UtilityTable:
    """The same figures for another catalog. held: what other numbers of items devices hold there.

    Where the whole was proposed and no file of it is small any more, a new training is due.
    """
    rows = [replace(each, held=held.get(each.held, each.held)) for each in table.rows]
    kept = [at for at, each in enumerate(rows) if each.held <= n_items]
    return replace(
        table, rows=tuple([rows[at] for at in kept]), proposed=kept.index(table.proposed)
    )


def sized(card: ModelCard, catalog: Catalog, file_size: FileSize) -> ModelCard:
    """The card with the sizes of its files in its table, which proposes `local` where devices hold
    such a file.
    """
    table = card.utility_table
    if table is None:
        return card
    whole = file_size(card, catalog)
    if whole + _SLACK <= DEVICE_BYTES and table.proposed and not card.has_payloads:
        table = replace(table, proposed=0)
        card = replace(card, utility_table=table)
        whole = file_size(card, catalog)
    parts = {each.held for each in table.rows} - {0, len(catalog)}
    sizes = {n: file_size(card, catalog.first(n)) for n in parts} | {0: 0, len(catalog): whole}
    offers = tuple([replace(each, size=sizes[each.held]) for each in table.rows])
    return replace(card, utility_table=replace(table, rows=offers))
