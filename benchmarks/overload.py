"""Ten times more questions than a server can answer, each with a deadline of a second.

    python -m benchmarks.overload

For each kind of work, windows in turn: what is answered of callers who wait for each other
(capacity), and what is answered in time of callers who come at ten times that rate, whatever
becomes of those before them (goodput). Jobs of 5 ms, `kernel`, leave the interpreter to others, as
products of matrices do. `at once` is no job: its callers come as fast as this generator can. Health
is asked fifty times a second meanwhile, on a connection of its own. The row `http` is the same by
HTTP/1.1, where a caller who finds no connection without a call opens one. A job knows its deadline,
and counts if it begins later. Generator and server share the machine, so `server` and `generator`
say what they took of it, in cores. `floor` is the work of `kernel` by a server of grpcio that looks
at nothing and counts nothing: it does a job where fewer wait than may, else it refuses the call at
once. Its share of capacity is the goal of ours over gRPC; by HTTP it is a number.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median

import grpc
import grpc.aio
import numpy as np
from benchmarks.results import Result, record
from benchmarks.serving.http2 import message
from benchmarks.serving.open_loop import Load, Window, offer, serve, served
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import aio as health

from askew_server.serving.call import Answer, Caller, Job
from askew_server.serving.grpc_door import OPTIONS

FACTOR, DEADLINE, ROUNDS = 10, 1.0, 4
HTTP_GOODPUT, REFUSED_MS, HEALTH_MS = 0.75, 100.0, 100.0  # goals
ON_THE_WAY = 0.1  # seconds: a server counts a deadline from when the call arrives
CALLERS = 32  # who wait for each other
JOB = 0.005  # seconds
REPLY = bytes(600)
OK, CANCELLED, TOO_SLOW, EXHAUSTED = 0, 1, 4, 8
KERNEL, FLOOR = "/Work/Kernel", "floor"
HTTP = "http"
KINDS = {
    "kernel": KERNEL,
    FLOOR: KERNEL,
    HTTP: KERNEL,
    "at once": "/Work/AtOnce",
}
FASTEST = 20_000  # calls a second that one generator can make
WAITING = 50  # jobs of the floor: as many as the patience of ours makes
Server = tuple[int, int]  # its port and its process


class WorkService:
    """Answers after work of each kind. A request is the deadline of its caller."""

    name = "Work"

    def __init__(self) -> None:
        self._vectors = np.zeros((100_000, 32), np.float32)
        self._late = 0
        self._repeats = self._calibrated()

    @property
    def methods(self) -> Mapping[str, Answer]:
        return {
            "Kernel": lambda request, _: Job(lambda: self.kernel(request)),
            "AtOnce": lambda _, __: REPLY,
            "Late": self._told,
        }

    def kernel(self, request: bytes) -> bytes:
        """A job that leaves the interpreter to others."""
        return self._timely(request, self._products)

    def _told(self, _: bytes, __: Caller) -> bytes:
        return str(self._late).encode()

    def _timely(self, request: bytes, work: Callable[[], None]) -> bytes:
        self._late += time.monotonic() > float(request) + DEADLINE + ON_THE_WAY
        work()
        return REPLY

    def _products(self) -> None:
        for _ in range(self._repeats):
            self._vectors @ self._vectors[0]

    def _calibrated(self) -> int:
        """Products that take as long as a job should."""
        self._repeats = 100
        start = time.thread_time()
        self._products()
        return max(1, round(JOB * 100 / (time.thread_time() - start)))


@dataclass
class Measured:
    """The windows of one kind of work."""

    capacity: list[float] = field(default_factory=list)
    goodput: list[float] = field(default_factory=list)
    refused_ms: list[float] = field(default_factory=list)
    health_ms: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    unhealthy: int = 0
    lost: int = 0
    cores: list[tuple[float, float]] = field(default_factory=list)

    def add(self, window: Window) -> None:
        self.goodput.append(window.in_time(OK, DEADLINE))
        self.refused_ms.append(window.quantile(0.99, EXHAUSTED, CANCELLED))
        self.health_ms.append(window.health_quantile(0.99))
        self.statuses += Counter(window.statuses)
        self.unhealthy += window.unhealthy
        self.lost += window.lost
        self.cores.append((window.server_cores, window.generator_cores))

    @property
    def ratio(self) -> float:
        pairs = zip(self.goodput, self.capacity, strict=True)
        return median(good / capacity for good, capacity in pairs)


def measure(ours: Server, bare: Server) -> dict[str, Measured]:
    found = {kind: Measured() for kind in KINDS}
    for _ in range(ROUNDS):
        for kind, path in KINDS.items():
            each = found[kind]
            http = kind == HTTP
            load = Load(*(bare if kind == FLOOR else ours), path, _now, DEADLINE, http)
            each.capacity.append(offer(load, 2.0, callers=CALLERS).in_time(OK, DEADLINE))
            rate = min(FACTOR * each.capacity[-1], FASTEST)
            each.add(offer(load, 3.0, rate=rate))
    return found


def _now() -> bytes:
    return message(str(time.monotonic()).encode())


def report(found: dict[str, Measured], late: int) -> bool:
    """The table. Returns whether a goal is missed."""
    print(f"\n{'work':9} {'capacity/s':>10} {'goodput/s':>10} {'ratio':>6} {'refused p99 ms':>15} "
          f"{'health p99 ms':>14} {'unhealthy':>10} {'server':>7} {'generator':>10}")  # fmt: skip
    missed, bare = late > 0, found[FLOOR].ratio
    for kind, each in found.items():
        server, generator = (median(part) for part in zip(*each.cores, strict=True))
        refused, health = median(each.refused_ms), median(each.health_ms)
        print(f"{kind:9} {median(each.capacity):10.0f} {median(each.goodput):10.0f} "
              f"{each.ratio:6.2f} {refused:15.1f} {health:14.1f} {each.unhealthy:10} "
              f"{server:7.2f} {generator:10.2f}")  # fmt: skip
        print(f"  statuses {dict(sorted(each.statuses.items()))}; left hanging {each.lost}")
        if kind == FLOOR:
            continue
        least = HTTP_GOODPUT if kind.startswith(HTTP) else bare
        good = each.ratio >= least
        record(
            Result(
                "ten times what a server can answer",
                f"goodput, {kind}",
                "of capacity",
                each.ratio,
                floor=("bare grpc.aio server that refuses", bare),
                goal=f"at least {least:.2f}",
                met=good,
            )
        )
        quick = refused <= REFUSED_MS
        record(
            Result(
                "ten times what a server can answer",
                f"refusals, {kind}",
                "ms, p99",
                refused,
                floor=("bare grpc.aio server that refuses", median(found[FLOOR].refused_ms)),
                goal=f"{REFUSED_MS:g} ms",
                met=quick,
            )
        )
        healthy = not each.unhealthy and health <= HEALTH_MS
        record(
            Result(
                "ten times what a server can answer",
                f"health, {kind}",
                "ms, p99",
                health,
                goal=f"{HEALTH_MS:g} ms, and never unhealthy",
                met=healthy,
            )
        )
        missed |= not good or not quick or each.lost > 0 or not healthy
    print(f"jobs begun after their deadline: {late}")
    print(
        f"goals: ratio {bare:.2f}, by HTTP {HTTP_GOODPUT}, refused {REFUSED_MS} ms, "
        f"health {HEALTH_MS} ms and always, none late: {'MISSED' if missed else 'kept'}"
    )
    return missed


def main() -> int:
    with served(__spec__.name) as ours, served(__spec__.name, "--bare") as bare:
        found = measure(ours, bare)
        late = late_of(ours[0])
    return int(report(found, late))


def late_of(port: int) -> int:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/Work/Late")
        return int(call(b"", timeout=10))


Context = grpc.aio.ServicerContext[bytes, bytes]


async def serve_bare(path: str, work: Callable[[bytes], bytes], waiting: int) -> None:
    """Serve one method as `open_loop.serve` does, with the same options of gRPC."""
    service, method = path.strip("/").split("/")
    one, taken = ThreadPoolExecutor(1), 0
    loop = asyncio.get_running_loop()

    async def handle(request: bytes, context: Context) -> bytes:
        nonlocal taken
        if taken >= waiting:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED)
        taken += 1
        try:
            return await loop.run_in_executor(one, work, request)
        finally:
            taken -= 1

    server = grpc.aio.server(options=OPTIONS)
    handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]]
    handlers = {method: grpc.unary_unary_rpc_method_handler(handle)}
    health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), server)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await loop.run_in_executor(None, sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        asyncio.run(serve(WorkService()))
    elif "--bare" in sys.argv:
        asyncio.run(serve_bare(KERNEL, WorkService().kernel, WAITING))
    else:
        sys.exit(main())
