"""Ten times more calls than a bare server can answer, offered to it and to ours in turns.

    python -m benchmarks.overload

Every call has a deadline of a second, and asks for a job of 5 ms that leaves the interpreter to
others, as products of matrices do. The bare server is grpc.aio that looks at nothing and counts
nothing: it does a job where fewer wait than may, else it refuses the call at once. Its capacity is
what it answers of as many callers who wait for each other as keep it busy. Then both are offered
ten times that rate, whatever becomes of the calls before. Goodput is what is answered in time, and
the goal is on the median of the ratios of the rounds. Health is asked fifty times a second
meanwhile, on a connection of its own. A job knows its deadline, and counts if it begins later.
Generator and server share the machine, so `server` and `generator` say what they took, in cores.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median

import grpc
import grpc.aio
import numpy as np
from benchmarks.results import Result, record
from benchmarks.serving.host import serve_bare
from benchmarks.serving.http2 import message
from benchmarks.serving.load import Load, Window, hosted, interval, offer, replies_to

from askew_server.serving.call import Job, Service
from askew_server.serving.grpc_door import OPTIONS
from askew_server.serving.server import serve
from askew_server.serving.settings import ServerConfig

FACTOR, DEADLINE, ROUNDS, SECONDS = 10, 1.0, 9, 3.0
LEAST, MOST_MS = 0.95, 100.0  # goals: goodput beside the bare server's; refusals and health
ON_THE_WAY = 0.1  # seconds: a server counts a deadline from when the call arrives
JOB = 0.005  # seconds
REPLY = bytes(600)
OK, CANCELLED, EXHAUSTED = 0, 1, 8
WAITING = 33  # jobs of the bare server that run or wait: as many as ours takes


class WorkService(Service):
    """Answers after a job of 5 ms. A request is the time at which its caller asked."""

    name = "Work"

    def __init__(self, repeats: int) -> None:
        """Make a service whose job is so many products of a matrix and a vector."""
        self._vectors = np.zeros((100_000, 32), np.float32)
        self._late, self.repeats = 0, repeats
        self.methods = {
            "Kernel": lambda request, _: Job(lambda: self.kernel(request)),
            "Late": lambda _, __: str(self._late).encode(),
        }

    def kernel(self, request: bytes) -> bytes:
        """Work for 5 ms, and note it if the deadline of the request has passed."""
        self._late += time.monotonic() > float(request) + DEADLINE + ON_THE_WAY
        for _ in range(self.repeats):
            self._vectors @ self._vectors[0]
        return REPLY


def products_of_a_job() -> int:
    """Return how many products take 5 ms here, for both servers: each by a measurement of its own
    would have jobs of another length.
    """
    work, seconds = WorkService(100), []
    for _ in range(9):
        start = time.thread_time()
        work.kernel(str(time.monotonic()).encode())
        seconds.append(time.thread_time() - start)
    return max(1, round(JOB * work.repeats / median(seconds)))


def capacity_of(load: Load) -> float:
    """Return the calls a second that are answered of callers who wait for each other: of twice as
    many as long as these get a tenth more.
    """
    callers, rate, more = 8, 0.0, 1.0
    while more > 1.1 * rate:
        rate, more = more, offer(load, 1.5, callers=callers).in_time(OK, DEADLINE)
        callers *= 2
    return max(rate, more)


def main() -> int:
    repeats = products_of_a_job()
    with (
        hosted(__spec__.name, "--serve", repeats) as ours,
        hosted(__spec__.name, "--bare", repeats) as bare,
    ):
        loads = {
            who: Load(server, "/Work/Kernel", lambda: message(str(time.monotonic()).encode()), 1.0)
            for who, server in {"ours": ours, "bare": bare}.items()
        }
        rate = FACTOR * capacity_of(loads["bare"])
        windows: dict[str, list[Window]] = {"ours": [], "bare": []}
        for number in range(ROUNDS + 1):  # the first is for connections and threads
            for who in ("ours", "bare") if number % 2 else ("bare", "ours"):
                windows[who].append(offer(loads[who], SECONDS, rate=rate))
        late = int(replies_to(ours, "/Work/Late", [b""])[0])
    print(f"{rate:.0f} calls a second\n{'':5} {'goodput/s':>9} {'refused p99 ms':>15} "
          f"{'health p99 ms':>14} {'server':>7} {'generator':>10}  lost statuses")  # fmt: skip
    for own in windows.values():
        own.pop(0)
    taken = {who: figures(who, own) for who, own in windows.items()}
    ratio, low, high = interval(
        [
            a.in_time(OK, DEADLINE) / b.in_time(OK, DEADLINE)
            for a, b in zip(windows["ours"], windows["bare"], strict=True)
        ]
    )
    words = f"{ratio:.3f} [{low:.3f}, {high:.3f}]"
    print(f"goodput beside the bare server's: {words}")
    goodput, refused, health, lost, unhealthy = taken["ours"]
    result = partial(Result, "ten times what a server can answer")
    floor = "bare grpc.aio server that refuses"
    rows = [
        result(
            "goodput",
            "jobs a second",
            goodput,
            floor=(floor, taken["bare"][0]),
            goal=f"at least {LEAST:g} of the bare server's",
            met=ratio >= LEAST,
            note=f"{words} of it",
        ),
        result(
            "refusals",
            "ms, p99",
            refused,
            floor=(floor, taken["bare"][1]),
            goal=f"{MOST_MS:g} ms",
            met=refused <= MOST_MS,
        ),
        result(
            "health",
            "ms, p99",
            health,
            goal=f"{MOST_MS:g} ms, and never unhealthy",
            met=not unhealthy and health <= MOST_MS,
        ),
        result("left hanging", "calls", lost, goal="none", met=not lost),
        result("begun after their deadline", "jobs", late, goal="none", met=not late),
    ]
    for row in rows:
        record(row)
        if row.met is False:
            print(f"MISSED: {row.work}: {row.ours:.3g} {row.unit}, goal {row.goal}")
    return int(any(row.met is False for row in rows))


def figures(who: str, windows: list[Window]) -> tuple[float, float, float, int, int]:
    """Print the figures of a server; return its goodput a second, the 99th percentiles in ms of
    refusals and of health, and how many calls were left hanging and how often it was unhealthy.
    """
    goodput = median(window.in_time(OK, DEADLINE) for window in windows)
    refused = median(window.quantile(0.99, EXHAUSTED, CANCELLED) for window in windows)
    health = median(window.health_quantile(0.99) for window in windows)
    lost, unhealthy = sum(w.lost for w in windows), sum(w.unhealthy for w in windows)
    cores = [median(w.cpu / w.seconds for w in windows)]
    cores.append(median(w.own_cpu / w.seconds for w in windows))
    statuses = sum((window.statuses for window in windows), Counter[int]())
    print(f"{who:5} {goodput:9.1f} {refused:15.1f} {health:14.1f} {cores[0]:7.2f} {cores[1]:10.2f} "
          f"{lost:5} {dict(statuses)}")  # fmt: skip
    return goodput, refused, health, lost, unhealthy


async def serve_floor(repeats: int) -> None:
    """Do a job where fewer wait than may; refuse the call at once else."""
    work, one, taken = WorkService(repeats).kernel, ThreadPoolExecutor(1), 0

    async def handle(request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        nonlocal taken
        if taken >= WAITING:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
        taken += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(one, work, request)
        finally:
            taken -= 1

    await serve_bare("Work", {"Kernel": handle}, OPTIONS)


if __name__ == "__main__":
    if "--bare" in sys.argv:
        asyncio.run(serve_floor(int(sys.argv[-1])))
    elif "--serve" in sys.argv:
        announce = partial(print, flush=True)
        service = WorkService(int(sys.argv[-1]))
        asyncio.run(serve([service], ServerConfig(), lambda port, _: announce(port)))
    else:
        sys.exit(main())
