"""A server as a person runs it, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process

BESIDE = os.environ | {"ASKEW_WITH_PARENT": "1"}  # it says where it listens
PATIENCE = 60.0  # seconds; only ever waited for by what does not do what it should


class Server:
    """A server as a process."""

    def __init__(self, process: Process, port: int, http: int | None) -> None:
        self.process, self.port, self.http = process, port, http

    @classmethod
    async def started(cls, *words: object) -> Server:
        command = [sys.executable, "-m", "askew_server", "serve", *map(str, words)]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=BESIDE
        )
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode()
        found = re.match(r"listening on 127\.0\.0\.1:(\d+),(?: http://127\.0\.0\.1:(\d+),)?", line)
        assert found, line
        return cls(process, int(found[1]), int(found[2]) if found[2] else None)

    async def says(self, wanted: str) -> None:
        assert self.process.stderr is not None
        while wanted not in (line := (await self._line()).decode()):
            assert line, f"it ended and never said {wanted}"

    async def _line(self) -> bytes:
        assert self.process.stderr is not None
        return await asyncio.wait_for(self.process.stderr.readline(), PATIENCE)

    async def stop(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        await asyncio.wait_for(self.process.communicate(), PATIENCE)
        return int(self.process.returncode or 0)
