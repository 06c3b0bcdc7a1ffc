"""What is lost when servers stop, die, are replaced or change their models under load.

Eight callers, each on a connection of its own, ask a server of the demo's films all the time, as
devices do, which send the same bytes again for five seconds, or once only. Counted are calls that
failed. It exits with 1 where a number is not 0 that must be: all but those of callers that give up
at once, and those of devices where nobody listens for longer than a second. How long a server was
away is told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import grpc
import grpc.aio

from askew.catalog.catalog_file import catalog_date_of
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Query, Signal
from askew.wire.queries import query_to_bytes
from askew_client.transport.grpc import PATIENCE, drawn_pauses, persistent
from askew_server.demo.simulation import demo_model
from askew_server.taste.model import artifact
from askew_server.taste.model.item_model import ItemModel
from askew_server.taste.model.mondays import today

CALLERS, SECONDS, SWAPS, VERSION = 8, 15.0, 20, "2026-01-05"
METHOD = "/askew.wire.v1.Retrieval/Retrieve"
CHANNEL = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]
Deed = Callable[["Server"], Awaitable["Server"]]


class Server:
    """A server of a folder of models, as a process."""

    def __init__(self, process: Process, port: int, folder: Path) -> None:
        self.process, self.port, self.folder = process, port, folder
        self.away = 0.0  # seconds in which nothing answered

    @classmethod
    async def started(cls, folder: Path, processes: int, port: int = 0) -> Server:
        words = ["--models", folder, "--port", port, "--processes", processes]
        command = [sys.executable, "-m", "askew_server", "serve", *map(str, words)]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        return cls(process, int(line.split(":")[1].split(",")[0]), folder)

    @property
    def children(self) -> list[int]:
        pid = self.process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    async def says(self, words: str) -> None:
        assert self.process.stderr is not None
        while words not in (line := (await self.process.stderr.readline()).decode()):
            assert line, f"it ended and never said {words}"

    async def stop(self) -> None:
        self.process.terminate()
        await self.process.communicate()


class Callers:
    """They ask all the time, with or without retries. failed: calls by what became of them."""

    def __init__(self, port: int, request: bytes, *, again: bool) -> None:
        self._target, self._request, self._again = f"127.0.0.1:{port}", request, again
        self.answered, self.failed = 0, Counter[str]()
        self._news, self._tasks = asyncio.Condition(), list[asyncio.Task[None]]()

    async def _ask(self) -> None:
        async with grpc.aio.insecure_channel(self._target, options=CHANNEL) as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)
            while True:
                try:
                    if self._again:
                        await persistent(self._sent_by(call), SECONDS, drawn_pauses(SystemBits()))
                    else:
                        await self._sent_by(call)(SECONDS)
                    self.answered += 1
                except grpc.aio.AioRpcError as error:
                    self.failed[error.code().name] += 1
                    await asyncio.sleep(0.05)
                async with self._news:
                    self._news.notify_all()

    def _sent_by(
        self, call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
    ) -> Callable[[float], Awaitable[bytes]]:
        async def send(seconds: float) -> bytes:
            return await call(self._request, timeout=seconds)

        return send

    async def more(self, answers: int = 500) -> None:
        goal = self.answered + answers
        async with self._news:
            await self._news.wait_for(lambda: self.answered >= goal)

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        self._tasks = [asyncio.create_task(self._ask()) for _ in range(CALLERS)]
        try:
            await self.more()
            yield
            await self.more()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def stop_and_start(server: Server) -> Server:
    began = time.monotonic()
    await server.stop()
    server = await Server.started(server.folder, 1, server.port)
    server.away = time.monotonic() - began
    return server


async def roll(server: Server) -> Server:
    server.process.send_signal(signal.SIGUSR1)
    await server.says("every process was replaced")
    return server


async def kill_each(server: Server) -> Server:
    for pid in server.children:
        os.kill(pid, signal.SIGKILL)
        await server.says("answers again")
    return server


async def swap(server: Server) -> Server:
    for n in range(SWAPS):
        link = server.folder / ".next"
        link.symlink_to(f"../version{n % 2}")
        link.rename(server.folder / VERSION)
        server.process.send_signal(signal.SIGHUP)
        await server.says("swapped")
    return server


# What is done, to how many processes, whether callers retry, and whether none of them may fail.
SCENES: list[tuple[str, Deed, int, bool, bool]] = [
    ("SIGTERM, then started again", stop_and_start, 1, False, False),
    # A port that nobody listens on is told within a second, and this one is away for longer.
    ("SIGTERM, then started again", stop_and_start, 1, True, False),
    ("kill -9 of each process", kill_each, 2, False, False),
    ("kill -9 of each process", kill_each, 2, True, True),
    ("rolling restart (SIGUSR1)", roll, 2, False, False),
    ("rolling restart (SIGUSR1)", roll, 2, True, True),
    (f"{SWAPS} swaps of the model (SIGHUP)", swap, 1, False, True),
]


def saved(model: ItemModel, place: Path) -> Path:
    """Two models that differ in what only the server has, and a folder that shows one of them."""
    for n in range(2):
        artifact.save(replace(model, counts={"people": n}), place / f"version{n}")
    (place / "models").mkdir()
    (place / "models" / VERSION).symlink_to("../version1")
    return place / "models"


def question(model: ItemModel) -> bytes:
    space, noise = model.card.space, LatticeLaplace.for_epsilon(Fraction(4))
    signal_ = Signal(space.version, noise, (0,) * space.dimension)
    return query_to_bytes(Query(signal_, 4, catalog_date=catalog_date_of(today())))


async def main() -> int:
    model, wrong = demo_model(), 0
    print(f"{'what happens':34} processes  retries  answered  failed")
    with tempfile.TemporaryDirectory() as place:
        folder, request = saved(model, Path(place)), question(model)
        for name, deed, processes, again, none in SCENES:
            server = await Server.started(folder, processes)
            callers = Callers(server.port, request, again=again)
            async with callers.asking():
                server = await deed(server)
            await server.stop()
            failed = callers.failed.total()
            wrong += none and failed > 0
            said = [f"{n} {code}" for code, n in callers.failed.items()]
            said += ["must be 0"] * none
            said += [f"away for {server.away:.1f} s of {PATIENCE:g}"] * (server.away > 0)
            shown = f"{'yes' if again else 'no':>7}  {callers.answered:>8,}  {failed:>6}"
            print(f"{name:34} {processes:>9}  {shown}  {', '.join(said)}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
