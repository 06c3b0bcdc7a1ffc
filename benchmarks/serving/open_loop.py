"""Calls that come at a rate, or that wait for each other, over bare HTTP/2 or HTTP/1.1."""

from __future__ import annotations

import asyncio
import os
import re
import selectors
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

from benchmarks.serving.http2 import NO_ANSWER, Done, RawConnection, headers, message
from benchmarks.serving.windows import cpu_of

from askew_server.serving.call import Service
from askew_server.serving.server import running
from askew_server.serving.settings import Http, ServerConfig

HEALTH = "/grpc.health.v1.Health/Check"
HEALTH_EVERY = 0.02
CONNECTIONS = 64
MOST = 800  # connections by HTTP, each of one call at a time


async def serve(service: Service) -> None:
    """Serve on a free port, say which, and stop when standard input closes."""
    async with running([service], ServerConfig(http=Http()), grace=0) as server:
        print(server.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def served(module: str, flag: str = "--serve") -> Iterator[tuple[int, int]]:
    """The port and the process of a module that serves when it is started so."""
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", module, flag]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=one_thread) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline()), server.pid
        finally:
            server.communicate()


@dataclass(frozen=True)
class Load:
    """What is asked: a method, a maker of framed messages, and the seconds of a deadline.

    port: of gRPC. pid: the process of the server. http: by the door for HTTP, without the frames.
    """

    port: int
    pid: int
    path: str
    body: Callable[[], bytes]
    deadline: float
    http: bool = False


@dataclass
class Window:
    """What became of the calls of one window. Times in seconds."""

    seconds: float
    took: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    health: list[float] = field(default_factory=list)
    unhealthy: int = 0
    lost: int = 0
    server_cores: float = 0.0
    generator_cores: float = 0.0

    @property
    def statuses(self) -> Counter[int]:
        return Counter({status: len(took) for status, took in self.took.items()})

    def in_time(self, status: int, deadline: float) -> float:
        """Calls a second that ended so within the deadline."""
        return sum(took <= deadline for took in self.took[status]) / self.seconds

    def quantile(self, share: float, *statuses: int) -> float:
        """Milliseconds of the calls that ended so."""
        return _quantile([took for status in statuses for took in self.took[status]], share)

    def health_quantile(self, share: float) -> float:
        return _quantile(self.health, share)


def _quantile(values: list[float], share: float) -> float:
    return 1e3 * sorted(values)[int(share * len(values))] if values else 0.0


_CODES = {200: 0, 429: 8, 499: 1, 501: 12, 503: 14, 504: 4}
_REPLY = re.compile(rb"(?is)HTTP/1.1 (\d+).*?content-length: (\d+).*?\r\n\r\n")
_FRAME = 5  # bytes that gRPC puts before a message


class HttpConnection:
    """A connection of HTTP/1.1, for one call at a time. Its numbers of streams count the calls."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.next_stream = 1
        self.closed = False
        self._held = b""

    def call(self, head: bytes, data: bytes) -> bytes:
        """The bytes of a call."""
        self.next_stream += 1
        return head + b"content-length: %d\r\n\r\n" % (len(data) - _FRAME) + data[_FRAME:]

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def received(self) -> Iterator[Done]:
        """The call that ended by what has come."""
        try:
            data = self.socket.recv(1 << 18)
        except OSError:
            data = b""
        self._held += data
        found = _REPLY.match(self._held)
        if found and len(self._held) >= found.end() + int(found[2]):
            self.closed |= b"connection: close" in self._held[: found.end()].lower()
            self._held = b""
            yield Done(self.next_stream - 1, _CODES.get(int(found[1]), NO_ANSWER))
        elif not data:
            self.closed = True
            yield Done(self.next_stream - 1, NO_ANSWER)

    def close(self) -> None:
        self.socket.close()


class _Callers:
    """Connections, and the calls that are under way on them."""

    def __init__(self, load: Load, window: Window) -> None:
        self._load, self.window = load, window
        wait = round(1e3 * load.deadline)
        self._head = headers(load.path, timeout=f"{wait}m")
        self._connections: list[RawConnection | HttpConnection] = []
        self._idle: list[HttpConnection] = []
        self._ended = 0
        if load.http:
            lines = f"POST {load.path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/proto\r\n"
            self._head = f"{lines}connect-timeout-ms: {wait}\r\n".encode()
        else:
            self._connections += [RawConnection(load.port) for _ in range(CONNECTIONS)]
        self._health = RawConnection(load.port)
        self._turn = cycle(self._connections)
        self._began = dict[tuple[RawConnection | HttpConnection, int], float]()
        self._selector = selectors.DefaultSelector()
        for each in [*self._connections, self._health]:
            self._selector.register(each.socket, selectors.EVENT_READ, each)

    @property
    def under_way(self) -> int:
        return len(self._began)

    def ask(self, number: int) -> None:
        """So many calls begin now, one a connection in turn."""
        frames = defaultdict[RawConnection | HttpConnection, list[bytes]](list)
        now = time.perf_counter()
        turn = (self._free() for _ in range(number)) if self._load.http else self._turn
        for _, each in zip(range(number), turn, strict=False):
            if each is None:
                self.window.took[NO_ANSWER].append(0.0)
                continue
            self._began[each, each.next_stream] = now
            frames[each].append(each.call(self._head, self._load.body()))
        for each, calls in frames.items():
            each.send(b"".join(calls))

    def _free(self) -> HttpConnection | None:
        """A connection without a call; a new one where all have one, up to a number."""
        if self._idle:
            return self._idle.pop()
        if len(self._connections) - self._ended >= MOST:
            return None
        made = HttpConnection(self._load.port + 1)
        self._connections.append(made)
        self._selector.register(made.socket, selectors.EVENT_READ, made)
        return made

    def ask_health(self) -> None:
        self._began[self._health, self._health.next_stream] = time.perf_counter()
        self._health.send(self._health.call(headers(HEALTH, timeout="5000m"), message(b"")))

    def take(self, wait: float) -> None:
        """Note the calls that ended."""
        for key, _ in self._selector.select(wait):
            connection: RawConnection | HttpConnection = key.data
            for done in connection.received():
                began = self._began.pop((connection, done.stream), None)
                if began is not None:
                    self._note(connection, done.status, time.perf_counter() - began)
                if isinstance(connection, HttpConnection) and not connection.closed:
                    self._idle.append(connection)
            if connection.closed:
                self._selector.unregister(connection.socket)
                connection.close()
                self._ended += 1
                if isinstance(connection, HttpConnection) and connection in self._idle:
                    self._idle.remove(connection)

    def _note(self, connection: RawConnection | HttpConnection, status: int, took: float) -> None:
        if connection is not self._health:
            self.window.took[status].append(took)
        else:
            self.window.health.append(took)
            self.window.unhealthy += status != 0

    def close(self) -> None:
        self.window.lost = len(self._began)
        self.window.unhealthy += sum(each is self._health for each, _ in self._began)
        self._selector.close()
        for each in [*self._connections, self._health]:
            each.close()


def offer(load: Load, seconds: float, *, callers: int = 0, rate: float = 0) -> Window:
    """A window of calls: `callers` who wait for each other, or `rate` a second who do not; during
    these, health is asked as well.
    """
    window = Window(seconds)
    group = _Callers(load, window)
    start, cpu, own = time.perf_counter(), cpu_of([load.pid]), time.process_time()
    asked = asked_health = 0
    while (passed := time.perf_counter() - start) < seconds:
        due = callers - group.under_way if callers else int(passed * rate) - asked
        if due > 0:
            group.ask(due)
            asked += due
        if rate and passed > asked_health * HEALTH_EVERY:
            group.ask_health()
            asked_health += 1
        group.take(0.001)
    window.server_cores = (cpu_of([load.pid]) - cpu) / seconds
    window.generator_cores = (time.process_time() - own) / seconds
    end = time.perf_counter() + 2 * load.deadline
    while group.under_way and time.perf_counter() < end:
        group.take(0.01)
    group.close()
    return window
