"""What looks after a server while it runs: pages for an operator, health, overload, lines."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from askew_server.serving.configuration.server import ServerConfig
from askew_server.serving.front.grpc_server import RunningServer
from askew_server.serving.observing.event_log import EventLog
from askew_server.serving.observing.foreign import take_over
from askew_server.serving.observing.observer import Observer
from askew_server.serving.observing.overloads import Overloads

_EVERY = 5.0  # seconds between two looks


def observer_of(config: ServerConfig) -> Observer:
    """An observer that tells standard error, and is from now on the only one who does."""
    log = EventLog(sys.stderr, config.log)
    take_over(log)
    return Observer(log)


@asynccontextmanager
async def watched(
    server: RunningServer, config: ServerConfig, observer: Observer
) -> AsyncIterator[int | None]:
    """Runs beside a server that has not started yet. Gives the port of the pages, if there are any.

    Raises OSError for a port of pages that is taken.
    """
    stop_pages, port = None, None
    if config.metrics.port is not None:
        from askew_server.serving.observing.endpoint import Endpoint

        endpoint = Endpoint(config.metrics, observer, reuse_port=config.reuse_port)
        await endpoint.start()
        stop_pages, port = endpoint.stop, endpoint.port
    task = asyncio.create_task(_look(server, Overloads(observer, time.monotonic)))
    try:
        yield port
    finally:
        task.cancel()
        if stop_pages is not None:
            stop_pages()


async def _look(server: RunningServer, overloads: Overloads) -> None:
    while True:
        await asyncio.sleep(_EVERY)
        overloads.look()
        await server.health.look()
