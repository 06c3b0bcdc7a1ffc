"""Every message that one side sends, by its name: its type, a proper one, and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wire import metric_world as metric
from wire import taste_world as taste
from wire.test_popularity_messages import PARSERS as RELEASES

from askew.wire.catalog_file import catalog_from_body
from askew.wire.places import metric_card_from_bytes, places_from_bytes
from askew.wire.queries import query_from_bytes
from askew.wire.tastes import card_from_bytes, slate_from_bytes
from askew.wire.v1 import popularity_pb2 as releases
from askew.wire.v1 import retrieval_pb2 as pb


@dataclass(frozen=True)
class Sent:
    """A proper message, and how it is read."""

    type: type[Any]
    data: bytes
    parse: Callable[[bytes], object]

    @property
    def message(self) -> Any:
        """It, parsed by protobuf."""
        return self.type.FromString(self.data)


def places(data: bytes) -> object:
    return places_from_bytes(data, metric.MAP_CARD, metric.QUERY)


def posts(data: bytes) -> object:
    return places_from_bytes(data, metric.AXES_CARD, metric.AXES_QUERY)


QUESTION, REPLY, CARD = pb.RetrieveRequest, pb.RetrieveResponse, pb.GetModelCardResponse
OF_RELEASES = {
    "charge": releases.GetReleaseRequest,
    "page request": releases.ListReleasesRequest,
    "question": releases.TopKRequest,
    "answer": releases.TopKResponse,
    "budget request": releases.GetBudgetRequest,
    "budget": releases.GetBudgetResponse,
}
SENT: dict[str, Sent] = {
    "query": Sent(QUESTION, taste.REQUEST_BYTES, lambda data: query_from_bytes(data, taste.CARD)),
    "place": Sent(
        QUESTION, metric.REQUEST_BYTES, lambda data: query_from_bytes(data, metric.MAP_CARD)
    ),
    "axes": Sent(
        QUESTION, metric.AXES_REQUEST_BYTES, lambda data: query_from_bytes(data, metric.AXES_CARD)
    ),
    "slate": Sent(REPLY, taste.REPLY_BYTES, lambda data: slate_from_bytes(data, taste.CARD, 3)),
    "places": Sent(REPLY, metric.REPLY_BYTES, places),
    "posts": Sent(REPLY, metric.AXES_REPLY_BYTES, posts),
    "card": Sent(CARD, taste.CARD_BYTES, card_from_bytes),
    "map card": Sent(CARD, metric.CARD_BYTES, metric_card_from_bytes),
    "axes card": Sent(CARD, metric.AXES_CARD_BYTES, metric_card_from_bytes),
    "held": Sent(pb.CatalogFile, taste.BODY, catalog_from_body),
    **{name: Sent(OF_RELEASES[name], data, read) for name, (read, data, _) in RELEASES.items()},
}
