"""Ends with the process that started this one."""

from __future__ import annotations

import asyncio
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
