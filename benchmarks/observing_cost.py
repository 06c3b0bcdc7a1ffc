"""What it costs a server to be observed.

    python -m benchmarks.observing_cost [ROUNDS]

An echo of 824 bytes, the length of an answer, by the production server: once with everything on,
that is counts, a log, looks at health, and pages of metrics that are read every second (a
Prometheus reads them every 15 s or so); and once by the same handler without counts and clocks,
with no log and no pages. Windows take turns in random order. The figure is the median of the ratios
of CPU a call of one round, with a bootstrap interval of 90 %; the goal is missed where the whole
interval lies beyond it, and then the exit status is 1.
"""

from __future__ import annotations

import asyncio
import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version

from askew_server.serving.observer import MethodCounts
from benchmarks.serving.host import ROOT, Echo
from benchmarks.serving.http2 import ClosedLoop
from benchmarks.serving.windows import (
    HEADING,
    Contender,
    Goal,
    Windows,
    cpu,
    described,
    rate,
    ratio,
    rotations,
)

from askew.wire import status
from askew_server.serving import grpc_server
from askew_server.serving.call import Answer
from askew_server.serving.settings import Log, Metrics, ServerConfig

SIZE, WIDTH, ROUNDS, SECONDS = 824, 16, 60, 0.25
WORDS = ("observed", "plain")
GOAL = Goal(most=1.05)
SCRAPED = 1.0  # seconds


class Unobserved(grpc_server.RunningServer):
    """Answers as its parent does, and counts nothing."""

    def _guarded(self, answer: Answer, counts: MethodCounts) -> grpc_server.Handler:
        del counts

        async def handle(_: object, context: grpc_server.Context) -> bytes:
            try:
                return await self._replied(answer, context)
            except Exception as error:
                await context.abort(*status.status_of(error))
                raise

        return handle


async def host(*, observed: bool) -> None:
    """A server until its input closes. Says its port and that of its pages, or 0."""
    from askew_server.serving.observer import Observer
    from askew_server.serving.process import observer_of

    from askew_server.serving import process

    echo = [Echo([SIZE])]
    if not observed:
        process.RunningServer = Unobserved  # type: ignore[attr-defined]
        await process.serve(echo, ServerConfig(), lambda port, _: say(port, 0))
        return
    with ExitStack() as stack:
        free = stack.enter_context(free_port())
    config = ServerConfig(metrics=Metrics(port=free), log=Log(format="json", level="debug"))
    observer: Observer = observer_of(config)
    await process.serve(echo, config, lambda port, _: say(port, free), observer=observer)


def say(*ports: int) -> None:
    print(*ports, flush=True)


@contextmanager
def free_port() -> Iterator[int]:
    import socket

    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        yield line.getsockname()[1]


class Hosted:
    """A server, and who asks it."""

    def __init__(self, word: str, number: int) -> None:
        command = [sys.executable, "-m", "benchmarks.observing_cost", "host", word]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=nowhere, text=True
        )
        assert self._process.stdout is not None
        port, self.pages = map(int, self._process.stdout.readline().split())
        path, calls = f"/Echo/{SIZE}", [(b"", bytes(SIZE))]
        self._loop = ClosedLoop(port, path, WIDTH, calls)
        self.contender = Contender(f"{word} {number}", self._process.pid, self._loop.run)

    def close(self) -> None:
        self._loop.close()
        self._process.communicate(timeout=60)


def scrape(ports: Sequence[int], stop: threading.Event) -> None:
    """Reads the metrics again and again, until it is stopped."""
    while not stop.wait(SCRAPED):
        for port in ports:
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            line.request("GET", "/metrics")
            assert b"askew_requests_total" in line.getresponse().read()
            line.close()


def main() -> None:
    if sys.argv[1:2] == ["host"]:
        asyncio.run(host(observed=sys.argv[2] == "observed"))
        return
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    hosted = [Hosted(word, number) for word in WORDS for number in range(2)]
    stop = threading.Event()
    pages = [each.pages for each in hosted if each.pages]
    reader = threading.Thread(target=scrape, args=(pages, stop))
    reader.start()
    windows = rotations([each.contender for each in hosted], rounds, SECONDS)
    stop.set()
    reader.join()
    for each in hosted:
        each.close()
    sys.exit(shown(windows))


def shown(windows: Windows) -> bool:
    """Prints the figures; whether the goal was missed."""
    print(f"grpcio {version('grpcio')}, {WIDTH} calls at once\n{HEADING}")
    for name, each in windows.items():
        print(described(name, each))
    # Two processes of each: one alone may be slower than another for reasons of its own.
    on, off = ([*windows[f"{word} 0"], *windows[f"{word} 1"]] for word in WORDS)
    found = ratio(on, off, cpu)
    print(f"  {'CPU / that of a server that nobody observes':48s}{found}   goal {GOAL}")
    print(f"  {'calls a second /':48s}{ratio(on, off, rate)}")
    missed = GOAL.missed(found)
    if missed:
        print("MISSED")
    return missed


if __name__ == "__main__":
    main()
