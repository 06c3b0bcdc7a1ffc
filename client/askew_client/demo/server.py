"""The demo's servers: processes of `askew-server` on free ports, which end with the demo."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from askew.errors import ServerFailed

_PATIENCE = 30.0  # seconds; a slow machine trains the model of films for one


@asynccontextmanager
async def demo_server(model: str = "films") -> AsyncIterator[str]:
    """Start a demo server and yield its address, "127.0.0.1:" and a free port; it is stopped on the
    way out, whatever happens.

    model: films or places. Raises ServerFailed when it ends, or 30 seconds pass, before it says its
    address.
    """
    # In a session of its own, Ctrl-C reaches only us, and we stop the server in order.
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "askew_server", "serve", "--demo", model, "--port", "0"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        env=os.environ | {"ASKEW_WITH_PARENT": "1"},  # it says where it listens, and ends with us
    )
    try:
        yield await _address(process)
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.communicate(), timeout=10)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _address(process: Process) -> str:
    # Its first line is "listening on HOST:PORT, ...".
    output, errors = process.stdout, process.stderr
    if output is None or errors is None:  # they are pipes: for the type checker
        raise ServerFailed("askew-server has no output")
    try:
        line = await asyncio.wait_for(output.readline(), _PATIENCE)
    except TimeoutError:
        raise ServerFailed("askew-server did not start in time") from None
    if not line:
        words = (await errors.read()).decode(errors="replace").strip().rpartition("\n")[2]
        raise ServerFailed(f"askew-server did not start: {words}")
    return line.decode().removeprefix("listening on ").partition(",")[0].strip()
