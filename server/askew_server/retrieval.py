"""The server's role, without I/O: a noisy signal in, k items out. Post-processing throughout."""

from __future__ import annotations

from askew.lattice import Lattice
from askew.model_card import Catalog, ModelCard
from askew.placement import RetrievalRule, SharedSlate, rule_of
from askew.ranking import Slate
from askew.signal import Query


class Retriever:
    """Answers queries that are valid for its card."""

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        """Raises ParameterError for a serving rule that needs more than a card and a catalog."""
        self.card = card
        self.catalog = catalog
        self._by_point: RetrievalRule = rule_of(card, catalog)
        self._by_bucket: RetrievalRule = SharedSlate(catalog.shared_slate)

    def answer(self, query: Query) -> Slate:
        """The k items of the rule that reads the signal's mechanism, with their local model."""
        by_point = isinstance(query.signal.mechanism, Lattice)
        rule = self._by_point if by_point else self._by_bucket
        chosen = rule.answer(query.signal, query.k)
        return Slate(self.card.catalog_version, chosen, self.catalog.scoring[list(chosen)])
