"""A port held for several processes: they listen on it together, and nobody else does."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

import pytest

from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.settings import ServerConfig
from askew_server.serving.supervisor import ReservedPort, Several, main

HERE = "127.0.0.1"


@pytest.fixture
def reserved() -> Iterator[ReservedPort]:
    port = ReservedPort(HERE, 0)
    yield port
    port.close()


def config(port: ReservedPort, *, shared: bool) -> ServerConfig:
    return ServerConfig(port=port.number, reuse_port=shared)


async def test_processes_that_share_listen_on_it_together(reserved: ReservedPort) -> None:
    servers = [RunningServer([], config(reserved, shared=True)) for _ in range(3)]
    assert {each.port for each in servers} == {reserved.number}
    for server in servers:
        await server.start()
        await server.stop(0)


@pytest.mark.parametrize("listening", [False, True], ids=["before", "while they listen"])
async def test_a_server_of_its_own_is_refused(reserved: ReservedPort, *, listening: bool) -> None:
    """Planted bug: a port that is held by sharing alone, which anybody may share."""
    ours = [RunningServer([], config(reserved, shared=True))] if listening else []
    for server in ours:
        await server.start()
    with pytest.raises(OSError, match="the port is taken by another program"):
        RunningServer([], config(reserved, shared=False))
    for server in ours:
        await server.stop(0)


def test_another_who_wants_to_hold_it_is_refused(reserved: ReservedPort) -> None:
    """Planted bug: two servers of several processes, each with half of the connections."""
    with pytest.raises(OSError, match="in use") as refusal:
        ReservedPort(HERE, reserved.number)
    assert refusal.value.errno == errno.EADDRINUSE


def test_a_second_server_of_several_processes_says_so_in_a_line(
    reserved: ReservedPort, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Several(HERE, reserved.number, HERE, 0, 2, 5.0, command=[])
    assert main(asked.words()) == 1
    why = "the port is taken by another program; --port names another"
    line = f"askew-server: cannot listen on {HERE}:{reserved.number}: {why}\n"
    assert capsys.readouterr() == ("", line)


def test_ports_of_numbers_are_held_too(
    reserved: ReservedPort, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted bug: two servers of several processes tell their numbers on one port, by turns."""
    asked = Several(HERE, 0, HERE, reserved.number - 1, 2, 5.0, command=[])
    assert main(asked.words()) == 1
    why = "the port is taken by another program; --metrics-port names another"
    line = f"askew-server: cannot listen on {HERE}:{reserved.number}: {why}\n"
    assert capsys.readouterr() == ("", line)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "no..host"])
async def test_a_host_that_is_none_is_named_with_the_reason(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With several processes and with one. Planted bug: a traceback for what is no name at all."""
    asked = Several(host, 0, HERE, 0, 2, 5.0, command=[])
    assert main(asked.words()) == 1
    assert capsys.readouterr().err.endswith(": this machine knows no such host\n")
    with pytest.raises(OSError, match="this machine knows no such host"):
        RunningServer([], ServerConfig(host=host, plain_text=True))


def test_a_port_that_is_taken_is_refused() -> None:
    with (
        socket.create_server((HERE, 0), reuse_port=True) as taken,
        pytest.raises(OSError, match="in use"),
    ):
        ReservedPort(HERE, taken.getsockname()[1])


def test_nobody_is_connected_to_what_only_holds_it(reserved: ReservedPort) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HERE, reserved.number))


def test_connections_on_their_way_out_do_not_keep_it() -> None:
    """Planted bug: a server that cannot start for a minute after it stopped."""
    with socket.create_server((HERE, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((HERE, port)) as caller:
            server.accept()[0].close()  # who closes first waits
            assert caller.recv(1) == b""
    ReservedPort(HERE, port).close()
