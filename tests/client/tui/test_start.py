"""The first screen comes before everything that is slow; a demo touches nothing real."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from client.tui.person import DeviceWorld
from rich.console import RenderableType
from textual.worker import WorkerState

from askew.errors import LedgerError
from askew_client.device.device import Device
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.simulation import simulated_device, simulated_model
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


def test_nothing_heavy_is_loaded_before_the_first_screen_stands() -> None:
    """Planted bug: numpy or gRPC at the top of a module of the app."""
    run = subprocess.run(
        [sys.executable, "-c", FIRST_PAINT], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(run.stderr))
    heavy = {"numpy", "scipy", "sklearn", "grpc", "google.protobuf", "sqlite3", "cryptography"}
    assert loaded & heavy == set()
    assert "askew_client.tui.screens.privacy" in loaded


@pytest.mark.parametrize("module", ["askew_client.cli.main", "askew_client.client"])
def test_no_command_but_the_app_loads_textual(module: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {each.partition(".")[0] for each in run.stdout.split()} & {"textual"} == set()


def test_without_a_terminal_the_app_says_so_and_ends() -> None:
    """Planted bug: Textual waits for keys that never come, for ever."""
    run = subprocess.run(
        [sys.executable, "-m", "askew_client", "tui", "--demo"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=20,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("askew: the app needs a terminal")


def files_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


async def test_the_demo_has_a_person_a_catalog_and_an_answer_and_leaves_no_file(
    home: Path,
) -> None:
    async with simulated_device(ClientSettings(mode="query")) as companion:
        connection = await companion.titles.connect()
        assert getattr(connection, "simulated", None) is True
        assert len(companion.profile.ratings()) == 10
        assert all(rated.known for rated in companion.profile.ratings())
        assert getattr(await companion.titles.ask(), "simulated", None) is True
        assert len(companion.budget().lines) == 2  # home, and the question
    assert files_in(home) == []


def test_the_simulated_model_is_what_the_demo_server_serves() -> None:
    """`python -m benchmarks.write_demo_model` writes it again; digits may differ by machine."""
    card, catalog = simulated_model()
    served = demo_model()
    assert catalog.items == served.catalog.items
    assert catalog.shared_slate == served.catalog.shared_slate
    assert np.abs(catalog.vectors - served.catalog.vectors).max() < 1e-3
    assert (card.source, card.rule) == (served.card.source, served.card.rule)
    assert card.space.dimension == served.card.space.dimension


@pytest.mark.parametrize(
    "error", [LedgerError("the ledger is no ledger"), PermissionError(13, "no"), OSError(5, "io")]
)
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
        report = "".join(text for each in app._exit_renderables for text in shown(app, each))
        app._exit_renderables.clear()
    assert "ZeroDivisionError" in report
    assert "Xanadu 1" not in report
    assert "canary = 'Xanadu" not in report


def shown(app: AskewApp, renderable: RenderableType) -> list[str]:
    return [segment.text for segment in app.console.render(renderable)]
