"""A server as a person runs it, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
        port, http = ports_of(line)
        return cls(process, port, http)

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


def ports_of(line: str) -> tuple[int, int | None]:
    """Read where it listens for gRPC and for HTTP, if it does, from its first line."""
    found = re.match(r"listening on 127\.0\.0\.1:(\d+),(?: http://127\.0\.0\.1:(\d+),)?", line)
    assert found, line
    return int(found[1]), int(found[2]) if found[2] else None


@contextmanager
def served(
    folder: Path,
    *words: object,
    program: tuple[str, ...] = ("-m", "askew_server"),
    fails: bool = False,
    said: Mapping[str, str] | None = None,
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a folder, and its port. It ends well when it is told to stop. fails: a call may
    fail. said: by the environment.
    """
    command = [sys.executable, *program, *map(str, words), "--port", "0"]
    running = subprocess.Popen(
        command,
        cwd=folder,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
        env=BESIDE | dict(said or {}),
    )
    try:
        assert running.stdout is not None
        yield running, ports_of(running.stdout.readline())[0]
        running.terminate()
        out, err = running.communicate(timeout=2 * PATIENCE)
        assert (running.returncode, out) == (0, ""), err
        assert fails or "failed" not in err
        assert "leaked" not in err  # by nanobind, of what was frozen
    finally:
        running.kill()
        running.communicate()
