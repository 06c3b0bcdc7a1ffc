"""gRPC's health service, which tells a caller no more of a failure than ours do.

gRPC itself would send the text of whatever a handler raises.
"""

from __future__ import annotations

from collections.abc import Awaitable

import grpc.aio
from grpc_health.v1 import health, health_pb2

from askew.wire import status

Context = grpc.aio.ServicerContext[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]


class QuietHealth(health.aio.HealthServicer):  # type: ignore[misc]
    """The states of services, asked for once or watched."""

    async def Check(  # noqa: N802 as gRPC calls it
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> health_pb2.HealthCheckResponse | None:
        """The state now."""
        return await _quiet(super().Check(request, context), context)

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> None:
        """The state now, and whenever it changes."""
        await _quiet(super().Watch(request, context), context)


async def _quiet(
    answer: Awaitable[health_pb2.HealthCheckResponse | None], context: Context
) -> health_pb2.HealthCheckResponse | None:
    try:
        return await answer
    except grpc.aio.AbortError:
        raise  # what it says on purpose
    except Exception as error:
        await context.abort(*status.status_of(error))
