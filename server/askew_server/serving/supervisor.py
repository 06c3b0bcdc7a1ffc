"""Several processes of a server on one port, and the program that starts, replaces and stops them.

    python -m askew_server.serving.supervisor HOST PORT HTTP METRICS_HOST METRICS_PORT \\
        PROCESSES GRACE COMMAND ...

`serve --processes N` becomes this program. HTTP is 1 where the next port is for HTTP, else 0.
METRICS_PORT is 0 where no metrics ports are reserved: each process then takes a free one, or none.

The program answers nothing itself. It imports neither gRPC nor numpy, so it is small, and nothing
that a model or a call may do ends it. It passes SIGHUP on to all processes. On SIGUSR1 it replaces
one after the other, each only when its successor answers. SIGTERM and SIGINT stop all. A process
ends with the program that started it, and shows that it lives.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Self

from askew.errors import AccessError, AskewError, ParameterError
from askew_server.serving.event_log import write_line
from askew_server.serving.settings import second_ports

if TYPE_CHECKING:
    from askew_server.serving.settings import ServerConfig


WITH_PARENT = "ASKEW_WITH_PARENT"
"""The variable of a server that stops when its standard input closes: when whoever started it
ends.
"""
PROCESS = "ASKEW_PROCESS"
"""The variable of one of several processes on a port: its number. Whoever sets it sets both."""


def stops_with_parent() -> bool:
    """Whether the environment says so."""
    return bool(os.environ.get(WITH_PARENT))


def process_number() -> int | None:
    """Of this process, or None where it is no child of a supervisor: with PROCESS alone, which
    nobody but an operator by mistake sets, it would share its port. Raises ParameterError.
    """
    number = os.environ.get(PROCESS)
    if not number or not stops_with_parent():
        return None
    if not re.fullmatch("[0-9]{1,3}", number):
        raise ParameterError(PROCESS, number, "unset: a server sets it for its own processes")
    return int(number)


async def when_input_closes(stop: asyncio.Event) -> None:
    """A pipe from the parent closes however the parent ends, so no server is left behind."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, _: Exception | None) -> None:
            stop.set()

    try:
        await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)
    except ValueError:
        raise ParameterError(WITH_PARENT, "this standard input", "used with a pipe") from None


async def show_life(every: float) -> None:
    """A byte to the parent, again and again, by the loop that answers calls; until cancelled."""
    handle = sys.stdout.fileno()
    os.set_blocking(handle, False)  # a parent that does not read holds nobody up
    while True:
        with contextlib.suppress(OSError):
            os.write(handle, b"\n")
        await asyncio.sleep(every)


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
    async def started(cls, command: Sequence[str], number: int) -> Self:
        """A process that answers. Raises DidNotStart. Cancelled, it leaves no process behind."""
        own = {PROCESS: str(number), WITH_PARENT: "1"}
        # In a session of its own: Ctrl-C and a terminal that closes reach the parent alone.
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                start_new_session=True,
                env=os.environ | own,
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


_LONG = 10.0  # seconds: what ended sooner is started again after a pause
_START = 900.0  # seconds until one that does not answer is killed, whatever its model
_MOST = 5  # starts that fail one after the other, when nothing answers any more


def pause_after(failures: int) -> float:
    """Seconds before one that ended is started again: none, then half one to half a minute."""
    return min(30.0, 0.25 * 2**failures) if failures else 0.0


@dataclass(eq=False)
class _Place:
    """Of one of the processes; whoever replaces it takes a turn."""

    number: int
    child: Child
    answers: bool = True
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Supervisor:
    """Keeps processes of one command, each with its number in the environment.

    grace: seconds that one may take to stop. say: a line for the operator. pause: seconds before a
    start, by the number of failures before it.
    """

    def __init__(
        self,
        command: Sequence[str],
        processes: int,
        grace: float,
        say: Callable[[str], None],
        pause: Callable[[int], float] = pause_after,
    ) -> None:
        self._command, self._count, self._grace = command, processes, grace
        self._say, self._pause = say, pause
        self._places: list[_Place] = []
        self._alive: set[Child] = set()
        self._roll = asyncio.Event()

    async def run(self, announce: Callable[[str], None], stop: asyncio.Event) -> int:
        """Until it is to stop; then the code to exit with. announce: called once, when all answer,
        with what the first said of itself.
        """
        self._listen(stop)
        work = asyncio.create_task(self._work(announce))
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        work.cancel()
        outcome = (await asyncio.gather(work, return_exceptions=True))[0]
        await asyncio.gather(*(child.stop(self._grace) for child in self._alive))
        return _code_of(outcome)

    def _listen(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        loop.add_signal_handler(signal.SIGUSR1, self._roll.set)

    async def _work(self, announce: Callable[[str], None]) -> None:
        await self._start(0)  # alone first: what is wrong with all of them is said once
        async with asyncio.TaskGroup() as group:
            for number in range(1, self._count):
                group.create_task(self._start(number))
        announce(self._places[0].child.line)
        async with asyncio.TaskGroup() as group:
            for place in self._places:
                group.create_task(self._keep(place))
            group.create_task(self._roll_on())

    async def _start(self, number: int) -> None:
        self._places.append(_Place(number, await self._begun(number)))

    async def _begun(self, number: int) -> Child:
        """Raises DidNotStart."""
        try:
            async with asyncio.timeout(_START):
                child = await Child.started(self._command, number)
        except TimeoutError:
            raise DidNotStart(-signal.SIGKILL) from None
        self._alive.add(child)
        return child

    async def _keep(self, place: _Place) -> None:
        """Starts it again whenever it ends, unless it was replaced."""
        failures = 0
        while True:
            child, began = place.child, monotonic()
            code = await child.ended()
            self._alive.discard(child)
            async with place.turn:
                if place.child is child:
                    how = "does not answer" if child.hung else f"ended with {code}"
                    self._say(f"process {place.number} {how} and is started again")
                    failures = failures + 1 if monotonic() - began < _LONG else 0
                    await self._restart(place, failures)

    async def _restart(self, place: _Place, failures: int) -> None:
        """Raises DidNotStart when nothing answers any more and one start after the other fails."""
        place.answers = False
        while not place.answers:
            await asyncio.sleep(self._pause(failures))
            try:
                place.child = await self._begun(place.number)
                place.answers = True
                self._say(f"process {place.number} answers again")
            except DidNotStart as error:
                failures += 1
                self._say(f"process {place.number} does not start: {error}")
                if failures >= _MOST and not any(each.answers for each in self._places):
                    raise

    async def _roll_on(self) -> None:
        while True:
            await self._roll.wait()
            self._roll.clear()
            try:
                for place in self._places:
                    await self._replace(place)
                self._say("every process was replaced")
            except DidNotStart as error:
                self._say(f"no more processes are replaced: {error}")

    async def _replace(self, place: _Place) -> None:
        """The old one stops when the new one answers. Raises DidNotStart, and the old one stays."""
        async with place.turn:
            new = await self._begun(place.number)
            old, place.child = place.child, new
            await old.stop(self._grace)

    def _reload(self) -> None:
        for place in self._places:
            if place.answers:  # one that starts reads what there is now
                place.child.reload()


def _code_of(outcome: BaseException | None) -> int:
    match outcome:
        case None | asyncio.CancelledError():
            return 0
        case DidNotStart():
            return outcome.code
        case BaseExceptionGroup():
            return _code_of(outcome.exceptions[0])
        case _:
            raise outcome


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
    http: bool
    metrics_host: str
    metrics_port: int
    processes: int
    grace: float
    command: Sequence[str]

    @classmethod
    def of_config(cls, config: ServerConfig, command: Sequence[str]) -> Self:
        """As configured."""
        pages = config.metrics
        ports = (config.host, config.port, config.http is not None, pages.host, pages.port or 0)
        return cls(*ports, config.processes, config.grace, command)

    def become(self) -> None:
        """This process goes on as the one that keeps them, and as nothing else."""
        words = [*_PYTHON, "-m", __spec__.name, *self.words()]
        os.execv(sys.executable, words)  # noqa: S606 (the same interpreter)

    def words(self) -> list[str]:
        """As the program is told."""
        ports = (self.host, self.port, int(self.http), self.metrics_host, self.metrics_port)
        fields = (*ports, self.processes, self.grace)
        return [*map(str, fields), *self.command]

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """What such words mean."""
        host, port, http, pages, page, processes, grace, *command = words
        ports = (host, int(port), http == "1", pages, int(page))
        return cls(*ports, int(processes), float(grace), command)

    def reserve(self, held: contextlib.ExitStack) -> list[str]:
        """Holds the ports, and gives that of calls as an option. Raises AccessError."""
        pages = range(self.metrics_port, self.metrics_port + self.processes)
        for page in pages if self.metrics_port else ():
            held.enter_context(_reserved(self.metrics_host, page, "--metrics-port"))
        return [f"--port={self._pair(held) if self.http else self._alone(held, self.port)}"]

    def _alone(self, held: contextlib.ExitStack, port: int) -> int:
        """Holds a port. Raises AccessError."""
        return held.enter_context(_reserved(self.host, port, "--port")).number

    def _pair(self, held: contextlib.ExitStack) -> int:
        """Holds a port and the next one, and gives the first: any two, where any will do. Raises
        AccessError.
        """
        taken: AccessError | None = None
        for number in second_ports(self.port):
            with contextlib.ExitStack() as tried:
                try:
                    next_one = self._alone(tried, number)
                except AccessError as error:
                    if not number:  # any would have done, so it is the host
                        raise
                    taken = error
                    continue
                try:
                    first = self._alone(tried, next_one - 1)
                except AccessError as error:
                    taken = error
                    continue
                held.enter_context(tried.pop_all())
                return first
        raise taken or AssertionError

    async def run(self, ports: Sequence[str]) -> int:
        """Until it is stopped: the code to exit with. ports: as options."""
        stop = asyncio.Event()
        if stops_with_parent():
            await when_input_closes(stop)
        command = [*_PYTHON, "-m", "askew_server", *self.command, *ports]
        sync = Supervisor(command, self.processes, self.grace + _MARGIN, _say)
        return await sync.run(lambda line: write_line(sys.stdout, line), stop)


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
