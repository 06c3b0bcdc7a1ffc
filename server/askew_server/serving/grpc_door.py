"""Methods by gRPC, with health checks by grpcio-health-checking.

Handlers take raw bytes, because gRPC would tell the caller the error text of a message that it
could not parse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health

from askew_server.serving.admission import Method
from askew_server.serving.call import Service
from askew_server.serving.log import log_event
from askew_server.serving.metrics import Observer

Context = grpc.aio.ServicerContext[bytes, bytes]

REQUEST_BYTES = 16 * 1024
"""The most that a message of a caller may have."""
_PENDING = 64
"""Calls that have arrived and not begun; beyond twice as many, gRPC turns away all."""
OPTIONS = [
    ("grpc.so_reuseport", 0),  # a second server must fail
    ("grpc.max_receive_message_length", REQUEST_BYTES),
    ("grpc.compression_enabled_algorithms_bitset", 1),  # none: sizes must not depend on content
    ("grpc.max_concurrent_streams", 128),
    ("grpc.server.max_pending_requests", _PENDING),
    ("grpc.server.max_pending_requests_hard_limit", 2 * _PENDING),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.http2.ping_timeout_ms", 20_000),
]
"""What a gRPC server is started with."""


def grpc_server(methods: Mapping[str, Mapping[str, Method]], health: Health) -> grpc.aio.Server:
    """Return a gRPC server of these methods, without a port and not started. Health is asked by
    registered methods, which wait in a line of their own: no calls crowd them out.
    """
    server = grpc.aio.server(options=OPTIONS)
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    for service, own in methods.items():
        handlers = {name: _handler(method) for name, method in own.items()}
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    return server


def _handler(method: Method) -> grpc.RpcMethodHandler[bytes, bytes]:
    async def handle(request: bytes, context: Context) -> bytes:
        reply = await method.reply(
            request, lambda: authorization_of(context), context.time_remaining
        )
        if isinstance(reply, bytes):
            return reply
        # Not by `abort`, whose exception takes longer: of a refusal, that is missing elsewhere.
        context.set_code(reply[0])
        context.set_details(reply[1])
        return b""  # which gRPC does not send beside a status that is not OK

    return grpc.unary_unary_rpc_method_handler(handle)


def authorization_of(context: Context) -> Sequence[str]:
    """Return the values of a call's authorization headers, in their order; none where there are
    none.
    """
    metadata = context.invocation_metadata() or ()
    return [str(value) for name, value in metadata if name == "authorization"]


_State = health_pb2.HealthCheckResponse.ServingStatus
ALL = ""
"""The name under which gRPC asks for a server as a whole."""
LIVE = "live"
"""The name under which somebody asks whether the event loop answers, whatever it can serve."""


class Health(health.HealthServicer):  # type: ignore[misc]  # it has no types
    """The state of each service, kept and not made when somebody asks: no check waits for a disk.

    There is no watch: gRPC's writes to one watcher under the lock that the next change needs, so
    that one who reads nothing would hold up the stop.
    """

    def __init__(self, services: Sequence[Service], observer: Observer) -> None:
        super().__init__()
        self._services, self._observer = services, observer
        self._good: dict[str, bool] = {}
        self._server_status[ALL] = _State.NOT_SERVING

    async def Watch(self, _: object, context: Context) -> None:  # noqa: N802
        """Refuse the call, as unimplemented."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED)

    async def look(self) -> None:
        """Ask each service whether it can answer, and keep that for health checks and gauges: of
        each by its name, of all under "", and "live" always. Log what changed since the last look.
        """
        for service in self._services:
            good = True
            try:
                await asyncio.to_thread(service.check)
            except Exception:  # whatever it is: it cannot answer
                good = False
            if self._good.get(service.name, good) != good:
                log_event("health_changed", service=service.name, serving=good)
            self._good[service.name] = good
            self._observer.serving.labels(service.name).set(good)
        for name, good in {**self._good, ALL: all(self._good.values()), LIVE: True}.items():
            await self.set(name, _State.SERVING if good else _State.NOT_SERVING)

    async def stop(self) -> None:
        """Say from now on that nothing is served, whatever a later `look` finds; set the gauges
        to 0, where they stay until such a `look`.
        """
        for name in self._good:
            self._observer.serving.labels(name).set(False)
        await self.enter_graceful_shutdown()
