"""The network: gRPC connections to one server, each opened, used and closed.

Messages cross as bytes. Plain text is spoken to this machine only; everywhere else it is TLS, and
here too where an authority is named. No call says who asks.

A call that fails is sent again with the same bytes. How often and when depends on what came back,
on the clock and on pauses that were drawn before the connection, never on the profile: who listens
learns nothing from it. The pauses are jittered, because the devices that lost a server at the same
moment must not all come back at the same moment.

gRPC connects again and again for as long as anything holds a call or its channel, closed or not,
and an error holds all that its frames do. So errors cross the frames of an exchange as values, and
are raised where nothing of gRPC is left; who keeps one keeps no connection.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from weakref import WeakSet

import grpc
import grpc.aio

from askew.errors import Malformed, ParameterError, Unreachable
from askew.noise.randomness import RandomBits, SystemBits
from askew.wire import status
from askew.wire.status import cannot_pass, checked_authority, credentials_for, nobody_there
from askew.wire.v1 import retrieval_pb2 as pb

PATIENCE = 5.0  # seconds after which a call that fails is not sent again
NOBODY = 0.9  # the same where there is no connection at all
_FIRST, _LONGEST = 0.1, 1.0  # seconds of a pause; each is twice the one before
_JITTER = (0.75, 1.25)
_STEPS = 1 << 16  # of what is drawn between the two
_PAUSES = 12  # more seconds than the patience, however short each is
# A server that drains answers CANCELLED for calls that it had not accepted yet.
_PASSING = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED})
_Reply = TypeVar("_Reply")


def drawn_pauses(bits: RandomBits) -> tuple[float, ...]:
    """Draw and return the twelve pauses of one call, in seconds, before there is a connection: 0.1,
    0.2, 0.4, 0.8, then 1 eight times, each times a uniform 0.75 to 1.25.
    """
    least, most = _JITTER
    return tuple(
        min(_FIRST * 2**n, _LONGEST) * (least + (most - least) * bits.below(_STEPS) / _STEPS)
        for n in range(_PAUSES)
    )


async def persistent(
    send: Callable[[float], Awaitable[_Reply]],
    timeout: float,  # noqa: ASYNC109 (gRPC's own, for what is left of it)
    pauses: Sequence[float],
) -> _Reply:
    """Return the reply of `send(seconds left)`, which is called again, after the next of the
    pauses, while a failure may pass: UNAVAILABLE or CANCELLED, for 5 seconds, or for 0.9 where
    nobody listens.

    timeout: seconds for all of it. Raises the last failure as grpc.aio.AioRpcError.
    """
    clock = asyncio.get_running_loop().time
    began = clock()
    for pause in pauses:
        try:
            return await send(began + timeout - clock())
        except grpc.aio.AioRpcError as error:
            passed = clock() - began
            if _is_over(error, passed, pause) or passed + pause >= timeout:
                raise
        await asyncio.sleep(pause)
    return await send(began + timeout - clock())


def _is_over(error: grpc.aio.AioRpcError, passed: float, pause: float) -> bool:
    # A false certificate stays false. Where nobody listens, a server that starts again may within a
    # second; what is there and fails for a while has the whole patience.
    details = error.details() or ""
    if error.code() not in _PASSING or cannot_pass(details):
        return True
    return passed + pause > NOBODY if nobody_there(details) else passed >= PATIENCE


_SERVICE = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name
_MOST_BYTES = 1 << 24  # a reply of all collections
_OPTIONS = [
    # A server that starts again is found within a second, and not after a pause that doubles.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.enable_http_proxy", 0),  # a proxy would see when the device asks
    ("grpc.use_local_subchannel_pool", 1),  # a channel that is closed keeps no connection
    # Calls are made again by us: gRPC would ask a server that only says goodbye hundreds of times.
    ("grpc.enable_retries", 0),
]
_HEALTH, _SERVING = "/grpc.health.v1.Health/Check", b"\x08\x01"  # HealthCheckResponse(SERVING)
_LOOKS, _BETWEEN = 200, 0.0005  # how often, and seconds: for gRPC to end a call and a descriptor
_CHANNELS: WeakSet[grpc.aio.Channel] = WeakSet()  # of this process that are not gone


class GrpcTransport:
    """A way to `target` ("host:port"). Entered, it is a connection, for all calls until it is left;
    a call outside has one of its own. Once left, its descriptor is closed.

    authority: a file of certificates in PEM, trusted in place of the public authorities; "" trusts
    those. alive: gets the channels and calls, which it holds weakly; what is left in it after a
    connection may still be heard. Raises ParameterError for a target that is not host:port, or a
    file that is no use.
    """

    def __init__(
        self,
        target: str,
        timeout: float,
        authority: str = "",
        alive: WeakSet[object] | None = None,
    ) -> None:
        self._target = target
        self._alive: WeakSet[object] = WeakSet() if alive is None else alive
        self._timeout = timeout
        self._credentials = credentials_for(target, _read(authority) if authority else None)
        self._channel: grpc.aio.Channel | None = None
        self._before: set[str] = set()  # sockets
        self._failed = False  # the last call

    @property
    def channel(self) -> grpc.aio.Channel:
        """Return the open connection. Raises RuntimeError where there is none."""
        if self._channel is None:
            raise RuntimeError("not connected")
        return self._channel

    async def __aenter__(self) -> Self:
        if self._channel is not None:
            raise RuntimeError("connected already")
        self._pauses, self._failed = drawn_pauses(SystemBits()), False
        if self._credentials is None:
            self._channel = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(
                self._target, self._credentials, options=_OPTIONS
            )
        self._alive.add(self._channel)
        _CHANNELS.add(self._channel)
        self._before = _own_sockets()  # a channel connects with its first call
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.channel.close()
        finally:
            self._channel = None
        # A call that was cancelled ends with the loop's next rounds, and gRPC closes the descriptor
        # in a thread of its own, a millisecond later.
        if not await self._is_gone():
            gc.collect()  # calls in a circle
            # After a reply gRPC closes its own. Else what is open may be of the program around us.
            if self._failed and not _CHANNELS:
                _hang_up(_own_sockets() - self._before, await self._addresses())
                await self._is_gone()

    async def _addresses(self) -> set[tuple[str, int]]:
        host, _, port = self._target.rpartition(":")
        with suppress(OSError):
            places = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), int(port))
            return {(str(place[0]), int(port)) for *_, place in places}
        return set()

    async def _is_gone(self) -> bool:
        for _ in range(_LOOKS):
            if not self._alive and not _own_sockets() - self._before:
                return True
            await asyncio.sleep(_BETWEEN)
        return False

    async def call(self, method: str, request: bytes) -> bytes:
        """Return the reply's bytes to one call of the service (method: "Retrieve", "GetModelCard"),
        over the open connection, or over one of its own where none is open. Raises a TransportError
        or a WireError.
        """
        if self._channel is None:
            async with self:
                return await self.call(method, request)
        return await self._answer(f"/{_SERVICE}/{method}", request)

    async def check_health(self) -> None:
        """Return None if the server says, over the open connection, that it serves. Raises a
        TransportError or a WireError else, RuntimeError where no connection is open.
        """
        reply = await self._answer(_HEALTH, b"")
        if reply != _SERVING:
            raise Unreachable(f"{self._target} is up", "it does not serve now")

    async def _answer(self, method: str, request: bytes) -> bytes:
        reply = await self._exchange(method, request)
        try:
            if isinstance(reply, BaseException):
                raise reply.with_traceback(None)
            return reply
        finally:
            del reply  # a frame that held its own error would be a circle

    async def _exchange(self, method: str, request: bytes) -> bytes | BaseException:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes | None]
        call, self._failed = self.channel.unary_unary(method), True

        async def send(seconds: float) -> bytes | None:
            sent = call(request, timeout=seconds)
            self._alive.add(sent)
            return await sent

        failure: BaseException
        try:
            reply = await persistent(send, self._timeout, self._pauses)
        except grpc.aio.AioRpcError as error:
            failure = status.error_of(error.code(), self._target, error.details())
        except BaseException as error:  # a cancellation, too, holds the frames that it crossed
            error.__context__ = error.__cause__ = None
            failure = error
        else:
            self._failed = False
            # None is a status of success without a message.
            return Malformed("the server's answer is empty") if reply is None else reply
        return failure


def _own_sockets() -> set[str]:
    # None where the system does not list them.
    names: set[str] = set()
    with suppress(OSError):  # there is no such list
        for path in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                names.add(str(path.readlink()))
    return {name for name in names if name.startswith("socket:")}


def _hang_up(sockets: set[str], addresses: set[tuple[str, int]]) -> None:
    # gRPC waits twenty seconds for a socket that takes a connection and says nothing, whether
    # anybody still wants the channel or not.
    descriptors = Path("/proc/self/fd").iterdir() if sockets else ()
    for descriptor in descriptors:
        with suppress(OSError):  # closed meanwhile
            if str(descriptor.readlink()) not in sockets:
                continue
            with socket.socket(fileno=os.dup(int(descriptor.name))) as own:
                if own.family not in {socket.AF_INET, socket.AF_INET6}:
                    continue
                host, port = own.getpeername()[:2]
                if (host.removeprefix("::ffff:"), port) in addresses:  # IPv4 within IPv6
                    own.shutdown(socket.SHUT_RDWR)


def _read(authority: str) -> bytes:
    try:
        return checked_authority(Path(authority).expanduser().read_bytes(), authority)
    except (OSError, RuntimeError):  # no such file, or no such home
        raise ParameterError("authority", authority, "a file that can be read") from None
