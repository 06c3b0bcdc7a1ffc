"""Any of Askew's services on a port: limits, health checks, and no exception text for callers.

Handlers take raw bytes and parse them here, because gRPC would tell the caller the exception text
of a message that it could not parse. Nothing of a request is ever logged.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from askew.errors import WireError
from askew.wire import status

_log = logging.getLogger(__name__)

# Sizes and rates that a public port needs; each was measured against an attack.
SERVER_OPTIONS = [
    ("grpc.so_reuseport", 0),  # a second server on the port must fail, not take half the calls
    ("grpc.max_receive_message_length", 16 * 1024),
    ("grpc.compression_enabled_algorithms_bitset", 1),  # none: sizes must not depend on content
    ("grpc.max_metadata_size", 8192),
    ("grpc.absolute_max_metadata_size", 8192),
    ("grpc.max_concurrent_streams", 128),
    ("grpc.server_handshake_timeout_ms", 5_000),
    ("grpc.http2.settings_timeout", 10_000),
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.max_connection_age_ms", 600_000),
    ("grpc.max_connection_age_grace_ms", 10_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 30_000),
]

_MAX_CONCURRENT_CALLS = 128  # more are refused at once, with RESOURCE_EXHAUSTED
Context = grpc.aio.ServicerContext[bytes, bytes]
Call = Callable[[bytes, Context], Awaitable[bytes]]


class Service(Protocol):
    """What can be served: a full name for health checks, and handlers."""

    @property
    def name(self) -> str:
        """The service's full name, with its package."""

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs in order to serve this."""


def guarded(answer: Callable[[bytes], Awaitable[bytes]]) -> Call:
    """As `guarded_call`, for an answer that depends on the message alone."""
    return guarded_call(lambda request, _: answer(request))


def guarded_call(answer: Call) -> Call:
    """A handler that turns every failure into a status of the one table."""

    async def handle(request: bytes, context: Context) -> bytes:
        try:
            return await answer(request, context)
        except WireError as error:
            await context.abort(*status.status_of(error))
        except Exception as error:
            # Neither the caller nor the log may see its text: it could hold a request.
            _log.error("a call failed: %s", type(error).__name__)
            await context.abort(*status.status_of(error))

    return handle


class RunningServer:
    """A gRPC server with health checks on one port."""

    def __init__(self, services: Sequence[Service], address: str) -> None:
        """Binds the port. Raises OSError, which says why not, as when it is taken."""
        self._server = grpc.aio.server(
            options=SERVER_OPTIONS, maximum_concurrent_rpcs=_MAX_CONCURRENT_CALLS
        )
        self._server.add_generic_rpc_handlers([service.handler() for service in services])
        self._names = ["", *(service.name for service in services)]
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        try:
            self.port = self._server.add_insecure_port(address)
        except RuntimeError:
            raise OSError(f"cannot listen on {address}: {_why_not(address)}") from None

    async def start(self) -> None:
        """Serve, and say so to health checks."""
        await self._server.start()
        for service in self._names:
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    async def stop(self, grace: float = 5.0) -> None:
        """Turn new calls away, finish those under way within `grace` seconds."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace)


def _why_not(address: str) -> str:
    """What gRPC does not say: found out by trying to listen there once more."""
    host, _, port = address.rpartition(":")
    try:
        places = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(place)
    except socket.gaierror:
        return "this machine knows no such host"
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return "the port is taken by another program; --port names another"
        return os.strerror(error.errno or 0).lower()
    return "gRPC refuses this address"
