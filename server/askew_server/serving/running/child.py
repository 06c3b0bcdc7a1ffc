"""One process of a server, as the one that started it sees it."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Self

BEAT = 0.7
"""Seconds between two signs of life. After five without one a process is killed, so that whoever
waits for it may still ask again: a device does so for 5 seconds.
"""
SILENT = 5


class DidNotStart(Exception):
    """A process ended before it answered. code: of its end."""

    def __init__(self, code: int) -> None:
        super().__init__(f"it ended with {code} before it answered")
        self.code = code


class Child:
    """A process that says on its standard output, in a line, that it answers, and then every BEAT
    that it lives, and that ends when its standard input closes: so it ends whatever way its parent
    does. hung: whether it was killed because it showed no sign of life.
    """

    def __init__(self, process: Process, line: str) -> None:
        self._process = process
        self.line, self.hung = line, False

    @classmethod
    async def started(cls, command: Sequence[str]) -> Self:
        """A process that answers. Raises DidNotStart. Cancelled, it leaves no process behind."""
        # In a session of its own: Ctrl-C and a terminal that closes reach the parent alone.
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, start_new_session=True
            )
        )
        try:
            process = await asyncio.shield(starting)
            line = await _stream(process).readline()
        except asyncio.CancelledError:
            process = await starting  # what has begun to start can only be ended then
            process.kill()
            await process.wait()
            raise
        if not line.endswith(b"\n"):
            raise DidNotStart(await process.wait())
        return cls(process, line.decode(errors="replace").rstrip("\n"))

    async def ended(self) -> int:
        """How it ended, when it did, or was killed for showing no sign of life."""
        silent = 0
        while silent < SILENT:
            try:
                # Short waits: where this process stood still too, one of them fails and no more.
                async with asyncio.timeout(BEAT):
                    if not await _stream(self._process).read(1 << 16):
                        return await self._process.wait()
                silent = 0
            except TimeoutError:
                silent += 1
        self.hung = True
        self._send(signal.SIGKILL)
        return await self._process.wait()

    def reload(self) -> None:
        """Make it look at its files."""
        self._send(signal.SIGHUP)

    async def stop(self, patience: float) -> None:
        """End it: in order, or after some seconds at once."""
        self._send(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), patience)
        except TimeoutError:
            self._send(signal.SIGKILL)
            await self._process.wait()

    def _send(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)


def _stream(process: Process) -> asyncio.StreamReader:
    if process.stdout is None:  # it is a pipe: for the type checker
        raise DidNotStart(-1)
    return process.stdout
