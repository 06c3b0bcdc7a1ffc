"""The demo's processes of `askew-server`: one serves on a free port, one answers what is measured.

Both end with the demo.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

from askew.errors import ServerFailed
from askew.protocol.metric_card import MetricCard, PlaceSlate
from askew.protocol.signal import Query
from askew.wire.places import places_from_bytes
from askew.wire.queries import query_to_bytes

_PATIENCE = 30.0  # seconds; training takes one on a slow machine


@asynccontextmanager
async def demo_server(model: str = "films") -> AsyncIterator[str]:
    """Start a demo server and yield its address, host:port; it is stopped on the way out, whatever
    happens.

    model: films or places. Raises ServerFailed when it does not start in 30 seconds.
    """
    async with server_process("askew_server", "serve", "--demo", model, "--port", "0") as process:
        yield await _address(process)


@asynccontextmanager
async def server_process(module: str, *words: str) -> AsyncIterator[Process]:
    """Run a module of the server with these arguments as a process of its own, and yield that, with
    pipes; stop it on the way out.
    """
    # In a session of its own, Ctrl-C reaches only us, and we stop the server in order.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        env=os.environ | {"ASKEW_WITH_PARENT": "1"},  # it ends with this process
    )
    try:
        yield process
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
    output = process.stdout
    if output is None:  # it is a pipe: for the type checker
        raise ServerFailed("askew-server has no output")
    try:
        line = await asyncio.wait_for(output.readline(), _PATIENCE)
    except TimeoutError:
        raise ServerFailed("askew-server did not start in time") from None
    if not line:
        raise ServerFailed(f"askew-server did not start: {await last_words(process)}")
    return line.decode().removeprefix("listening on ").partition(",")[0].strip()


async def last_words(process: Process) -> str:
    """Return the last line that an ended process wrote to its standard error; "" where there is
    none.
    """
    complaints = b"" if process.stderr is None else await process.stderr.read()
    return complaints.decode(errors="replace").strip().rpartition("\n")[2]


Way = Literal["served", "nearest", "held"]


async def rehearsed(
    process: Process, questions: Sequence[tuple[Way, Query]], card: MetricCard
) -> list[PlaceSlate]:
    """Return what the process of `rehearsal` answers: one slate for each question, in their order,
    answered in its way. Raises ServerFailed.
    """
    sender, answers = process.stdin, process.stdout
    if sender is None or answers is None:  # both are pipes: for the type checker
        raise ServerFailed("the rehearsal has no pipes")
    lines = [b"%s %s\n" % (way.encode(), b64encode(query_to_bytes(q))) for way, q in questions]
    slates: list[PlaceSlate] = []
    try:
        sender.writelines(lines)
        await sender.drain()
        for _, query in questions:
            line = b64decode(await answers.readuntil())
            slates += places_from_bytes(line, card, query)
    except (OSError, EOFError):
        words = await last_words(process)
        raise ServerFailed(f"the demo's second process ended: {words}") from None
    return slates


def rehearsal() -> AbstractAsyncContextManager[Process]:
    """Return the process that answers questions as they travel, a line each; it is stopped on the
    way out, whatever happens.
    """
    return server_process("askew_server.cli.rehearse")
