"""Servers that stop and start again while devices ask: no question is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest
from end_to_end.recorder import two_listeners
from end_to_end.server_process import PATIENCE, Server, served
from typed_calls import retrieve

from askew.catalog.catalog_file import PERIOD, catalog_date_of
from askew.errors import Unreachable
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Query, Signal
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_server.demo.simulation import demo_model
from askew_server.folders import text_of_date, today
from askew_server.taste import artifact
from askew_server.taste.model import ItemModel

HERE = "127.0.0.1"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model() -> ItemModel:
    return demo_model()


@pytest.fixture
def folder(tmp_path: Path, model: ItemModel) -> Path:
    artifact.save(model, tmp_path / "models" / "2026-01-05")
    return tmp_path / "models"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine takes longer to start a server; and each device has connections of its own."""
    for name in ("PATIENCE", "NOBODY"):
        monkeypatch.setattr(grpc_transport, name, PATIENCE)
    monkeypatch.setattr(grpc_transport, "_PAUSES", 100)
    own = ("grpc.use_local_subchannel_pool", 1)
    monkeypatch.setattr(grpc_transport, "_OPTIONS", [*grpc_transport._OPTIONS, own])


@pytest.mark.parametrize("where", ["a pipe that nobody reads", "a closed pipe", "a full disk"])
async def test_output_that_goes_nowhere_ends_nothing(where: str, folder: Path) -> None:
    """Planted bugs: a line that waits for a reader; one that fails and ends the process."""
    listeners = two_listeners()  # nothing can be read of the server, not even where it listens
    port = listeners[0].getsockname()[1]
    for listener in listeners:
        listener.close()
    words = ("serve", "--models", folder, "--port", port)
    with outlet(where) as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "askew_server", *map(str, words)),
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            async with GrpcTransport(f"{HERE}:{port}", PATIENCE) as network:
                await healthy(network, process)
                for _ in range(3):
                    process.send_signal(signal.SIGHUP)  # lines for nobody
                    assert await network.call("GetModelCard", b"")
        finally:
            process.terminate()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


async def healthy(network: GrpcTransport, process: Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            assert process.returncode is None
            with suppress(Unreachable):
                return await network.check_health()
            await asyncio.sleep(0.05)


@contextmanager
def outlet(kind: str) -> Iterator[int]:
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


async def test_a_server_that_stops_and_starts_again_loses_no_question(
    folder: Path, model: ItemModel
) -> None:
    """Planted bugs: the device sends nothing again, or for .7 s alone; a hangup ends a server."""
    monday = catalog_date_of(today())
    zeros = (0,) * model.card.space.dimension
    signal_ = Signal(model.card.space.version, LatticeLaplace.for_epsilon(Fraction(4)), zeros)
    query, answers = Query(signal_, 4, catalog_date=monday), asyncio.Semaphore(0)
    words, servers = ("serve", "--models", folder), ExitStack()
    first = servers.enter_context(served(folder, *words))

    async def ask() -> None:
        while True:
            async with GrpcTransport(f"{HERE}:{first.port}", PATIENCE) as network:
                for _ in range(50):
                    slate = await retrieve(network, query, model.card)
                    assert len(slate.item_ids) == 4
                    answers.release()
                    await asyncio.sleep(0.01)  # at once, they keep servers from starting

    async def more_answers() -> None:
        for _ in range(40):
            await answers.acquire()

    async with asyncio.timeout(4 * PATIENCE), asyncio.TaskGroup() as group:
        devices = [group.create_task(ask()) for _ in range(2)]
        try:
            await more_answers()
            coming = folder / text_of_date(monday + PERIOD)
            coming.mkdir()
            first.process.send_signal(signal.SIGHUP)
            await asyncio.to_thread(first.says, "is not taken")
            await more_answers()
            coming.rmdir()
            await asyncio.to_thread(servers.close)
            again = served(folder, *words, port=first.port)
            await asyncio.to_thread(servers.enter_context, again)
            await more_answers()
        finally:
            for device in devices:
                device.cancel()
            await asyncio.wait(devices)
            servers.close()


async def begun(server: Server, size: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Begin a call by HTTP whose message is waited for."""
    reader, writer = await asyncio.open_connection(HERE, server.http)
    head = (
        "POST /askew.wire.v1.Retrieval/GetModelCard HTTP/1.1\r\nhost: x\r\n"
        f"content-type: application/proto\r\ncontent-length: {size}\r\nexpect: 100-continue\r\n\r\n"
    )
    writer.write(head.encode())
    async with asyncio.timeout(PATIENCE):
        assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def test_a_stop_finishes_calls_that_are_half_heard(tmp_path: Path) -> None:
    """Planted bug: a stop that cuts off who is half heard."""
    with served(tmp_path, "serve", "--demo") as server:
        async with GrpcTransport(f"{HERE}:{server.port}", PATIENCE) as network:
            card = await network.call("GetModelCard", b"")
        assert pb.GetModelCardResponse.FromString(card).n_items > 0
        unknown = b"\xfa\x06\x01x"  # a field that no card's question has
        calls = [await begun(server, len(unknown)) for _ in range(8)]
        server.process.terminate()
        await asyncio.to_thread(server.says, "stopping")
        async with asyncio.timeout(PATIENCE):
            for reader, writer in calls:
                writer.write(unknown)
                head, _, body = (await reader.read()).partition(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200 ")
                assert body == card
                writer.close()
            await asyncio.to_thread(server.process.wait)  # a second signal would kill it
        with pytest.raises(ConnectionError):
            await asyncio.open_connection(HERE, server.http)
