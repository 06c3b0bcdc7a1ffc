"""The program that keeps several processes of a server: what `serve --processes N` becomes.

    python -m askew_server.serving.running.several HOST PORT PROCESSES GRACE WITH_PARENT COMMAND ...

It imports neither gRPC nor numpy, so it takes little memory beside the processes that answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from askew.errors import AskewError
from askew_server.serving.running.parent import when_input_closes
from askew_server.serving.running.port import ReservedPort
from askew_server.serving.running.supervisor import Supervisor

if TYPE_CHECKING:
    from askew_server.serving.configuration.server import ServerConfig

_PYTHON = (sys.executable, "-P")  # else code of the working directory would come first
_MARGIN = 5.0  # seconds beyond the grace of calls, until a process that stops is killed


@dataclass(frozen=True)
class Several:
    """Processes of a command on one port. command: the arguments of askew-server."""

    host: str
    port: int
    processes: int
    grace: float
    with_parent: bool
    command: Sequence[str]

    @classmethod
    def of_config(cls, config: ServerConfig, command: Sequence[str], *, with_parent: bool) -> Self:
        """As configured."""
        return cls(config.host, config.port, config.processes, config.grace, with_parent, command)

    def become(self) -> None:
        """This process goes on as the one that keeps them, and as nothing else."""
        words = [*_PYTHON, "-m", __spec__.name, *self.words()]
        os.execv(sys.executable, words)  # noqa: S606 (the same interpreter)

    def words(self) -> list[str]:
        """As the program is told."""
        fields = (self.host, self.port, self.processes, self.grace, int(self.with_parent))
        return [*map(str, fields), *self.command]

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """What such words mean."""
        host, port, processes, grace, with_parent, *command = words
        return cls(host, int(port), int(processes), float(grace), bool(int(with_parent)), command)

    async def run(self, port: int) -> int:
        """Until it is stopped: the code to exit with."""
        stop = asyncio.Event()
        if self.with_parent:
            await when_input_closes(stop)

        def of_number(number: int) -> list[str]:
            own = ["--child", str(number), "--port", str(port)]
            return [*_PYTHON, "-m", "askew_server", *self.command, *own]

        keeper = Supervisor(of_number, self.processes, self.grace + _MARGIN, _say)
        return await keeper.run(lambda line: print(line, flush=True), stop)  # noqa: T201


def main(words: Sequence[str]) -> int:
    """Runs it; a deliberate error is one line."""
    asked = Several.of_words(words)
    try:
        reserved = ReservedPort(asked.host, asked.port)
    except OSError as error:
        _say(f"cannot listen on {asked.host}:{asked.port}: {_why_not(error)}")
        return 1
    try:
        return asyncio.run(asked.run(reserved.number))
    except AskewError as error:
        _say(str(error))
        return 1


def _say(line: str) -> None:
    """A line for the operator; a disk that is full ends nothing."""
    with contextlib.suppress(OSError, ValueError):
        print(f"askew-server: {line}", file=sys.stderr, flush=True)  # noqa: T201


def _why_not(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return "this machine knows no such host"
    if error.errno == errno.EADDRINUSE:
        return "the port is taken by another program; --port names another"
    return os.strerror(error.errno or 0).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
