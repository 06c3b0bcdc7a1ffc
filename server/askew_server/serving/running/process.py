"""Running the server as a process: it starts, says where it listens, and stops when asked."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence

from askew.errors import ParameterError
from askew_server.serving.configuration.server import ServerConfig
from askew_server.serving.front.grpc_server import RunningServer
from askew_server.serving.observing.observer import Observer
from askew_server.serving.running.watched import watched
from askew_server.serving.services.call import Service

Beside = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""What runs beside the services until the server stops; SIGHUP sets the event that it is given."""


async def serve(  # noqa: PLR0913
    services: Sequence[Service],
    config: ServerConfig,
    announce: Callable[[int], None],
    *,
    with_parent: bool,
    beside: Beside | None = None,
    observer: Observer | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, or until standard input closes if `with_parent` is set.

    announce(port) is called once, when the server answers. Raises OSError for a taken port.
    """
    observer = observer if observer is not None else Observer()
    server = RunningServer(services, config, observer)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with watched(server, config, observer) as pages:
        await server.start()
        task = _started(loop, beside)
        announce(server.port)
        observer.log.tell("ready", port=server.port, metrics_port=pages)
        if with_parent:
            await _when_input_closes(loop, stop)
        await stop.wait()
        observer.log.tell("stopping")
        if task is not None:
            task.cancel()
        await server.stop()
    observer.log.tell("stopped")


def _started(loop: asyncio.AbstractEventLoop, beside: Beside | None) -> asyncio.Task[None] | None:
    """The task of what runs beside, woken by SIGHUP; without it, SIGHUP ends the process."""
    if beside is None:
        return None
    wake = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, wake.set)
    return loop.create_task(beside(wake))


async def _when_input_closes(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """A pipe from the parent closes however the parent ends, so no server is left behind."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:
            stop.set()

    try:
        await loop.connect_read_pipe(Watch, sys.stdin)
    except ValueError:
        raise ParameterError("--with-parent", "this standard input", "used with a pipe") from None
