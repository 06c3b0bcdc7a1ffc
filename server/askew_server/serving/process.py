"""A server as a process: it starts, says where it listens, is looked after, and stops when
asked.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from askew.errors import ParameterError
from askew_server.serving.call import Service
from askew_server.serving.event_log import EventLog, take_over
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.limits import connections_within
from askew_server.serving.observer import Observer, Overloads
from askew_server.serving.settings import ServerConfig

_EVERY = 5.0  # seconds between two looks
_WITH_PARENT = "ASKEW_WITH_PARENT"  # set, the server stops when its standard input closes


def observer_of(config: ServerConfig) -> Observer:
    """An observer that tells standard error, and is from now on the only one who does."""
    log = EventLog(sys.stderr, config.log)
    take_over(log)
    return Observer(log)


@asynccontextmanager
async def watched(
    server: RunningServer, config: ServerConfig, observer: Observer
) -> AsyncIterator[int | None]:
    """Runs beside a server that has not started yet. Gives the port of its numbers, if it has one.

    Raises OSError for a port that is taken.
    """
    from askew_server.serving.metrics import published

    with published(config.metrics, observer) as port:
        task = asyncio.create_task(_look(server, Overloads(observer, time.monotonic)))
        try:
            yield port
        finally:
            task.cancel()


async def _look(server: RunningServer, overloads: Overloads) -> None:
    while True:
        await asyncio.sleep(_EVERY)
        overloads.look()
        await server.health.look()


Beside = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""What runs beside the services until the server stops; SIGHUP sets the event that it is given."""


async def serve(
    services: Sequence[Service],
    config: ServerConfig,
    announce: Callable[[int, int | None], None],
    *,
    beside: Beside | None = None,
    observer: Observer | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until standard input closes where the environment has
    ASKEW_WITH_PARENT: when whoever started the server ends.

    announce(port, that of HTTP) is called once, when the server answers. SIGHUP wakes what runs
    beside, and ends nothing where nothing does. Raises OSError for a taken port.
    """
    observer = observer if observer is not None else Observer()
    doors = 1 if config.http is None else 2
    connections = connections_within(doors * config.limits.connections) // doors
    if connections < config.limits.connections:
        observer.log.log_event("connections_limited", count=connections)
        config = replace(config, limits=replace(config.limits, connections=connections))
    server = RunningServer(services, config, observer)
    stop, wake = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, wake.set)
    async with watched(server, config, observer) as numbers:
        await server.start()
        task = None if beside is None else loop.create_task(beside(wake))
        http = None if server.http is None else server.http.port
        announce(server.port, http)
        observer.log.log_event("ready", port=server.port, http_port=http, metrics_port=numbers)
        if os.environ.get(_WITH_PARENT):
            await _stop_when_input_closes(stop)
        await stop.wait()
        observer.log.log_event("stopping")
        if task is not None:
            task.cancel()
        await server.stop()
    observer.log.log_event("stopped")


async def _stop_when_input_closes(stop: asyncio.Event) -> None:
    """Set `stop` when a pipe from the parent closes, as it does however the parent ends."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:
            stop.set()

    try:
        await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)
    except ValueError:
        raise ParameterError(_WITH_PARENT, "this standard input", "used with a pipe") from None
