"""The program that keeps several processes of a server: what `serve --processes N` becomes.

    python -m askew_server.serving.running.several \
        HOST PORT METRICS_HOST METRICS_PORT PROCESSES GRACE WITH_PARENT COMMAND ...

METRICS_PORT is 0 where no ports of numbers are held: each process takes a free one, or none.

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

from askew.errors import AccessError, AskewError
from askew_server.serving.observing.event_log import write_line
from askew_server.serving.running.supervisor import Supervisor, when_input_closes

if TYPE_CHECKING:
    from askew_server.serving.configuration.server import ServerConfig


class ReservedPort:
    """A port on which processes of the same user may listen together, and no other program.

    The socket never listens, so that no connection comes to it. It is bound as one that shares with
    nobody, which fails for a port that is taken; only then it allows others. While it is open, a
    server that does not want to share cannot take the port, nor can another owner. A program of the
    same effective user that asks for SO_REUSEPORT can: Linux looks at nothing else.
    """

    def __init__(self, host: str, port: int) -> None:
        """port: 0 takes a free one. Raises OSError."""
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = places[0]
        self._socket = socket.socket(family, kind, protocol)
        try:
            # Connections of a server before this one may still be on their way out.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(place)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        except OSError:
            self._socket.close()
            raise
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Hold it no more."""
        self._socket.close()


_PYTHON = (sys.executable, "-P")  # else code of the working directory would come first
_MARGIN = 5.0  # seconds beyond the grace of calls, until a process that stops is killed


@dataclass(frozen=True)
class Several:
    """Processes of a command on one port, each with a port of its numbers. command: the arguments
    of askew-server.
    """

    host: str
    port: int
    metrics_host: str
    metrics_port: int
    processes: int
    grace: float
    with_parent: bool
    command: Sequence[str]

    @classmethod
    def of_config(cls, config: ServerConfig, command: Sequence[str], *, with_parent: bool) -> Self:
        """As configured."""
        pages = config.metrics
        ports = (config.host, config.port, pages.host, pages.port or 0)
        return cls(*ports, config.processes, config.grace, with_parent, command)

    def become(self) -> None:
        """This process goes on as the one that keeps them, and as nothing else."""
        words = [*_PYTHON, "-m", __spec__.name, *self.words()]
        os.execv(sys.executable, words)  # noqa: S606 (the same interpreter)

    def words(self) -> list[str]:
        """As the program is told."""
        ports = (self.host, self.port, self.metrics_host, self.metrics_port)
        fields = (*ports, self.processes, self.grace, int(self.with_parent))
        return [*map(str, fields), *self.command]

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """What such words mean."""
        host, port, pages, page, processes, grace, with_parent, *command = words
        ports = (host, int(port), pages, int(page))
        return cls(*ports, int(processes), float(grace), bool(int(with_parent)), command)

    def reserve(self, held: contextlib.ExitStack) -> int:
        """Holds the port, which it gives, and those of numbers. Raises AccessError."""
        pages = range(self.metrics_port, self.metrics_port + self.processes)
        for page in pages if self.metrics_port else ():
            held.enter_context(_reserved(self.metrics_host, page, "--metrics-port"))
        return held.enter_context(_reserved(self.host, self.port, "--port")).number

    async def run(self, port: int) -> int:
        """Until it is stopped: the code to exit with."""
        stop = asyncio.Event()
        if self.with_parent:
            await when_input_closes(stop)

        def of_number(number: int) -> list[str]:
            own = ["--child", str(number), "--port", str(port)]
            return [*_PYTHON, "-m", "askew_server", *self.command, *own]

        keeper = Supervisor(of_number, self.processes, self.grace + _MARGIN, _say)
        return await keeper.run(lambda line: write_line(sys.stdout, line), stop)


def main(words: Sequence[str]) -> int:
    """Runs it; a deliberate error is one line."""
    asked = Several.of_words(words)
    try:
        with contextlib.ExitStack() as held:
            return asyncio.run(asked.run(asked.reserve(held)))
    except AskewError as error:
        _say(str(error))
        return 1


def _reserved(host: str, port: int, flag: str) -> contextlib.closing[ReservedPort]:
    try:
        return contextlib.closing(ReservedPort(host, port))
    except (OSError, UnicodeError) as error:
        why = _why_not(error, flag)
        raise AccessError(f"cannot listen on {host}:{port}: {why}") from None


def _say(line: str) -> None:
    """A line for the operator."""
    write_line(sys.stderr, f"askew-server: {line}")


def _why_not(error: OSError | UnicodeError, flag: str) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "this machine knows no such host"
    if error.errno == errno.EADDRINUSE:
        return f"the port is taken by another program; {flag} names another"
    return os.strerror(error.errno or 0).lower()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
