"""Who keeps the error of a failed call keeps no connection: gRPC would connect again and again for
as long as a call or its channel is alive, and a traceback holds the frames that hold these.

A server closes whatever connects, and counts. gRPC's pause between two connections is .1 s here, so
that an error which holds a call is heard some ten times in a second, and fifty times in five.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event

import pytest
from client.conftest import Pair
from client.hostile_world import Call, Fetch, World

from askew.errors import AskewError, ConnectionOpen, TooSlow, Unreachable
from askew.spaces.map import Position
from askew_client import BlockingClient
from askew_client.opening import Device, open_device
from askew_client.settings.settings import ClientSettings
from askew_client.storage.guard import Guard
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_client.tui.app import AskewApp
from askew_client.views.problems import Problem

BERLIN = Position(52.52, 13.405)
SETTINGS = ClientSettings(region="DE", timeout=5.0)
SOON, LATER = 1.0, 5.0  # seconds; the shorter one is of the transport and the app alone
PAUSE = 100  # milliseconds between two connections of gRPC


def no_files(fetch: Fetch) -> None:
    fetch.hear()
    fetch.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def server(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """One that closes every connection, and a client that gRPC lets connect often and that gives up
    soon.
    """
    often = [
        (name, PAUSE if name.endswith("_reconnect_backoff_ms") else value)
        for name, value in grpc_transport._OPTIONS
    ]
    monkeypatch.setattr(grpc_transport, "_OPTIONS", often)
    monkeypatch.setattr(grpc_transport, "PATIENCE", 0.0)
    monkeypatch.setattr(grpc_transport, "NOBODY", 0.0)
    world = World(pair, call=lambda _: None, fetch=no_files)
    with world.running():
        yield world


@pytest.fixture
def left(server: World) -> Event:
    """Of a server that holds every connection open and says nothing: set when it is left."""
    event = Event()

    def silent(call: Call) -> None:
        call.gone()
        event.set()

    server.call = silent
    return event


async def kept(asked: Awaitable[object]) -> BaseException:
    try:
        await asked
    except (AskewError, TimeoutError) as error:
        return error
    pytest.fail("it was answered")


async def nothing_more_is_heard(server: World, seconds: float) -> None:
    """No connection is made from now on. Planted bug: an error with the frames of its exchange."""
    before = server.connections
    assert before >= 1
    await asyncio.sleep(seconds)
    assert server.connections == before


async def by_transport(address: str, _: Path) -> object:
    return await GrpcTransport(address, 5.0).call("Retrieve", b"")


async def by_blocking_client(address: str, directory: Path) -> object:
    def ask() -> object:
        with BlockingClient(SETTINGS, server=address, directory=directory) as client:
            return client.near("clinics", BERLIN)

    return await asyncio.to_thread(ask)


@pytest.mark.parametrize(
    ("way", "seconds"),
    [
        (by_transport, SOON),
        *(
            pytest.param(way, LATER, marks=pytest.mark.audit)
            for way in (by_transport, by_blocking_client)
        ),
    ],
)
async def test_an_error_that_is_kept_keeps_no_connection(
    server: World, tmp_path: Path, way: Callable[[str, Path], Awaitable[object]], seconds: float
) -> None:
    error = await kept(way(server.address, tmp_path))
    assert isinstance(error, Unreachable)
    await nothing_more_is_heard(server, seconds)
    assert error.__traceback__ is not None


async def test_a_cancellation_that_is_kept_keeps_no_connection(server: World, left: Event) -> None:
    """A TimeoutError of the caller's holds the cancellation, and this the frames that it crossed.
    Planted bug: errors of gRPC alone lose their frames.
    """
    error = await kept(asyncio.wait_for(by_transport(server.address, Path()), 0.3))
    assert (left.wait(SOON), server.connections) == (True, 1)
    assert isinstance(error.__cause__, asyncio.CancelledError)


async def test_a_deadline_that_passed_keeps_no_connection(server: World, left: Event) -> None:
    error = await kept(GrpcTransport(server.address, 0.3).call("Retrieve", b""))
    assert (left.wait(SOON), server.connections) == (True, 1)
    assert isinstance(error, TooSlow)


async def test_a_connection_of_the_program_around_to_the_same_port_elsewhere_stays(
    server: World, left: Event
) -> None:
    """It is opened while a call is under way, and the call then fails. Planted bug: whatever leads
    to the server's port, such as 443, is shut.
    """
    port = int(server.address.rpartition(":")[2])
    with socket.create_server(("127.0.0.2", port)) as elsewhere:
        asked = asyncio.create_task(kept(GrpcTransport(server.address, 0.3).call("M", b"")))
        await asyncio.sleep(0)
        with socket.create_connection(("127.0.0.2", port)) as own, elsewhere.accept()[0] as theirs:
            assert isinstance(await asked, TooSlow)
            theirs.sendall(b"still here")
            assert own.recv(99) == b"still here"
    assert (left.wait(SOON), server.connections) == (True, 1)


def _is_at_work(app: AskewApp) -> bool:
    return any(not each.is_finished and each.group != "live" for each in app.workers)


@pytest.mark.parametrize("seconds", [SOON, pytest.param(LATER, marks=pytest.mark.audit)])
async def test_the_app_says_that_nobody_answers_and_connects_no_more(
    server: World, tmp_path: Path, seconds: float
) -> None:
    """No key is pressed. The app shows the error for as long as it runs."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Device]:
        async with open_device(SETTINGS, server=server.address, directory=tmp_path) as device:
            yield device

    app = AskewApp(opening)
    async with app.run_test() as pilot:
        while not isinstance(app.connection, Problem) or _is_at_work(app):
            await pilot.pause(0.01)
        await nothing_more_is_heard(server, seconds)


async def test_private_work_waits_until_what_may_connect_is_gone(server: World) -> None:
    """Planted bug: a channel counts as closed when it was told to close."""
    guard = Guard()
    transport = GrpcTransport(server.address, 5.0, alive=guard.alive)
    async with transport:
        channel = transport.channel
        error = await kept(transport.call("Retrieve", b""))
    with pytest.raises(ConnectionOpen), guard.private():
        pass
    del channel
    with guard.private():
        assert isinstance(error, Unreachable)
