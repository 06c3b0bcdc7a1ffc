"""A server as a person runs it, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from threading import Timer

BESIDE = os.environ | {"ASKEW_WITH_PARENT": "1"}  # it says where it listens
PATIENCE = 60.0  # seconds; only ever waited for by what does not do what it should


@dataclass(frozen=True)
class Server:
    """A server's process, and its ports for gRPC and for HTTP, if it has one."""

    process: subprocess.Popen[str]
    port: int
    http: int | None

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def says(self, wanted: str) -> None:
        """Wait until its log has these words."""
        assert self.process.stderr is not None
        while wanted not in (line := self.process.stderr.readline()):
            assert line, f"it ended and never said {wanted}"


@contextmanager
def served(
    folder: Path,
    *words: object,
    port: int = 0,
    program: tuple[str, ...] = ("-m", "askew_server"),
    fails: bool = False,
    said: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """A server in a folder, which ends well when it is told to stop. fails: a call may fail. said:
    by the environment.
    """
    command = [sys.executable, *program, *map(str, words), "--port", str(port)]
    env = BESIDE | {**(said or {})}
    running = subprocess.Popen(
        command, cwd=folder, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, env=env
    )
    # A server that does not say what it should is ended, and its line is empty.
    patience = Timer(3 * PATIENCE, running.kill)
    patience.start()
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        found = re.match(r"listening on 127\.0\.0\.1:(\d+),(?: http://127\.0\.0\.1:(\d+),)?", line)
        assert found, line
        yield Server(running, int(found[1]), int(found[2]) if found[2] else None)
        running.terminate()
        out, err = running.communicate(timeout=2 * PATIENCE)
        assert (running.returncode, out) == (0, ""), err
        assert fails or "failed" not in err
        assert "leaked" not in err  # by nanobind, of what was frozen
    finally:
        patience.cancel()
        running.kill()
        running.communicate()
