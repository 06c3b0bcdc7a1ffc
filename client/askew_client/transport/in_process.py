"""A server in this process, for demos and tests: the public rule, and no network at all."""

from __future__ import annotations

from askew.errors import OtherKind, StaleSpace
from askew.held_file import Part, piece_of
from askew.metric_card import Card, MetricCard
from askew.model_card import Catalog, ModelCard
from askew.ranking import Slate
from askew.retrieval import rule_of
from askew.signal import Query
from askew.wire.held import held_files


class LocalTransport:
    """Answers as a server without a prior does. Implements Transport.

    Raises ParameterError for a card whose rule needs a prior or slates of its own.
    """

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self._card, self._catalog = card, catalog.decoded()
        self._rule = rule_of(card.rule.kind, card.space.encoder, self._catalog)
        self._files = held_files(card, catalog)

    async def held(self, edition: int, part: Part, start: int) -> bytes:  # noqa: ARG002
        """A piece of its only version."""
        return piece_of(self._files.get(part, b""), start)

    async def metric_card(self) -> MetricCard:
        """Refused: this is a server of tastes."""
        raise OtherKind("this server has a catalog of titles, and no collections of places")

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """What the card's rule answers. Raises StaleSpace for a signal of another space."""
        if query.signal.space_version != card.space.version:
            raise StaleSpace
        return Slate.of_catalog(self._catalog, self._rule.answer(query.signal, query.k))

    def mark(self) -> None:
        """Nobody listens."""
