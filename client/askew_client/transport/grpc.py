"""The network: gRPC connections to one server, each opened, used and closed.

Messages cross as bytes, and `retries` sends the same again. Plain text is spoken to this machine
only; everywhere else it is TLS, and here too where an authority is named. No call says who asks.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

from askew.errors import Malformed, ParameterError, Unreachable
from askew.noise.randomness import SystemBits
from askew.protocol.model_card import MAX_PAYLOAD
from askew.wire import status
from askew.wire.trust import checked_authority, credentials_for
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport.calls import Calls
from askew_client.transport.retries import drawn_pauses, persistent

_SERVICE = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name
_MOST_BYTES = 64 * MAX_PAYLOAD + (1 << 20)  # a reply of 64 items whole, and their words
_OPTIONS = [
    # A server that starts again is found within a second, and not after a pause that doubles.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.enable_http_proxy", 0),  # a proxy would see when the device asks
    ("grpc.use_local_subchannel_pool", 1),  # a channel that is closed keeps no connection
]
_HEALTH, _SERVING = "/grpc.health.v1.Health/Check", b"\x08\x01"  # HealthCheckResponse(SERVING)
_LOOKS, _BETWEEN = 200, 0.0005  # how often, and seconds: for gRPC to close a descriptor


class GrpcTransport(Calls):
    """A way to `target` ("host:port"). Entered, it is a connection, for all calls until it is left;
    a call outside has one of its own. Once left, its descriptor is closed.

    authority: a file of certificates in PEM, trusted in place of the public authorities; "" trusts
    those. Raises ParameterError for a target that is not host:port, or a file that is no use.
    """

    def __init__(self, target: str, timeout: float, authority: str = "") -> None:
        self._target = target
        self._timeout = timeout
        self._credentials = credentials_for(target, _read(authority) if authority else None)
        self._channel: grpc.aio.Channel | None = None
        self._before: set[str] = set()  # sockets

    @property
    def channel(self) -> grpc.aio.Channel:
        """The connection, while there is one."""
        if self._channel is None:
            raise RuntimeError("not connected")
        return self._channel

    async def __aenter__(self) -> Self:
        if self._channel is not None:
            raise RuntimeError("connected already")
        self._pauses = drawn_pauses(SystemBits())
        if self._credentials is None:
            self._channel = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(
                self._target, self._credentials, options=_OPTIONS
            )
        self._before = _own_sockets()  # a channel connects with its first call
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        channel, self._channel = self.channel, None
        await channel.close()
        # gRPC closes the descriptor in a thread of its own, a millisecond later.
        for _ in range(_LOOKS):
            if not _own_sockets() - self._before:
                break
            await asyncio.sleep(_BETWEEN)

    async def call(self, method: str, request: bytes) -> bytes:
        """The reply to one call."""
        if self._channel is None:
            async with self:
                return await self.call(method, request)
        return await self._answer(self._channel, f"/{_SERVICE}/{method}", request)

    async def check_health(self) -> None:
        """Raises a TransportError for a server that does not say that it serves."""
        reply = await self._answer(self.channel, _HEALTH, b"")
        if reply != _SERVING:
            raise Unreachable(f"{self._target} is up", "it does not serve now")

    async def _answer(self, channel: grpc.aio.Channel, method: str, request: bytes) -> bytes:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes | None] = channel.unary_unary(method)

        async def send(seconds: float) -> bytes | None:
            return await call(request, timeout=seconds)

        try:
            reply = await persistent(send, self._timeout, self._pauses)
        except grpc.aio.AioRpcError as error:
            raise status.error_of(error.code(), self._target, error.details()) from None
        if reply is None:  # a status of success without a message
            raise Malformed("the server's answer is empty")
        return reply


def _own_sockets() -> set[str]:
    """The sockets of this process, where the system lists them."""
    found: set[str] = set()
    with suppress(OSError):  # there is no such list
        for each in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found.add(str(each.readlink()))
    return {each for each in found if each.startswith("socket:")}


def _read(authority: str) -> bytes:
    try:
        return checked_authority(Path(authority).expanduser().read_bytes(), authority)
    except (OSError, RuntimeError):  # no such file, or no such home
        raise ParameterError("authority", authority, "a file that can be read") from None
