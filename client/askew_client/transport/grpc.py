"""The network: one gRPC channel to one server.

Messages cross as bytes; `askew.wire.convert` makes and checks them, and `retries` sends the same
again. Plain text is spoken to this machine only; everywhere else it is TLS, and here too where an
authority is named. No call says who asks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import grpc
import grpc.aio

from askew.errors import AskewError, Malformed, NotFound, OtherKind, ParameterError, StaleSpace
from askew.held_file import PIECE_BYTES, Part
from askew.metric_card import Card, MetricCard
from askew.model_card import MAX_PAYLOAD
from askew.randomness import SystemBits
from askew.ranking import Slate
from askew.signal import Query
from askew.wire import convert, status
from askew.wire.trust import checked_authority, credentials_for
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport.retries import persistent

_SERVICE = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name
_MOST_BYTES = 64 * MAX_PAYLOAD + (1 << 20)  # a reply of 64 items whole, and their words
_OPTIONS = [
    # A server that starts again is found within a second, and not after a pause that doubles.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.enable_http_proxy", 0),  # a proxy would see when the device asks
]
_Value = TypeVar("_Value")


class GrpcTransport:
    """A channel to `target` ("host:port"). Use as an async context manager.

    authority: a file of certificates in PEM, trusted in place of the public authorities; "" trusts
    those. Raises ParameterError for a target that is not host:port, or a file that is no use.
    """

    def __init__(self, target: str, timeout: float, authority: str = "") -> None:
        self._target = target
        self._timeout = timeout
        credentials = credentials_for(target, _read(authority) if authority else None)
        if credentials is None:
            self.channel = grpc.aio.insecure_channel(target, options=_OPTIONS)
        else:
            self.channel = grpc.aio.secure_channel(target, credentials, options=_OPTIONS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.channel.close()

    async def held(self, edition: int, part: Part, start: int) -> bytes:
        """A piece of a file that devices hold."""
        request = pb.GetHeldRequest(edition=edition, part=part, start=start)
        try:
            data = await self._call("GetHeld", request.SerializeToString())
        except NotFound:
            raise OtherKind("this server has no items for devices to hold", places=True) from None
        piece = _checked(lambda: convert.parse(pb.GetHeldResponse(), data)).data
        if len(piece) > PIECE_BYTES:
            raise Malformed("a piece of a held file is too large")
        return piece

    async def metric_card(self) -> MetricCard:
        """The public card of a server with a metric space."""
        data = await self._call("GetModelCard", pb.GetModelCardRequest().SerializeToString())
        return _checked(lambda: convert.metric_card_from_bytes(data))

    async def retrieve(self, query: Query, card: Card) -> Slate:
        """The server's answer: exactly query.k items. The same query sends the same bytes."""
        data = await self._call("Retrieve", convert.query_to_bytes(query))
        return _checked(lambda: convert.slate_from_bytes(data, card, query.k, query.collection))

    def mark(self) -> None:
        """A channel of its own keeps no pace."""

    async def _call(self, method: str, request: bytes) -> bytes:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes | None]
        call = self.channel.unary_unary(f"/{_SERVICE}/{method}")

        async def send(seconds: float) -> bytes | None:
            return await call(request, timeout=seconds)

        try:
            reply = await persistent(send, self._timeout, SystemBits())
        except grpc.aio.AioRpcError as error:
            raise status.error_of(error.code(), self._target, error.details()) from None
        if reply is None:  # a status of success without a message
            raise Malformed("the server's answer is empty")
        return reply


def _read(authority: str) -> bytes:
    try:
        return checked_authority(Path(authority).expanduser().read_bytes(), authority)
    except (OSError, RuntimeError):  # no such file, or no such home
        raise ParameterError("authority", authority, "a file that can be read") from None


def _checked(convert_reply: Callable[[], _Value]) -> _Value:
    """A reply as a core type. Whatever is wrong with it is the server's doing: a WireError."""
    try:
        return convert_reply()
    except (OtherKind, StaleSpace):
        raise  # an honest server, and another one
    except AskewError as error:
        raise Malformed(f"the server's answer was refused: {error}") from None
