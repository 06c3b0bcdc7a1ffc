"""gRPC's health service, which tells a caller no more of a failure than ours do.

gRPC's own would send the text of whatever a handler raises. It also writes to one watcher under the
lock that the next change needs, so one who reads nothing would hold up all others, and the stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from askew.wire import status

State = health_pb2.HealthCheckResponse.ServingStatus
Context = grpc.aio.ServicerContext[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]


class QuietHealth(health_pb2_grpc.HealthServicer):  # type: ignore[misc]
    """The states of services by name, asked for once or watched. For one thread."""

    def __init__(self) -> None:
        self._states: Mapping[str, int] = {}
        self._changed = asyncio.Event()  # of these states; the next ones have one of their own

    def tell(self, states: Mapping[str, int]) -> None:
        """What each service is from now on."""
        changed, self._changed = self._changed, asyncio.Event()
        self._states = states
        changed.set()

    async def Check(  # noqa: N802 as gRPC calls it
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse | None:
        """The state now."""
        return await _quiet(self._checked(request.service, context), context)

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> None:
        """The state now, and whenever it changes."""
        await _quiet(self._watched(request.service, context), context)

    async def _checked(self, name: str, context: Context) -> health_pb2.HealthCheckResponse:
        if name not in self._states:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return health_pb2.HealthCheckResponse(status=self._states[name])

    async def _watched(self, name: str, context: Context) -> None:
        told: int | None = None
        while True:
            changed, state = self._changed, self._states.get(name, State.SERVICE_UNKNOWN)
            if state != told:
                await context.write(health_pb2.HealthCheckResponse(status=state))
            told = state
            await changed.wait()


async def _quiet(
    answer: Awaitable[health_pb2.HealthCheckResponse | None], context: Context
) -> health_pb2.HealthCheckResponse | None:
    try:
        return await answer
    except grpc.aio.AbortError:
        raise  # what it says on purpose
    except Exception as error:
        await context.abort(*status.status_of(error))
