"""The program that keeps several processes: what it starts, and what cannot end it."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from askew_server.serving import supervisor
from askew_server.serving.supervisor import Several

HERE = "127.0.0.1"


def commands_of(asked: Several, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """What is executed: the program itself, and one of its processes."""
    found: list[Sequence[str]] = []

    class Supervisor:
        def __init__(self, command: Sequence[str], *_: object) -> None:
            found.append(command)

        async def run(self, *_: object) -> int:
            return 0

    monkeypatch.setattr(os, "execv", lambda _, words: found.append(words))
    monkeypatch.setattr(supervisor, "Supervisor", Supervisor)
    asked.become()
    asyncio.run(asked.run(1))
    return found


def test_no_code_of_the_working_directory_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with one process. Planted bug: `python -m` alone, which looks there first."""
    for name in ("asyncio", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('executed')")
    asked = Several("no-such-host.invalid", 0, HERE, 0, 2, 5.0, command=["serve", "--help"])
    for command in commands_of(asked, monkeypatch):
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "executed" not in run.stderr
        assert "askew-server" in run.stdout + run.stderr  # it got where it says something


def test_a_log_that_cannot_be_written_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: with a full disk, the end of one process is the end of all."""

    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    supervisor._say("process 0 ended with -9 and is started again")
