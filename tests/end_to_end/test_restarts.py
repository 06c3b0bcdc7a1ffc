"""Servers that stop and start again while devices ask: no question is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest
from end_to_end.server_process import PATIENCE, Server
from typed_calls import retrieve

from askew.catalog.catalog_file import PERIOD, catalog_date_of
from askew.errors import Unreachable
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Query, Signal
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_server.demo.simulation import demo_model
from askew_server.folders import text_of_date, today
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel

DEVICES = 2
PACE = 0.01  # seconds between two questions: at once, they kept servers from starting


@pytest.fixture(scope="module")
def model() -> ItemModel:
    return demo_model()


@pytest.fixture
def folder(tmp_path: Path, model: ItemModel) -> Path:
    """A folder with a version that was in force long ago."""
    artifact.save(model, tmp_path / "models" / "2026-01-05")
    return tmp_path / "models"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine takes longer to start a server; and each device has connections of its own."""
    for each in ("PATIENCE", "NOBODY"):
        monkeypatch.setattr(grpc_transport, each, PATIENCE)
    monkeypatch.setattr(grpc_transport, "_PAUSES", 100)
    own = ("grpc.use_local_subchannel_pool", 1)
    monkeypatch.setattr(grpc_transport, "_OPTIONS", [*grpc_transport._OPTIONS, own])


class Devices:
    """They ask all the time; a question that fails is raised where they are waited for."""

    def __init__(self, port: int, model: ItemModel) -> None:
        self._target, self._card = f"127.0.0.1:{port}", model.card
        noise = LatticeLaplace.for_epsilon(Fraction(4))
        zeros = (0,) * model.card.space.dimension
        signal_ = Signal(model.card.space.version, noise, zeros)
        self._query = Query(signal_, 4, catalog_date=catalog_date_of(today()))
        self._answers, self._more = 0, asyncio.Condition()
        self._tasks = [asyncio.create_task(self._ask()) for _ in range(DEVICES)]

    async def _ask(self) -> None:
        while True:
            async with GrpcTransport(self._target, PATIENCE) as network:
                for _ in range(50):
                    slate = await retrieve(network, self._query, self._card)
                    assert len(slate.item_ids) == 4
                    async with self._more:
                        self._answers += 1
                        self._more.notify_all()
                    await asyncio.sleep(PACE)

    async def get(self, more: int = 40) -> None:
        """Waits for more answers, or raises what a device got instead."""
        waiting = asyncio.create_task(self._until(self._answers + more))
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([waiting, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        for each in self._tasks:
            if each.done():
                each.result()
        await waiting

    async def _until(self, answers: int) -> None:
        async with self._more:
            await self._more.wait_for(lambda: self._answers >= answers)

    async def stop(self) -> None:
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def asking(port: int, model: ItemModel) -> AsyncIterator[Devices]:
    devices = Devices(port, model)
    try:
        await devices.get()
        yield devices
    finally:
        await devices.stop()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["a pipe that nobody reads", "a closed pipe", "a full disk"])
async def test_output_that_goes_nowhere_ends_nothing(where: str, folder: Path) -> None:
    """Planted bugs: a line that waits for a reader; one that fails and ends the process."""
    port = free_ports()
    words = ("serve", "--models", folder, "--port", port)
    with outlet(where) as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "askew_server", *map(str, words)),
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            async with GrpcTransport(f"127.0.0.1:{port}", PATIENCE) as network:
                await healthy(network, process)
                for _ in range(3):
                    process.send_signal(signal.SIGHUP)  # lines for nobody
                    assert await network.call("GetModelCard", b"")
        finally:
            process.terminate()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


def free_ports() -> int:
    """The first of two ports that are free, where no connection that goes out takes one meanwhile:
    below Linux's range. The server cannot say which it chose.
    """
    for first in range(20_000 + os.getpid() % 5_000 * 2, 32_768, 2):
        with suppress(OSError), ExitStack() as tried:
            for port in (first, first + 1):
                tried.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError("no two ports that follow each other are free")


async def healthy(network: GrpcTransport, process: Process) -> None:
    """Wait until a server that is starting serves."""
    async with asyncio.timeout(PATIENCE):
        while True:
            assert process.returncode is None
            with suppress(Unreachable):
                return await network.check_health()
            await asyncio.sleep(0.05)


@contextmanager
def outlet(kind: str) -> Iterator[int]:
    """Where nothing can be written."""
    if kind == "a full disk":
        with Path("/dev/full").open("wb") as full:
            yield full.fileno()
        return
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe, os.fdopen(reading, "rb") as end:
        if kind == "a closed pipe":
            end.close()
        else:
            os.set_blocking(writing, False)
            with suppress(BlockingIOError):
                while os.write(writing, bytes(4096)):
                    pass
            os.set_blocking(writing, True)
        yield pipe.fileno()


@pytest.mark.slow
async def test_a_server_that_stops_and_starts_again_loses_no_question(
    folder: Path, model: ItemModel
) -> None:
    """Planted bugs: the device sends nothing again, or for .7 s alone; a hangup ends a server."""
    first = await Server.started("--models", folder, "--port", 0)
    async with AsyncExitStack() as stack:
        devices = await stack.enter_async_context(asking(first.port, model))
        coming = folder / text_of_date(catalog_date_of(today()) + PERIOD)
        coming.mkdir()
        first.process.send_signal(signal.SIGHUP)
        await first.says("is not taken")
        await devices.get()
        coming.rmdir()
        assert await first.stop() == 0
        second = await Server.started("--models", folder, "--port", first.port)
        stack.push_async_callback(second.stop)
        await devices.get()
        await devices.stop()
