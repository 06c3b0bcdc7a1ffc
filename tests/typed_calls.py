"""Calls of a server as core types, for tests that are about neither bytes nor a whole device."""

from __future__ import annotations

from askew.protocol.cards import MetricCard, ModelCard, PlaceSlate
from askew.protocol.ranking import Slate
from askew.protocol.signal import Query
from askew.wire.queries import query_to_bytes
from askew_client.transport.grpc import GrpcTransport
from askew_client.transport.in_process import InProcess
from askew_client.transport.shaped import ShapedTransport, card_request, metric_card_of

Transport = GrpcTransport | InProcess


async def metric_card(network: Transport) -> MetricCard:
    return metric_card_of(await network.call("GetModelCard", card_request(0)))


async def retrieve(network: Transport, query: Query, card: ModelCard) -> Slate:
    reply = await network.call("Retrieve", query_to_bytes(query))
    return ShapedTransport.decoded(reply, query, card)


async def places(network: Transport, query: Query, card: MetricCard) -> PlaceSlate:
    reply = await network.call("Retrieve", query_to_bytes(query))
    (slate,) = ShapedTransport.decoded_places(reply, query, card, {})
    return slate
