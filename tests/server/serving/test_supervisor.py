"""Several processes on one reserved port, and the program that starts, replaces and stops them."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from askew_server.serving import http_sockets, supervisor
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.settings import Http, ServerConfig, second_ports
from askew_server.serving.supervisor import (
    ReservedPort,
    Several,
    Supervisor,
    main,
    pause_after,
)

_Value = TypeVar("_Value")
PATIENCE = 20  # seconds; only ever waited for by what does not do what it should
PLAYED = """
import os, signal, socket, sys
number, folder = os.environ["ASKEW_PROCESS"], sys.argv[1]
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.connect(folder + "/told")
def tell(what):
    told.send(f"{what} {number} {os.getpid()}".encode())
def end(*_):
    tell("ends")
    os._exit(0)
def reload(*_):
    tell("reloads")
signal.signal(signal.SIGTERM, signal.SIG_IGN if os.path.exists(folder + "/stubborn") else end)
signal.signal(signal.SIGHUP, reload)
if os.path.exists(folder + "/broken"):
    tell("fails")
    sys.exit(7)
if os.path.exists(folder + "/gate" + number):
    tell("waits")
    open(folder + "/gate" + number).read()
tell("answers")
print("process", number, "answers", flush=True)
signal.signal(signal.SIGALRM, lambda *_: os.write(1, b"\\n"))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)  # a sign of life
sys.stdin.read()
end()
"""


class Stage:
    """A supervisor of played processes, and what it and they say."""

    def __init__(self, folder: Path, processes: int, grace: float = PATIENCE) -> None:
        self.folder = folder
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.announced: asyncio.Queue[str] = asyncio.Queue()
        self.stop = asyncio.Event()
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._told.setblocking(False)
        self._told.bind(str(folder / "told"))

        command = [sys.executable, "-I", "-S", "-c", PLAYED, str(folder)]
        sync = Supervisor(command, processes, grace, self.said.put_nowait, lambda _: 0.0)
        self.running = asyncio.create_task(sync.run(self.announced.put_nowait, self.stop))

    async def told(self) -> tuple[str, int, int]:
        """What the next process says, its number and its id."""
        loop = asyncio.get_running_loop()
        what, number, pid = (await within(loop.sock_recv(self._told, 100))).decode().split()
        return what, int(number), int(pid)

    async def tellings(self, n: int) -> list[tuple[str, int]]:
        """The next n, without ids."""
        return [(await self.told())[:2] for _ in range(n)]

    async def started(self, n: int) -> list[int]:
        """The ids of processes that answer."""
        found = [await self.told() for _ in range(n)]
        assert {each[0] for each in found} == {"answers"}
        return [pid for *_, pid in sorted(found, key=lambda each: each[1])]

    async def close(self) -> int:
        self.stop.set()
        try:
            return await within(self.running)
        finally:
            self._told.close()


async def within(waiting: Awaitable[_Value]) -> _Value:
    return await asyncio.wait_for(waiting, PATIENCE)


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a name that is short enough for a socket's."""
    return tmp_path_factory.mktemp("s")


@asynccontextmanager
async def stage(folder: Path, processes: int = 2, grace: float = PATIENCE) -> AsyncIterator[Stage]:
    played = Stage(folder, processes, grace)
    try:
        yield played
    finally:
        await played.close()


async def test_one_that_shows_no_sign_of_life_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a process that stands still is one that lives."""
    monkeypatch.setattr(supervisor, "BEAT", 0.5)
    async with stage(folder) as play:
        first, second = await play.started(2)
        os.kill(first, signal.SIGSTOP)
        (new,) = await play.started(1)
        assert new not in {first, second}
        line = await within(play.said.get())
        assert line == "process 0 does not answer and is started again"
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)


async def test_it_is_said_once_and_only_when_all_answer(folder: Path) -> None:
    """Planted bug: said when the first answers, or when all were started."""
    os.mkfifo(folder / "gate2")
    async with stage(folder, 3) as play:
        found = await play.tellings(3)
        assert sorted(found) == [("answers", 0), ("answers", 1), ("waits", 2)]
        assert found[0] == ("answers", 0)
        with pytest.raises(asyncio.QueueEmpty):
            play.announced.get_nowait()
        await asyncio.to_thread((folder / "gate2").write_text, "go on")
        assert await play.tellings(1) == [("answers", 2)]
        assert await within(play.announced.get()) == "process 0 answers"
    assert play.announced.empty()
    assert play.said.empty()


async def test_all_stop_in_order_and_the_code_is_0(folder: Path) -> None:
    async with stage(folder) as play:
        await play.started(2)
        await within(play.announced.get())
        play.stop.set()
        assert sorted(await play.tellings(2)) == [("ends", 0), ("ends", 1)]
        assert await within(play.running) == 0


async def test_one_that_does_not_stop_is_killed_when_its_time_is_over(folder: Path) -> None:
    (folder / "stubborn").touch()
    async with stage(folder, 1, grace=0.1) as play:
        [pid] = await play.started(1)
        await within(play.announced.get())
        assert await play.close() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_one_that_dies_is_started_again_and_the_other_is_let_be(folder: Path) -> None:
    async with stage(folder) as play:
        pids = await play.started(2)
        await within(play.announced.get())
        os.kill(pids[1], signal.SIGKILL)
        assert await within(play.said.get()) == "process 1 ended with -9 and is started again"
        assert await play.tellings(1) == [("answers", 1)]
        assert await within(play.said.get()) == "process 1 answers again"
        os.kill(pids[0], 0)


async def test_processes_are_replaced_one_by_one_when_the_next_answers(folder: Path) -> None:
    """Planted bug: the old one stops before the new one answers."""
    async with stage(folder) as play:
        await play.started(2)
        await within(play.announced.get())
        os.kill(os.getpid(), signal.SIGUSR1)
        assert await play.tellings(4) == [("answers", 0), ("ends", 0), ("answers", 1), ("ends", 1)]
        assert await within(play.said.get()) == "every process was replaced"
    assert play.announced.empty()


async def test_where_the_next_does_not_start_the_old_ones_stay(folder: Path) -> None:
    async with stage(folder) as play:
        pids = await play.started(2)
        await within(play.announced.get())
        (folder / "broken").touch()
        os.kill(os.getpid(), signal.SIGUSR1)
        assert await play.tellings(1) == [("fails", 0)]
        line = "no more processes are replaced: it ended with 7 before it answered"
        assert await within(play.said.get()) == line
        for pid in pids:
            os.kill(pid, 0)
        assert not play.running.done()


async def test_where_the_next_never_answers_it_is_killed_and_the_old_one_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: it is waited for without end, and the old one is not started again when it dies
    meanwhile.
    """
    async with stage(folder, 1) as play:
        (old,) = await play.started(1)
        await within(play.announced.get())
        monkeypatch.setattr(supervisor, "_START", 0.2)
        os.mkfifo(folder / "gate0")
        os.kill(os.getpid(), signal.SIGUSR1)
        why = "it ended with -9 before it answered"
        assert await within(play.said.get()) == f"no more processes are replaced: {why}"
        (folder / "gate0").unlink()
        monkeypatch.setattr(supervisor, "_START", PATIENCE)
        os.kill(old, signal.SIGKILL)
        assert await within(play.said.get()) == "process 0 ended with -9 and is started again"
        assert await within(play.said.get()) == "process 0 answers again"


async def test_a_hangup_goes_on_to_all(folder: Path) -> None:
    async with stage(folder) as play:
        await play.started(2)
        await within(play.announced.get())
        os.kill(os.getpid(), signal.SIGHUP)
        assert sorted(await play.tellings(2)) == [("reloads", 0), ("reloads", 1)]


async def test_a_first_one_that_does_not_start_ends_all_with_its_code(folder: Path) -> None:
    """Planted bug: it is tried for ever; or all say the same, one after the other."""
    (folder / "broken").touch()
    async with stage(folder, 3) as play:
        assert await within(play.running) == 7
        assert await play.tellings(1) == [("fails", 0)]
    assert play.announced.empty()


async def test_where_nothing_answers_any_more_it_gives_up(folder: Path) -> None:
    async with stage(folder) as play:
        pids = await play.started(2)
        await within(play.announced.get())
        (folder / "broken").touch()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert await within(play.running) == 7


async def test_while_another_answers_one_that_does_not_start_is_tried_on(folder: Path) -> None:
    async with stage(folder) as play:
        pids = await play.started(2)
        await within(play.announced.get())
        (folder / "broken").touch()
        os.kill(pids[0], signal.SIGKILL)
        assert await play.tellings(12) == [("fails", 0)] * 12
        (folder / "broken").unlink()
        while (found := await play.told())[0] == "fails":
            pass
        assert found[:2] == ("answers", 0)
        os.kill(pids[1], 0)
        assert not play.running.done()


def test_the_pauses_before_another_start_grow_to_half_a_minute() -> None:
    assert [pause_after(n) for n in range(9)] == [0, 0.5, 1, 2, 4, 8, 16, 30, 30]


PARENT = """
import asyncio, sys
from askew_server.serving.supervisor import Supervisor
played, folder = sys.argv[1:]
command = [sys.executable, "-I", "-S", "-c", played, folder]
def announce(line):
    print(line, flush=True)
asyncio.run(Supervisor(command, 2, 5.0, print).run(announce, asyncio.Event()))
"""


def test_no_process_outlives_a_parent_that_was_killed(folder: Path) -> None:
    """Planted bug: a process that only a signal of its parent would stop."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.settimeout(PATIENCE)
        told.bind(str(folder / "told"))
        command = [sys.executable, "-c", PARENT, PLAYED, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            assert parent.stdout.readline() == "process 0 answers\n"
            parent.kill()
        found = [told.recv(100).decode().rpartition(" ")[0] for _ in range(4)]
    assert found[0] == "answers 0"
    assert sorted(found[2:]) == ["ends 0", "ends 1"]


def test_what_keeps_the_processes_brings_nothing_that_answers() -> None:
    """Planted bug: an import of a configuration that brings gRPC or numpy."""
    code = "import sys, askew_server.serving.supervisor; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"grpc", "numpy", "google.protobuf", "click"} & set(run.stdout.split())


HERE = "127.0.0.1"


def commands_of(asked: Several, monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """What is executed: the program itself, and one of its processes."""
    found: list[Sequence[str]] = []

    class Supervisor:
        def __init__(self, command: Sequence[str], *_: object) -> None:
            found.append(command)

        async def run(self, *_: object) -> int:
            return 0

    monkeypatch.setattr(os, "execv", lambda _, words: found.append(words))
    monkeypatch.setattr(supervisor, "Supervisor", Supervisor)
    asked.become()
    asyncio.run(asked.run(["--port=1"]))
    return found


def test_no_code_of_the_working_directory_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with one process. Planted bug: `python -m` alone, which looks there first."""
    for name in ("asyncio", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('executed')")
    asked = Several("no-such-host.invalid", 0, False, HERE, 0, 2, 5.0, command=["serve", "--help"])
    for command in commands_of(asked, monkeypatch):
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "executed" not in run.stderr
        assert "askew-server" in run.stdout + run.stderr  # it got where it says something


def test_a_log_that_cannot_be_written_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: with a full disk, the end of one process is the end of all."""

    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    supervisor._say("process 0 ended with -9 and is started again")


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
    asked = Several(HERE, reserved.number, False, HERE, 0, 2, 5.0, command=[])
    assert main(asked.words()) == 1
    why = "the port is taken by another program; --port names another"
    line = f"askew-server: cannot listen on {HERE}:{reserved.number}: {why}\n"
    assert capsys.readouterr() == ("", line)


def test_ports_of_numbers_are_held_too(
    reserved: ReservedPort, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted bug: two servers of several processes tell their numbers on one port, by turns."""
    asked = Several(HERE, 0, False, HERE, reserved.number - 1, 2, 5.0, command=[])
    assert main(asked.words()) == 1
    why = "the port is taken by another program; --metrics-port names another"
    line = f"askew-server: cannot listen on {HERE}:{reserved.number}: {why}\n"
    assert capsys.readouterr() == ("", line)


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """To who listens on any port, one alone is given, and the port before it is taken."""
    with ExitStack() as held:
        for number in second_ports(0):
            try:
                given = held.enter_context(socket.create_server((HERE, number)))
                held.enter_context(socket.create_server((HERE, given.getsockname()[1] - 1)))
            except OSError:
                continue
            break
        alone = given.getsockname()[1]
        given.close()
        bound, reserved = http_sockets.bound_socket, supervisor._reserved
        monkeypatch.setattr(
            http_sockets,
            "bound_socket",
            lambda host, port, *, shared: bound(host, port or alone, shared=shared),
        )
        monkeypatch.setattr(
            supervisor, "_reserved", lambda host, port, name: reserved(host, port or alone, name)
        )
        yield


@pytest.mark.usefixtures("crowded")
async def test_a_pair_is_found_where_connections_that_go_out_fill_every_other_port() -> None:
    """With one process and with several. Planted bug: only ports that the kernel gives are tried,
    so that no server starts on any port beside a load generator.
    """
    server = RunningServer([], ServerConfig(http=Http()))
    await server.start()
    assert server.http is not None
    assert server.http.port == server.port + 1 < 32_768
    await server.stop(0)
    with ExitStack() as held:
        [option] = Several(HERE, 0, True, HERE, 0, 2, 5.0, command=[]).reserve(held)
        port = int(option.removeprefix("--port="))
        for each in (port, port + 1):
            with pytest.raises(OSError, match="in use"):
                ReservedPort(HERE, each)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "no..host"])
async def test_a_host_that_is_none_is_named_with_the_reason(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With several processes and with one. Planted bug: a traceback for what is no name at all."""
    asked = Several(host, 0, False, HERE, 0, 2, 5.0, command=[])
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
