"""The server's role, without I/O: a noisy signal in, k items out. Post-processing throughout."""

from __future__ import annotations

from askew.lattice import Lattice
from askew.model_card import Catalog, ModelCard
from askew.ranking import Slate
from askew.retrieval import OffsetRule, RetrievalRule, SharedSlate, rule_of
from askew.retrieval.buckets import BucketRule
from askew.retrieval.posterior import PosteriorRule
from askew.signal import Mechanism, Query
from askew_server.model.payloads import Payloads
from askew_server.prior.people import PriorPeople, served_slates
from askew_server.retrieval.snapshot import Chosen, Snapshot

_QUICK, _FEW = 1 << 14, 16  # scores and results, which take less than .2 ms


class Retriever:
    """Answers queries that are valid for its card: points by one rule, buckets by another.

    The card names the rule that did best. A signal of the other mechanism, which is the device's to
    choose, gets the best that there is for it: with a prior, `posterior` or `buckets`; without one,
    `codebook` or the shared slate. No answer names a starter item: it is chosen for what it adds to
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
        return self._by_point if isinstance(mechanism, Lattice) else self._by_bucket

    def answer(self, query: Query) -> Slate:
        """The k items of the rule that reads the signal's mechanism, whole."""
        return Slate.of_catalog(self.catalog, *self.picked(query))

    def picked(self, query: Query) -> Chosen:
        """The same by id."""
        chosen = self.rule(query.signal.mechanism).answer(query.signal, query.k)
        payloads = () if self._payloads is None else tuple([self._payloads[i] for i in chosen])
        return Chosen(chosen, payloads)

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
