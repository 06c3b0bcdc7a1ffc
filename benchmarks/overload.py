"""Ten times more questions than a server can answer, each with a deadline of a second.

    python -m benchmarks.overload

For each kind of work in turn: what is answered in time of callers who wait for each other
(capacity), and of callers who come at ten times that rate, whatever becomes of those before them
(goodput). There are as many who wait as make the server and not the wait for a reply the bound:
they are doubled until that gives less than a tenth more. A capacity is measured before and after
its goodput, and both anew until the two agree within a tenth; a round that does not settle is a
missed goal. Jobs of 5 ms, `kernel`, leave the interpreter to others, as products of matrices do.
`at once` is no job: its callers come as fast as this generator can. Health is asked
fifty times a second meanwhile, on a connection of its own. A job knows its deadline, and counts if
it begins later. Generator and server share the machine, so `server` and `generator` say what they
took of it, in cores. `floor` is the work of `kernel` by a server of grpcio that looks at nothing
and counts nothing: it does a job where fewer wait than may, else it refuses the call at once. Its
share of capacity is the goal of ours.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import grpc
import grpc.aio
import numpy as np
from benchmarks.results import Result, record
from benchmarks.serving.host import serve_bare
from benchmarks.serving.http2 import message
from benchmarks.serving.load import Load, Window, hosted, offer, replies_to

from askew_server.serving.call import Answer, Caller, Job
from askew_server.serving.grpc_door import OPTIONS
from askew_server.serving.server import serve
from askew_server.serving.settings import ServerConfig

FACTOR, DEADLINE, ROUNDS = 10, 1.0, 4
MOST_MS = 100.0  # a goal, of refusals and of health
ON_THE_WAY = 0.1  # seconds: a server counts a deadline from when the call arrives
CALLERS, MOST_CALLERS = 8, 4096  # who wait for each other
AGREE, TRIES = 0.1, 6  # of the larger of two capacities; of a round
JOB = 0.005  # seconds
REPLY = bytes(600)
OK, CANCELLED, EXHAUSTED = 0, 1, 8
FLOOR = "floor"
KINDS = {"kernel": "/Work/Kernel", FLOOR: "/Work/Kernel", "at once": "/Work/AtOnce"}
FASTEST = 20_000  # calls a second that one generator can make
WAITING = 50  # jobs of the floor: as many as the patience of ours makes


class WorkService:
    """Answers after work of each kind. A request is the deadline of its caller."""

    name = "Work"

    def __init__(self) -> None:
        self._vectors = np.zeros((100_000, 32), np.float32)
        self._late, self._repeats = 0, 100
        start = time.thread_time()
        self._products()
        self._repeats = max(1, round(JOB * 100 / (time.thread_time() - start)))

    @property
    def methods(self) -> Mapping[str, Answer]:
        def late(_: bytes, __: Caller) -> bytes:
            return str(self._late).encode()

        return {
            "Kernel": lambda request, _: Job(lambda: self.kernel(request)),
            "AtOnce": lambda _, __: REPLY,
            "Late": late,
        }

    def kernel(self, request: bytes) -> bytes:
        """A job that leaves the interpreter to others."""
        self._late += time.monotonic() > float(request) + DEADLINE + ON_THE_WAY
        self._products()
        return REPLY

    def _products(self) -> None:
        for _ in range(self._repeats):
            self._vectors @ self._vectors[0]


@dataclass
class Measured:
    """The rounds of one kind of work: capacities, and windows of too many calls."""

    capacity: list[float] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    unsettled: int = 0

    @property
    def ratio(self) -> float:
        """Return goodput as a share of capacity, in the median of the rounds."""
        pairs = zip(self.windows, self.capacity, strict=True)
        return median(window.in_time(OK, DEADLINE) / capacity for window, capacity in pairs)

    @property
    def refused_ms(self) -> float:
        return median(window.quantile(0.99, EXHAUSTED, CANCELLED) for window in self.windows)


def capacity_of(load: Load, callers: int) -> float:
    """Return the calls a second that are answered in time in a closed loop."""
    return offer(load, 1.5, callers=callers).in_time(OK, load.deadline)


def measure(load: Load) -> Measured:
    """Return the rounds of one kind, of as many callers as keep the server busy: twice as many give
    less than a tenth more.
    """
    taken, callers, before = Measured(), CALLERS, capacity_of(load, CALLERS)
    while callers < MOST_CALLERS and (after := capacity_of(load, 2 * callers)) > 1.1 * before:
        callers, before = 2 * callers, after
    for _ in range(ROUNDS):
        before = capacity_of(load, callers)
        for attempt in range(TRIES):
            window = offer(load, 3.0, rate=min(FACTOR * before, FASTEST))
            after = capacity_of(load, callers)
            if abs(after - before) <= AGREE * max(after, before):
                break
            before = after if attempt < TRIES - 1 else before
        else:
            taken.unsettled += 1
        taken.capacity.append((before + after) / 2)
        taken.windows.append(window)
    return taken


def rows_of(kind: str, taken: Measured, floor: Measured) -> list[Result]:
    """Print the figures of a kind, and return them beside those of the floor."""
    cores = [(w.cpu / w.seconds, w.own_cpu / w.seconds) for w in taken.windows]
    server, generator = (median(part) for part in zip(*cores, strict=True))
    health = median(window.health_quantile(0.99) for window in taken.windows)
    lost, unhealthy = sum(w.lost for w in taken.windows), sum(w.unhealthy for w in taken.windows)
    statuses = sum((window.statuses for window in taken.windows), Counter[int]())
    capacity = median(taken.capacity)
    print(f"{kind:9} {capacity:10.0f} {taken.ratio:6.2f} {taken.refused_ms:15.1f} {health:14.1f} "
          f"{server:7.2f} {generator:10.2f} {lost:5} {dict(statuses)}")  # fmt: skip
    result = partial(Result, "ten times what a server can answer")
    goal = f"the same within {AGREE:.0%} before and after"
    met = not taken.unsettled
    rows = [result(f"capacity, {kind}", "calls a second", capacity, goal=goal, met=met)]
    if kind == FLOOR:
        return rows
    name = "bare grpc.aio server that refuses"
    return [
        *rows,
        result(
            f"goodput, {kind}",
            "of capacity",
            taken.ratio,
            floor=(name, floor.ratio),
            goal=f"at least {floor.ratio:.2f}",
            met=taken.ratio >= floor.ratio,
        ),
        result(
            f"refusals, {kind}",
            "ms, p99",
            taken.refused_ms,
            floor=(name, floor.refused_ms),
            goal=f"{MOST_MS:g} ms",
            met=taken.refused_ms <= MOST_MS,
        ),
        result(
            f"health, {kind}",
            "ms, p99",
            health,
            goal=f"{MOST_MS:g} ms, and never unhealthy",
            met=not unhealthy and health <= MOST_MS,
        ),
        result(f"left hanging, {kind}", "calls", lost, goal="none", met=not lost),
    ]


def main() -> int:
    with hosted(__spec__.name, "--serve") as ours, hosted(__spec__.name, "--bare") as bare:
        taken = {}
        for kind, path in KINDS.items():
            server = bare if kind == FLOOR else ours
            load = Load(server, path, lambda: message(str(time.monotonic()).encode()), DEADLINE)
            taken[kind] = measure(load)
        late = int(replies_to(ours, "/Work/Late", [b""])[0])
    print(f"{'work':9} {'capacity/s':>10} {'ratio':>6} {'refused p99 ms':>15} "
          f"{'health p99 ms':>14} {'server':>7} {'generator':>10}  lost statuses")  # fmt: skip
    rows = [row for kind, each in taken.items() for row in rows_of(kind, each, taken[FLOOR])]
    title, work = rows[0].title, "begun after their deadline"
    rows.append(Result(title, work, "jobs", late, goal="none", met=not late))
    for row in rows:
        record(row)
        if row.met is False:
            print(f"MISSED: {row.work}: {row.ours:.3g} {row.unit}, goal {row.goal}")
    return int(any(row.met is False for row in rows))


async def serve_floor() -> None:
    """Do a job where fewer wait than may; refuse the call at once else."""
    work, one, taken = WorkService().kernel, ThreadPoolExecutor(1), 0

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
        asyncio.run(serve_floor())
    elif "--serve" in sys.argv:
        announce = partial(print, flush=True)
        asyncio.run(serve([WorkService()], ServerConfig(), lambda port, _: announce(port)))
    else:
        sys.exit(main())
