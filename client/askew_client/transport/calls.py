"""The replies of a server as core types. They cross as bytes, and are read when the connection that
brought them is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from askew.errors import AskewError, Malformed, OtherKind, StaleSpace
from askew.protocol.metric_card import MetricCard, PlaceSlate
from askew.protocol.signal import Query
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.v1 import retrieval_pb2 as pb

if TYPE_CHECKING:
    from askew.protocol.collection import Collection  # brings numpy
    from askew.protocol.model_card import ModelCard
    from askew.protocol.ranking import Slate

_Value = TypeVar("_Value")


def card_request(catalog_date: int) -> bytes:
    """Return the bytes of a request for the card of a Monday (days since 1970-01-01), the same for
    everybody.
    """
    return pb.GetModelCardRequest(catalog_date=catalog_date).SerializeToString()


def metric_card_of(reply: bytes) -> MetricCard:
    """Return the card that a server of places replied with. Raises a WireError for any
    other reply.
    """
    return _checked(lambda: metric_card_from_bytes(reply))


def slate_of(reply: bytes, query: Query, card: ModelCard) -> Slate:
    """Return the slate of query.k items that answers a question of tastes. Raises a WireError for
    any other reply.
    """
    from askew.wire.tastes import slate_from_bytes  # brings numpy

    return _checked(lambda: slate_from_bytes(reply, card, query.k))


def places_of(
    reply: bytes, query: Query, card: MetricCard, rows: Mapping[str, Collection] | None = None
) -> tuple[PlaceSlate, ...]:
    """Return the slates that answer a question for places, one for each collection asked, in the
    card's order.

    rows: what is held, of which a reply brings live values alone. Raises a WireError for any other
    reply.
    """
    return _checked(lambda: places_from_bytes(reply, card, query, rows))


def _checked(convert_reply: Callable[[], _Value]) -> _Value:
    # Whatever is wrong with a reply is the server's doing: a WireError.
    try:
        return convert_reply()
    except (OtherKind, StaleSpace):
        raise  # an honest server, and another one
    except AskewError as error:
        raise Malformed(f"the server's answer was refused: {error}") from None
