"""All that a server answers from at one moment, and the holder that swaps it for the next.

A snapshot never changes. A call takes the current one once, at its beginning, and uses nothing
else: a swap in between cannot mix two models. From a noisy signal to k items everything is
post-processing, without I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from askew.catalog.catalog import Catalog
from askew.catalog.catalog_file import FIRST, Part, is_catalog_date
from askew.errors import StaleSpace
from askew.noise.lattice import LatticeLaplace
from askew.protocol.collection import Collection
from askew.protocol.metric_card import PlaceSlate
from askew.protocol.model_card import Card, ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Mechanism, Query
from askew.retrieval.buckets import BucketRule
from askew.retrieval.posterior import PosteriorRule
from askew.retrieval.rules import OffsetRule, RetrievalRule, SharedSlate, rule_of
from askew_server.taste.model.answer_tables import AnswerTable
from askew_server.taste.model.mondays import today
from askew_server.taste.model.payloads import Payloads
from askew_server.taste.prior.people import PriorPeople, served_slates


class Answers(Protocol):
    """A way to answer questions that the card has checked."""

    def answer(self, query: Query) -> Slate | PlaceSlate:
        """The k items of a query, whole."""

    def cost(self, query: Query) -> int:
        """What an answer takes now, in slots of a queue; 0 for so little that it needs none."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A card, what answers for it, and the catalog that devices hold, if they hold one. since: the
    Monday from which on it is in force. tables: answers made beforehand, of this very catalog.
    collections: whose items are answered whole, if it has any. files: what devices may hold of
    those.
    """

    card: Card
    answers: Answers = field(repr=False)
    catalog: Catalog | None = field(default=None, repr=False)
    since: int = FIRST
    tables: tuple[AnswerTable, ...] = field(default=(), repr=False)
    collections: tuple[Collection, ...] = field(default=(), repr=False)
    files: Mapping[Part, bytes] = field(default_factory=dict, repr=False)


class Serving(Protocol):
    """A snapshot that may be followed by another while it is served."""

    @property
    def snapshot(self) -> Snapshot:
        """What serves now."""

    @property
    def changes(self) -> bool:
        """Whether it is ever followed by another."""

    def refresh(self, refused: Callable[[str], None], /) -> bool:
        """Looks for the next; whether there is one."""


class SnapshotHolder:
    """The snapshots of all models that are answered, by their Mondays. Reading and swapping are one
    step each, so any thread may. today: in days since 1970-01-01, UTC.
    """

    def __init__(self, *snapshots: Snapshot, today: Callable[[], int] = today) -> None:
        """snapshots: at least one, of different Mondays."""
        self._today = today
        self._all = tuple(sorted(snapshots, key=lambda each: each.since))

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """All of them, by their Mondays."""
        return self._all

    @property
    def current(self) -> Snapshot:
        """The newest whose Monday has come."""
        today, snapshots = self._today(), self._all
        return next((each for each in reversed(snapshots) if each.since <= today), snapshots[0])

    def at(self, catalog_date: int) -> Snapshot:
        """Return the newest whose Monday had come on the Monday that a device names.

        Raises StaleSpace where there is none, and for a day that is no Monday or has not come: a
        clock may be ahead by a day, since days begin elsewhere first.
        """
        if is_catalog_date(catalog_date) and catalog_date <= self._today() + 1:
            for snapshot in reversed(self._all):
                if snapshot.since <= catalog_date:
                    return snapshot
        raise StaleSpace

    def swap(self, snapshot: Snapshot) -> None:
        """Serve another for the one of the same day from now on; calls under way end with the one
        that they began with.
        """
        kept = [each for each in self._all if each.since != snapshot.since]
        self._all = tuple(sorted([*kept, snapshot], key=lambda each: each.since))

    def withdraw(self, since: int) -> None:
        """Answer from the snapshot of this day no more."""
        self._all = tuple(each for each in self._all if each.since != since)


_QUICK, _FEW = 1 << 14, 16  # scores and results, which take less than .2 ms


class Retriever:
    """Answers queries that are valid for its card: points by one rule, buckets by another.

    The card names the rule that did best. A signal of the other mechanism, which is the device's to
    choose, gets the best that there is for it: with a prior, `posterior` or `buckets`; without one,
    `codebook` or the shared slate. No answer names a default item: it is chosen for what it adds to
    those.
    """

    def __init__(
        self,
        card: ModelCard,
        catalog: Catalog,
        prior: PriorPeople | None = None,
        payloads: Payloads | None = None,
        *,
        slates: BucketRule | None = None,
    ) -> None:
        """slates: of buckets, where they were chosen before.

        Raises ParameterError for a serving rule that needs a prior where there is none."""
        self.card = card
        self.catalog = catalog
        self._payloads = payloads
        rule, held = card.rule, card.n_held
        self.prior = known = None if prior is None else prior.prior(catalog, held)
        self._by_point = rule_of(rule.kind, card.space.encoder, catalog, known, held=held)
        if isinstance(self._by_point, OffsetRule):
            self._by_point.prepare(card.max_slate_size)
        made = slates or served_slates(card, catalog, prior, known)
        self._by_bucket: RetrievalRule = made or SharedSlate(catalog.shared_slate)

    @property
    def snapshot(self) -> Snapshot:
        """This model, ready to be served."""
        return Snapshot(self.card, self, self.catalog)

    def rule(self, mechanism: Mechanism) -> RetrievalRule:
        """What answers signals of this mechanism."""
        return self._by_point if isinstance(mechanism, LatticeLaplace) else self._by_bucket

    def answer(self, query: Query) -> Slate:
        """The k items of the rule that reads the signal's mechanism, whole."""
        chosen = self.rule(query.signal.mechanism).answer(query.signal, query.k)
        payloads = () if self._payloads is None else tuple([self._payloads[i] for i in chosen])
        return Slate.of_catalog(self.catalog, chosen, payloads)

    def cost(self, query: Query) -> int:
        """Nothing for what is looked up, or for few results found among few items, which takes no
        more than to hand it to a thread. Else a place, and one more for each 16 results.
        """
        match self.rule(query.signal.mechanism):
            case PosteriorRule():
                quick = False
            case OffsetRule() as rule:
                quick = query.k <= _FEW and rule.scores(query.k) <= _QUICK
            case _:
                quick = True
        return 0 if quick else 1 + query.k // 16
