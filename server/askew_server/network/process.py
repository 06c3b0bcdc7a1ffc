"""Running the server as a process: it starts, says where it listens, and stops when asked."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence

from askew.errors import ParameterError
from askew_server.network.grpc_server import RunningServer, Service


async def serve(
    services: Sequence[Service],
    address: str,
    announce: Callable[[int], None],
    *,
    with_parent: bool,
) -> None:
    """Serve until SIGTERM or SIGINT, or until standard input closes if `with_parent` is set.

    announce(port) is called once, when the server answers. Raises OSError for a taken port.
    """
    server = RunningServer(services, address)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await server.start()
    announce(server.port)
    if with_parent:
        await _when_input_closes(loop, stop)
    await stop.wait()
    await server.stop()


async def _when_input_closes(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """A pipe from the parent closes however the parent ends, so no server is left behind."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:
            stop.set()

    try:
        await loop.connect_read_pipe(Watch, sys.stdin)
    except ValueError:
        raise ParameterError("--with-parent", "this standard input", "used with a pipe") from None
