"""Calls that come at a rate, or that wait for each other, over bare HTTP/2, and what they took."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import grpc
import numpy as np
from benchmarks.results import busy_seconds
from benchmarks.serving.http2 import RawConnection, headers, message

ROOT = Path(__file__).resolve().parents[2]
HEALTH = "/grpc.health.v1.Health/Check"
HEALTH_EVERY = 0.02
CONNECTIONS = 64
Server = tuple[int, int]  # its port and its process


@contextmanager
def hosted(module: str, *words: object) -> Iterator[Server]:
    """Start a module that serves and says its port; it ends when its standard input closes."""
    settled = {"OPENBLAS_NUM_THREADS": "1", "ASKEW_WITH_PARENT": "1"}
    command = [sys.executable, "-m", module, *map(str, words)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=-1, stdout=-1, text=True, env=os.environ | settled
    ) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line.strip():
            raise SystemExit(f"the server of {words} ended early")
        try:
            yield int(line), server.pid
        finally:
            server.communicate()


def replies_to(server: Server, path: str, questions: Sequence[bytes]) -> list[bytes]:
    """Return the replies to these questions, asked one after the other."""
    with grpc.insecure_channel(f"127.0.0.1:{server[0]}") as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
        return [call(question, timeout=60) for question in questions]


def cpu_of(process: int) -> float:
    """Return the seconds of CPU that a process took so far."""
    # The clock of another process, by its number: see clock_getcpuclockid(3).
    return time.clock_gettime((~process << 3) | 2)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of values, and its bootstrap interval of 90 %."""
    drawn = np.random.default_rng(0).choice(np.array(values), (2000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.05, 0.95])
    return float(np.median(values)), float(low), float(high)


@dataclass(frozen=True)
class Load:
    """What is asked: a method, a maker of framed messages, and the seconds of a deadline."""

    server: Server
    path: str
    body: Callable[[], bytes]
    deadline: float


@dataclass
class Window:
    """What became of the calls of one window. Times in seconds."""

    seconds: float
    took: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    health: list[float] = field(default_factory=list)
    unhealthy: int = 0
    lost: int = 0
    cpu: float = 0.0  # of the server
    own_cpu: float = 0.0
    foreign: float = 0.0  # cores that others took

    @property
    def statuses(self) -> Counter[int]:
        return Counter({status: len(took) for status, took in self.took.items()})

    @property
    def cpu_of_call(self) -> float:
        return self.cpu / sum(self.statuses.values())

    def in_time(self, status: int, deadline: float) -> float:
        """Return the calls a second that ended so within the deadline."""
        return sum(took <= deadline for took in self.took[status]) / self.seconds

    def quantile(self, share: float, *statuses: int) -> float:
        """Return a quantile of the milliseconds of the calls that ended so."""
        return _quantile([took for status in statuses for took in self.took[status]], share)

    def health_quantile(self, share: float) -> float:
        return _quantile(self.health, share)


def _quantile(values: list[float], share: float) -> float:
    return 1e3 * sorted(values)[int(share * len(values))] if values else 0.0


class _Callers:
    """Connections, and the calls that are under way on them."""

    def __init__(self, load: Load, window: Window) -> None:
        self._load, self.window = load, window
        self._head = headers(load.path, timeout=f"{round(1e3 * load.deadline)}m")
        self._connections = [RawConnection(load.server[0]) for _ in range(CONNECTIONS)]
        self._health = RawConnection(load.server[0])
        self._turn = cycle(self._connections)
        self._began = dict[tuple[RawConnection, int], float]()
        self._selector = selectors.DefaultSelector()
        for connection in [*self._connections, self._health]:
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    @property
    def under_way(self) -> int:
        return len(self._began)

    def ask(self, number: int) -> None:
        """Begin so many calls now, one a connection in turn."""
        frames = defaultdict[RawConnection, list[bytes]](list)
        now = time.perf_counter()
        for connection in islice(self._turn, number):
            self._began[connection, connection.next_stream] = now
            frames[connection].append(connection.call(self._head, self._load.body()))
        for connection, calls in frames.items():
            connection.send(b"".join(calls))

    def ask_health(self) -> None:
        self._began[self._health, self._health.next_stream] = time.perf_counter()
        self._health.send(self._health.call(headers(HEALTH, timeout="5000m"), message(b"")))

    def take(self, wait: float) -> None:
        """Note the calls that ended."""
        for key, _ in self._selector.select(wait):
            connection: RawConnection = key.data
            for done in connection.received():
                began = self._began.pop((connection, done.stream), None)
                if began is not None:
                    self._note(connection, done.status, time.perf_counter() - began)
            if connection.closed:
                self._selector.unregister(connection.socket)
                connection.close()

    def _note(self, connection: RawConnection, status: int, took: float) -> None:
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
    """Offer calls for a window: of `callers` who wait for each other, or `rate` a second who do not
    and beside whom health is asked.
    """
    window = Window(seconds)
    group = _Callers(load, window)
    pid = load.server[1]
    cpu, own, busy = cpu_of(pid), time.process_time(), busy_seconds()
    start = time.perf_counter()
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
    end = time.perf_counter() + 2 * load.deadline
    while group.under_way and time.perf_counter() < end:
        group.take(0.01)
    window.cpu, window.own_cpu = cpu_of(pid) - cpu, time.process_time() - own
    others = busy_seconds() - busy - window.cpu - window.own_cpu
    window.foreign = max(0.0, others / (time.perf_counter() - start))
    group.close()
    return window
