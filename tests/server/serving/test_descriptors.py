"""How many connections a server takes, and that one address does not take them all."""

from __future__ import annotations

import asyncio
import io
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import pytest

from askew.catalog.calendar import FIRST
from askew.catalog.catalog_file import Part
from askew.errors import Unreachable
from askew.wire.v1 import retrieval_pb2 as pb
from askew_client.transport import grpc as grpc_transport
from askew_client.transport.grpc import GrpcTransport
from askew_server.serving import limits
from askew_server.serving.call import Answer
from askew_server.serving.event_log import EventLog
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.observer import Observer
from askew_server.serving.settings import Limits, Log, ServerConfig

PATIENCE = 20.0  # seconds; only ever waited for by a server that does not do what it should
CROWD = "127.0.0.9"
BEGINNING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
MOST = 24


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine looks at its connections late."""
    for each in ("PATIENCE", "NOBODY"):
        monkeypatch.setattr(grpc_transport, each, PATIENCE)
    monkeypatch.setattr(grpc_transport, "_PAUSES", 40)


class Pieces:
    """A service that lets devices hold one piece, and nothing else."""

    name = pb.DESCRIPTOR.services_by_name["Retrieval"].full_name

    @property
    def methods(self) -> Mapping[str, Answer]:
        piece = pb.GetCatalogFileResponse(data=b"a piece").SerializeToString()
        return {"GetCatalogFile": lambda _, __: piece}


@asynccontextmanager
async def serving(told: io.StringIO, **settings: object) -> AsyncIterator[int]:
    """A server of a few connections, and its port."""
    config = ServerConfig(limits=Limits(connections=MOST), **settings)  # type: ignore[arg-type]
    server = RunningServer([Pieces()], config, Observer(EventLog(told, Log())))
    await server.start()
    try:
        yield server.port
    finally:
        await server.stop(grace=0)


@contextmanager
def crowd(port: int, size: int, address: str = CROWD) -> Iterator[list[socket.socket]]:
    """Connections of one address that have begun to speak, and say nothing more."""
    begun = [
        socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(address, 0))
        for _ in range(size)
    ]
    try:
        for each in begun:
            each.sendall(BEGINNING)
        yield begun
    finally:
        for each in begun:
            each.close()


def heard(connection: socket.socket) -> bool:
    """Whether a server speaks on a connection; else it has closed it. Raises TimeoutError where it
    does neither.
    """
    try:
        return bool(connection.recv(1))
    except ConnectionError:
        return False


def ends(connection: socket.socket) -> bool:
    """Whether a server has closed a connection on which it spoke."""
    connection.setblocking(False)
    try:
        while connection.recv(1000):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


async def piece_of(port: int) -> bytes:
    async with GrpcTransport(f"127.0.0.1:{port}", PATIENCE) as network:
        return await network.piece(FIRST, Part.WHOLE, 0)


async def test_one_address_with_all_connections_does_not_shut_others_out() -> None:
    """Planted bug: no look at whose connections they are."""
    told = io.StringIO()
    async with serving(told) as port:
        with crowd(port, MOST) as begun:
            assert await asyncio.to_thread(lambda: sum(map(heard, begun))) > MOST // 2
            assert await piece_of(port) == b"a piece"
    (line,) = told.getvalue().splitlines()
    assert re.search(r"WARNING connections_closed count=\d+$", line)


@pytest.mark.parametrize("proxies", [("127.0.0.0/8",), ()])
async def test_a_proxy_keeps_all_of_its_connections(
    proxies: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who is no proxy is cut to a share: then what is left of it is another's."""
    if proxies:
        monkeypatch.setattr(grpc_transport, "NOBODY", 3 * limits._EVERY)
    async with serving(io.StringIO(), proxies=proxies) as port:
        with crowd(port, MOST) as begun:
            await asyncio.to_thread(lambda: [*map(heard, begun)])
            if not proxies:
                assert await piece_of(port) == b"a piece"
                return
            with pytest.raises(Unreachable):
                await piece_of(port)


async def test_who_has_a_call_under_way_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the longest silent, which is who waits for a long answer."""
    monkeypatch.setattr(limits, "_EVERY", 3600.0)
    async with serving(io.StringIO()) as port:
        with crowd(port, MOST) as begun:
            await asyncio.to_thread(lambda: [*map(heard, begun)])
            busy = {f"ipv4:{CROWD}:{each.getsockname()[1]}" for each in begun[:5]}
            shares = limits.Shares(port, MOST, set, lambda _: False)
            closed = await asyncio.to_thread(shares.enforce, busy)
            assert closed == MOST - len(busy)
            ended = await asyncio.to_thread(lambda: [ends(each) for each in begun])
            assert ended == [each not in begun[:5] for each in begun]


# -- descriptors -----------------------------------------------------------------------------------

WITHIN = """
import resource, sys
from askew_server.serving.limits import connections_within
print(connections_within(2000), resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 2000)
"""


def limited(soft: int, hard: int, *words: str) -> subprocess.Popen[str]:
    """A program that the system allows so many open files."""
    command = (sys.executable, *words)
    return subprocess.Popen(
        ["sh", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("soft", "hard", "said"),
    [(64, 4096, "2000 True"), (4096, 4096, "2000 True"), (300, 300, r"1\d\d False")],
)
def test_the_limit_of_open_files_is_raised_or_connections_are_fewer(
    soft: int, hard: int, said: str
) -> None:
    out, err = limited(soft, hard, "-c", WITHIN).communicate(timeout=PATIENCE)
    assert re.fullmatch(said, out.strip()), err


def test_too_few_open_files_are_one_line() -> None:
    words = ("-m", "askew_server", "serve", "--demo", "--port", "0")
    process = limited(64, 64, *words)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "askew-server: the limit of open files is too low: it must be" in err


def test_no_caller_waits_where_open_files_run_out() -> None:
    """Each is answered or turned away at once. Planted bug: gRPC's limit beyond the system's, so
    that whoever comes last waits for as long as it likes.
    """
    process = limited(256, 256, "-m", "askew_server", "serve", "--demo", "--port", "0")
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        port = int(line.split(":")[1].split(",")[0])
        lowered = re.search(r"connections_limited count=(\d+)", process.stderr.readline())
        assert lowered
        with crowd(port, 300, "127.0.0.1") as begun:
            answered = sum(map(heard, begun))
        assert answered <= int(lowered[1])
        assert answered > int(lowered[1]) // 2
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
