"""A demo as a person runs it, in a process of its own, and all that it started."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "askew_client", "demo"]
NO_PROCFS = not Path("/proc/self/environ").exists()


@dataclass
class Demo:
    """A running demo whose descendants carry a tag in their environment."""

    process: subprocess.Popen[str]
    tag: str
    temporary: Path

    def read_until(self, words: str) -> str:
        """The output up to the line that has these words."""
        assert self.process.stdout is not None
        seen = ""
        for line in self.process.stdout:
            seen += line
            if words in line:
                return seen
        pytest.fail(f"the demo ended before it said {words!r}:\n{seen}")

    def family(self) -> set[int]:
        """The processes, the demo among them, that it started and that still run."""
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.tag.encode() in (process / "environ").read_bytes():
                    found.add(int(process.name))
            except OSError:  # gone meanwhile, or somebody else's
                continue
        return found

    def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of the output, and the complaints."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


Start = Callable[..., Demo]


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str
    demo: Demo


@contextmanager
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts demos; whatever a failed test leaves of them is ended."""
    demos: list[Demo] = []

    def start(*options: str) -> Demo:
        tag, temporary = uuid.uuid4().hex, tmp_path_factory.mktemp("temporary")
        settings = {"TAG_OF_A_TEST": tag, "TMPDIR": str(temporary), "COLUMNS": "120"}
        process = subprocess.Popen(
            [*COMMAND, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **settings, "PYTHONUTF8": "1"},
        )
        demos.append(Demo(process, tag, temporary))
        return demos[-1]

    yield start
    for demo in demos:
        demo.process.kill()
        for left in demo.family() - {demo.process.pid}:
            os.kill(left, signal.SIGKILL)
        demo.process.communicate()


def port_of(text: str) -> int:
    found = re.search(r"listens on 127\.0\.0\.1:(\d+)", text)
    assert found
    return int(found[1])


def nobody_answers(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) != 0


def assert_stopped_in_order(demo: Demo, number: signal.Signals, moment: str) -> None:
    """Sends a signal when the demo says these words; afterwards nothing of it is left."""
    seen = demo.read_until(moment)
    demo.process.send_signal(number)
    code, out, err = demo.end()
    assert (code, err.strip()) == (130, "stopped")
    assert "Traceback" not in seen + out
    assert list(demo.temporary.iterdir()) == []
    if "listens on" in seen:
        assert nobody_answers(port_of(seen))
    if not NO_PROCFS:
        assert demo.family() == set()
