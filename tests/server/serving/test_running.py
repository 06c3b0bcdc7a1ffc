"""A server as a process: before its first call, on signals, and the memory that it gives back."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from askew.catalog.catalog_file import PERIOD, catalog_date_of
from askew.errors import ParameterError
from askew_server.serving import grpc_server, process
from askew_server.serving.grpc_server import RunningServer
from askew_server.serving.process import serve
from askew_server.serving.settings import Metrics, ServerConfig
from askew_server.taste.model.mondays import text_of_date, today

Run = Callable[..., int]
PATIENCE = 30  # seconds; only ever waited for by a server that does not do what it should


@pytest.fixture
def thawed() -> Iterator[None]:
    """Nothing stays frozen, before or after."""
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.usefixtures("thawed")
async def test_what_was_read_is_frozen_before_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: a collection that looks through a million items while calls wait."""
    frozen, start = list[int](), RunningServer.start

    async def noted(server: RunningServer) -> None:
        frozen.append(gc.get_freeze_count())
        await start(server)

    monkeypatch.setattr(RunningServer, "start", noted)

    def stop(*_: int | None) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    await serve([], ServerConfig(), stop)
    assert frozen[0] > 1000


@pytest.mark.slow
@pytest.mark.usefixtures("thawed")
async def test_a_hangup_wakes_what_runs_beside() -> None:
    """Planted bug: models that are looked at in their own time alone."""

    async def beside(wake: asyncio.Event) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        await wake.wait()
        os.kill(os.getpid(), signal.SIGTERM)

    serving = serve([], ServerConfig(), lambda *_: None, beside=beside)
    await asyncio.wait_for(serving, PATIENCE)


@pytest.mark.slow
@pytest.mark.usefixtures("thawed")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
async def test_no_signal_to_another_part_of_a_server_ends_it(number: signal.Signals) -> None:
    """A hangup where there is nothing to read again, as for releases; the parent's signal, sent to
    every process of a service. Without a handler, this test ends too.
    """

    def stop(*_: int | None) -> None:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGTERM)

    await serve([], ServerConfig(), stop)


def test_one_of_several_shares_the_port_and_has_numbers_of_its_own() -> None:
    """Planted bug: the second one's port of numbers is taken by the first."""
    several = ServerConfig(port=7571, processes=4, metrics=Metrics(port=9100))
    found = [several.as_child(number) for number in range(4)]
    assert {(each.port, each.processes, each.reuse_port) for each in found} == {(7571, 1, True)}
    assert [each.metrics.port for each in found] == [9100, 9101, 9102, 9103]
    for port in (0, None):
        assert ServerConfig(metrics=Metrics(port=port)).as_child(3).metrics.port == port
    with pytest.raises(ParameterError, match="at most 65532, with 4 processes"):
        replace(several, metrics=Metrics(port=65533))


@pytest.fixture
def _not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is read, and nothing is served."""

    async def pretend(*_: object, **__: object) -> None:
        return

    monkeypatch.setattr(process, "serve", pretend)


@pytest.mark.usefixtures("_not_served")
def test_a_folder_without_a_model_in_force_is_an_error(
    run: Run, directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted bug: a model to come is served alone, and every device is refused."""
    now, coming = (text_of_date(catalog_date_of(today()) + each) for each in (0, PERIOD))
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("another", coming):
        (folder / name).symlink_to(directory)
        assert run("serve", "--models", folder) == 1
        assert capsys.readouterr().err == (
            f"askew-server: {folder} holds no model that is in force: name one by a Monday that "
            f"has come, such as {now}\n"
        )
    (folder / now).symlink_to(directory)
    assert run("serve", "--models", folder) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_not_served")
def test_a_name_of_another_day_is_an_error(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "2026-11-24").mkdir()
    assert run("serve", "--models", tmp_path) != 0
    assert "a Monday: that is when devices look" in capsys.readouterr().err


PATIENCE = 20  # seconds; only ever waited for by a server that does not do what it should


async def test_a_running_server_gives_memory_back_and_a_stopped_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: nobody asks the allocator."""
    asked = asyncio.Semaphore(0)
    loop = asyncio.get_running_loop()

    def trim(kept: int) -> None:
        assert kept == 0
        loop.call_soon_threadsafe(asked.release)

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=trim))
    monkeypatch.setattr(grpc_server, "give_back", partial(grpc_server.give_back, 0))
    server = RunningServer([], ServerConfig())
    await server.start()
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            await asked.acquire()
    await server.stop(0)
    assert not [task for task in asyncio.all_tasks() if "give_back" in str(task)]


async def test_an_allocator_without_the_call_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    await asyncio.wait_for(grpc_server.give_back(), PATIENCE)


def test_what_reading_a_model_freed_is_given_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=asked.append))
    grpc_server.give_back_now()
    assert asked == [0]
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    grpc_server.give_back_now()
