"""A server in this process, for demos and tests: the public rule, and no network at all."""

from __future__ import annotations

from askew.errors import OtherKind, StaleSpace
from askew.local_model import decode_vectors, encode_vectors
from askew.metric_card import Card, MetricCard
from askew.model_card import Catalog, ModelCard
from askew.ranking import Slate
from askew.retrieval import rule_of
from askew.signal import Query


class LocalTransport:
    """Answers as a server without a prior does. Implements Transport.

    Raises ParameterError for a card whose rule needs a prior or slates of its own.
    """

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self._card, self._catalog = card, catalog
        self._rule = rule_of(card.rule.kind, card.space.encoder, catalog)

    async def model_card(self) -> ModelCard:
        """The card."""
        return self._card

    async def metric_card(self) -> MetricCard:
        """Refused: this is a server of tastes."""
        raise OtherKind("this server has a catalog of titles, and no collections of places")

    async def catalog(self, card: ModelCard) -> Catalog:  # noqa: ARG002  # a server has one
        """The catalog."""
        return self._catalog

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """What the card's rule answers. Raises StaleSpace for a signal of another space."""
        if query.signal.space_version != card.space.version:
            raise StaleSpace
        found = self._rule.answer(query.signal, query.k)
        sent = encode_vectors(self._catalog.scoring[list(found)])
        return Slate(self._catalog.version, found, decode_vectors(*sent, query.k))

    def mark(self) -> None:
        """Nobody listens."""
