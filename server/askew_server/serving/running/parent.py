"""What a process owes to the one that started it: it ends with it, and shows that it lives."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

from askew.errors import ParameterError


async def when_input_closes(stop: asyncio.Event) -> None:
    """A pipe from the parent closes however the parent ends, so no server is left behind."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:
            stop.set()

    try:
        await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)
    except ValueError:
        raise ParameterError("--with-parent", "this standard input", "used with a pipe") from None


async def show_life(every: float) -> None:
    """A byte to the parent, again and again, by the loop that answers calls; until cancelled."""
    handle = sys.stdout.fileno()
    os.set_blocking(handle, False)  # a parent that does not read holds nobody up
    while True:
        with contextlib.suppress(OSError):
            os.write(handle, b"\n")
        await asyncio.sleep(every)
