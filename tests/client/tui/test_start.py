"""How the app starts, with a real server, and looks at the calendar by itself."""

from __future__ import annotations

import asyncio
import datetime
import gc
import json
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from client.tui.person import DeviceWorld, Network, Person
from served_rows import ServedModel, rows_model
from textual.worker import WorkerState

from askew.catalog.catalog_file import catalog_date_of
from askew.errors import LedgerError, Unreachable
from askew_client.catalog.cache import date_of
from askew_client.device.titles import Titles
from askew_client.opening import Device, open_device
from askew_client.settings.settings import ClientSettings
from askew_client.transport.shaped import card_request
from askew_client.tui import app
from askew_client.tui.app import AskewApp
from askew_client.tui.simulation import simulated_device, simulated_model
from askew_client.views.answers import Refreshed
from askew_server.demo.simulation import demo_model

# Prints the modules that were loaded when the first screen was painted, and the time is not ours.
FIRST_PAINT = """
import asyncio, json, sys
from askew_client.cli.main import cli
from askew_client.tui import app as module

class Probe(module.AskewApp):
    def live(self):
        print(json.dumps(sorted(sys.modules)), file=sys.stderr)
        self.exit()

module.AskewApp = Probe
Probe.run = lambda self: asyncio.run(self.run_async(headless=True))
cli.main(["tui", "--demo"], standalone_mode=False)
"""


@pytest.mark.slow
def test_nothing_heavy_is_loaded_before_the_first_screen_stands() -> None:
    """Planted bug: numpy or gRPC at the top of a module of the app."""
    run = subprocess.run(
        [sys.executable, "-c", FIRST_PAINT], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(run.stderr))
    heavy = {"numpy", "scipy", "sklearn", "grpc", "google.protobuf", "sqlite3", "cryptography"}
    assert loaded & heavy == set()
    assert "askew_client.tui.screens.privacy" in loaded


def test_without_a_terminal_the_app_says_so_and_ends() -> None:
    """Planted bug: Textual waits for keys that never come, for ever."""
    run = subprocess.run(
        [sys.executable, "-m", "askew_client", "tui", "--demo"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=300,  # only ever waited for by the bug
    )
    assert run.returncode == 1
    assert run.stderr.startswith("askew: the app needs a terminal")


class Written(ServedModel):
    """Writes down its calls, and answers at once."""

    silent = False

    def taken(self) -> list[tuple[str, bytes]]:
        calls, self.calls = self.calls, []
        return calls


CARD = ("GetModelCard", card_request(catalog_date_of((datetime.date.today() - date_of(0)).days)))
HEADS = [("file", b"whole 0"), ("file", b"default 0")]


@pytest.mark.parametrize(
    ("has_files", "first", "again"),
    [
        (True, [("file", b"whole 0"), ("file", b"whole 48"), CARD], []),
        (False, [*HEADS, CARD], HEADS),
    ],
    ids=["a file for devices", "none"],
)
async def test_before_a_key_the_app_fetches_what_its_page_says_and_nothing_else(
    tmp_path: Path,
    has_files: bool,
    first: list[tuple[str, bytes]],
    again: list[tuple[str, bytes]],
) -> None:
    """docs/app.md, of a server of places: at the first start, at the next, and a quarter of an hour
    after each. Planted bug: a start that fetches again what is held.
    """
    model = rows_model()
    server = Written(model if has_files else replace(model, files={}))
    settings = ClientSettings(region="DE")
    for expected in (first, again):
        app = AskewApp(
            partial(open_device, settings, transport=cast("Any", server), directory=tmp_path)
        )
        async with app.run_test(size=(110, 40)) as pilot:
            person = Person(app, pilot, cast("Network", server))
            while app.connection is None:
                await pilot.pause()
            await person.settled()
            assert server.taken() == expected
            await app.refresh_held().wait()
            assert server.taken() == again


async def test_the_demo_has_a_person_a_catalog_and_an_answer_and_leaves_no_file(
    home: Path,
) -> None:
    async with simulated_device(ClientSettings(mode="ask")) as companion:
        connection = await companion.titles.connect()
        assert getattr(connection, "simulated", None) is True
        assert len(companion.profile.ratings()) == 10
        assert all(rated.known for rated in companion.profile.ratings())
        assert getattr(await companion.asker.ask(companion.titles), "simulated", None) is True
        assert len(companion.budget().lines) == 2  # home, and the question
    assert files_in(home) == []


def test_the_simulated_model_is_what_the_demo_server_serves() -> None:
    """`python -m benchmarks.write_demo_model` writes it again; digits may differ by machine."""
    card, catalog = simulated_model()
    served = demo_model()
    assert catalog.items == served.catalog.items
    assert catalog.shared_slate == served.catalog.shared_slate
    assert np.abs(catalog.vectors - served.catalog.vectors).max() < 1e-3
    assert card.source == served.card.source
    assert card.space.dimension == served.card.space.dimension


@pytest.mark.parametrize("error", [LedgerError("no ledger"), PermissionError(13, "no")])
async def test_files_that_cannot_be_opened_end_the_app_with_their_error(
    device: DeviceWorld, error: LedgerError | OSError
) -> None:
    """Planted bug: only our own errors are expected, and a directory that is closed is a crash."""

    def opening() -> object:
        raise error

    app = AskewApp(opening)  # type: ignore[arg-type]  # it never returns
    async with app.run_test() as pilot:
        while app.is_running and not any(w.state is WorkerState.SUCCESS for w in app.workers):
            await pilot.pause()
    assert app.return_value is error


async def test_the_app_asks_and_works_in_private_one_after_the_other(device: DeviceWorld) -> None:
    """Planted bugs: an edit that begins between a question and its moment; a question beside an
    edit, which the guard refuses: both are connections that a server hears missing.
    """
    order: list[str] = []
    loop = asyncio.get_running_loop()

    async def turns() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def asked() -> None:
        order.append("asks")
        await asyncio.to_thread(lambda: None)  # the thread of the other could begin
        order.append("asked")

    def private(_: Device) -> None:
        order.append("works")
        asyncio.run_coroutine_threadsafe(turns(), loop).result()  # the other could ask
        order.append("worked")

    async with device.opened() as person:
        app = person.app
        await asyncio.gather(
            app.on_network(lambda _: asked()),
            app.on_device(private),
            app.on_network(lambda _: asked()),
        )
    assert order == ["asks", "asked", "works", "worked", "asks", "asked"]


async def test_private_work_that_nobody_waits_for_still_keeps_questions_waiting(
    device: DeviceWorld,
) -> None:
    """And its error is not printed over the screen. Planted bugs: a search that the next key stops
    waiting for, and whose thread goes on beside a connection; its error is left to the loop.
    """
    begun, may_end = asyncio.Event(), threading.Event()
    loop, order, printed = asyncio.get_running_loop(), list[str](), list[object]()
    loop.set_exception_handler(lambda _, context: printed.append(context))

    def private(_: Device) -> None:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait()
        order.append("worked")
        raise ZeroDivisionError

    async def asked() -> None:
        order.append("asked")

    async with device.opened() as person:
        work = asyncio.ensure_future(person.app.on_device(private))
        await begun.wait()
        work.cancel()
        question = asyncio.ensure_future(person.app.on_network(lambda _: asked()))
        for _ in range(5):
            await asyncio.sleep(0)
        may_end.set()
        await question
    del work
    gc.collect()
    assert (order, printed) == (["worked", "asked"], [])


def files_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


async def test_a_crash_report_has_no_private_value(rated: DeviceWorld) -> None:
    """Planted bug: Textual's own report, which prints the local variables of every frame."""

    def act(companion: Device) -> None:
        canary = f"{'Xanadu'} {companion.profile.ratings()[0].rating}"
        raise ZeroDivisionError(len(canary))

    async with rated.opened() as person:
        app = person.app
        try:
            act(rated.companion())
        except ZeroDivisionError:
            app._fatal_error()
        segments = [app.console.render(part) for part in app._exit_renderables]
        report = "".join(segment.text for part in segments for segment in part)
        app._exit_renderables.clear()
    assert "ZeroDivisionError" in report
    assert "Xanadu 1" not in report
    assert "canary = 'Xanadu" not in report


async def test_a_timer_looks_and_a_failure_is_tried_the_next_time(
    device: DeviceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a timer that ends with the first failure."""
    looked = asyncio.Event()
    times: list[Titles] = []

    async def refresh(service: Titles) -> Refreshed:
        times.append(service)
        if len(times) > 1:
            looked.set()
        raise Unreachable("no connection")

    monkeypatch.setattr(Titles, "refresh", refresh)
    monkeypatch.setattr(app, "REFRESH_EVERY", 0.01)
    async with device.opened():
        async with asyncio.timeout(300):
            await looked.wait()
