"""gRPC's health service, which tells a caller no more of a failure than ours do.

gRPC's own would send the text of whatever is raised, by a parser too. It also writes to one watcher
under the lock that the next change needs, so one who reads nothing would hold up all others, and
the stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

import grpc.aio
from grpc_health.v1 import health_pb2

from askew.wire import convert, status

State = health_pb2.HealthCheckResponse.ServingStatus
Context = grpc.aio.ServicerContext[bytes, bytes]
_SERVICE: str = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


class QuietHealth:
    """The states of services by name, asked for once or watched. For one thread."""

    def __init__(self) -> None:
        self._states: Mapping[str, int] = {}
        self._changed = asyncio.Event()  # of these states; the next ones have one of their own

    def tell(self, states: Mapping[str, int]) -> None:
        """What each service is from now on."""
        changed, self._changed = self._changed, asyncio.Event()
        self._states = states
        changed.set()

    def answer_on(self, server: grpc.aio.Server) -> None:
        """As registered methods, which wait in a line of their own: no others crowd them out."""
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Check": grpc.unary_unary_rpc_method_handler(self.check),
            "Watch": grpc.unary_stream_rpc_method_handler(self.watch),
        }
        server.add_registered_method_handlers(_SERVICE, methods)

    async def check(self, request: bytes, context: Context) -> bytes | None:
        """The state now."""
        return await _quiet(self._checked(request, context), context)

    async def watch(self, request: bytes, context: Context) -> None:
        """The state now, and whenever it changes."""
        await _quiet(self._watched(request, context), context)

    async def _checked(self, request: bytes, context: Context) -> bytes:
        name = _name(request)
        if name not in self._states:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return _reply(self._states[name])

    async def _watched(self, request: bytes, context: Context) -> None:
        name = _name(request)
        told: int | None = None
        while True:
            changed, state = self._changed, self._states.get(name, State.SERVICE_UNKNOWN)
            if state != told:
                await context.write(_reply(state))
            told = state
            await changed.wait()


def _name(request: bytes) -> str:
    return str(convert.parse(health_pb2.HealthCheckRequest(), request).service)


def _reply(state: int) -> bytes:
    return bytes(health_pb2.HealthCheckResponse(status=state).SerializeToString())


async def _quiet(answer: Awaitable[bytes | None], context: Context) -> bytes | None:
    try:
        return await answer
    except grpc.aio.AbortError:
        raise  # what it says on purpose
    except Exception as error:
        await context.abort(*status.status_of(error))
