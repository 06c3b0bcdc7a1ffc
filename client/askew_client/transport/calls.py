"""The calls of a server by their types: bytes are made, cross, and are read. In this order, so that
a connection can be closed before its reply is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from askew.catalog.catalog_file import Part
from askew.errors import AskewError, Malformed, NotFound, OtherKind, StaleSpace
from askew.protocol.metric_card import MetricCard, PlaceSlate
from askew.protocol.signal import Query
from askew.wire.places import all_places_from_bytes, metric_card_from_bytes
from askew.wire.queries import query_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb

if TYPE_CHECKING:
    from askew.protocol.model_card import ModelCard  # brings numpy
    from askew.protocol.ranking import Slate

_Value = TypeVar("_Value")


class Calls(ABC):
    """Typed calls, of whatever carries bytes."""

    @abstractmethod
    async def call(self, method: str, request: bytes) -> bytes:
        """The reply to one call. Raises a TransportError or a WireError."""

    async def piece(self, catalog_date: int, part: Part, start: int) -> bytes:
        """A piece of what a server lets devices hold: of a version and a part, from byte `start`.

        The head alone from 0, empty beyond the end. The version is named by its Monday. Raises
        OtherKind where there is no such file.
        """
        from askew.wire.catalog_file import piece_from_bytes  # brings numpy

        request = pb.GetCatalogFileRequest(catalog_date=catalog_date, part=part, start=start)
        try:
            data = await self.call("GetCatalogFile", request.SerializeToString())
        except NotFound:
            raise OtherKind("this server has no items for devices to hold", places=True) from None
        return _checked(lambda: piece_from_bytes(data))

    async def metric_card(self) -> MetricCard:
        """The public card of a server with a metric space."""
        return metric_card_of(await self.call("GetModelCard", METRIC_CARD))

    async def retrieve(self, query: Query, card: ModelCard) -> Slate:
        """The server's answer: exactly query.k items. The same query sends the same bytes."""
        return slate_of(await self.call("Retrieve", query_to_bytes(query)), query, card)

    async def places(self, query: Query, card: MetricCard) -> PlaceSlate:
        """The same of a server of places, of the one collection that is asked."""
        return places_of(await self.call("Retrieve", query_to_bytes(query)), query, card)[0]


METRIC_CARD = pb.GetModelCardRequest().SerializeToString()


def metric_card_of(reply: bytes) -> MetricCard:
    """The card that a server of places replied. Raises a WireError."""
    return _checked(lambda: metric_card_from_bytes(reply))


def slate_of(reply: bytes, query: Query, card: ModelCard) -> Slate:
    """The answer to a question of tastes. Raises a WireError."""
    from askew.wire.tastes import slate_from_bytes  # brings numpy

    return _checked(lambda: slate_from_bytes(reply, card, query.k))


def places_of(reply: bytes, query: Query, card: MetricCard) -> tuple[PlaceSlate, ...]:
    """The answers to a question for places, of each collection asked. Raises a WireError."""
    return _checked(lambda: all_places_from_bytes(reply, card, query))


def _checked(convert_reply: Callable[[], _Value]) -> _Value:
    """A reply as a core type. Whatever is wrong with it is the server's doing: a WireError."""
    try:
        return convert_reply()
    except (OtherKind, StaleSpace):
        raise  # an honest server, and another one
    except AskewError as error:
        raise Malformed(f"the server's answer was refused: {error}") from None
