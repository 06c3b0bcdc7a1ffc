"""A server in this process, for demos and tests: the public rule, and no network at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from askew.catalog.catalog import Catalog
from askew.catalog.held_file import Part, piece_of
from askew.errors import OtherKind, StaleSpace
from askew.protocol.metric_card import Card, MetricCard
from askew.protocol.model_card import ModelCard
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.retrieval import rule_of
from askew.wire import convert
from askew.wire.held import held_files
from askew.wire.v1 import retrieval_pb2 as pb


class InProcess(ABC):
    """A server in this process: messages cross as bytes, and no socket is opened."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return

    @abstractmethod
    def card_for(self, collection: str) -> Card:
        """The card that a question is read by."""

    @abstractmethod
    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """A piece of what devices hold."""

    @abstractmethod
    async def metric_card(self) -> MetricCard:
        """The card of a server of places."""

    @abstractmethod
    async def retrieve(self, query: Query, card: Card) -> Slate:
        """The answer to a question."""

    async def call(self, method: str, request: bytes) -> bytes:
        """The reply to one call."""
        if method == "GetModelCard":
            return convert.card_to_bytes(await self.metric_card())
        message = convert.parse(pb.RetrieveRequest(), request)
        card = self.card_for(message.collection)
        query = convert.query_from_message(message, card)
        return convert.slate_to_bytes(await self.retrieve(query, card), card)


class LocalTransport(InProcess):
    """Answers as a server without a prior does. Implements Transport.

    Raises ParameterError for a card whose rule needs a prior or slates of its own.
    """

    def __init__(self, card: ModelCard, catalog: Catalog) -> None:
        self._card, self._catalog = card, catalog.decoded()
        self._rule = rule_of(card.rule.kind, card.space.encoder, self._catalog)
        self._files = held_files(card, catalog)

    def card_for(self, collection: str) -> Card:  # noqa: ARG002
        """The card: there is one catalog."""
        return self._card

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
