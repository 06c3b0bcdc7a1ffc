"""A device in a temporary directory, with the small world's twelve films."""

from __future__ import annotations

from pathlib import Path

import pytest
from client.conftest import Pair
from client.tui.person import HOME, DeviceWorld, NearWorld, Town
from client.tui.sheets import sheets_read_once  # noqa: F401 (a fixture)
from textual.notifications import Notification

from askew_client.transport.in_process import LocalPlaces
from askew_client.tui.simulation import simulated_places


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of all colors, on which what the app says for a few seconds stays."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr(Notification, "time_left", 3600.0)


@pytest.fixture(scope="session")
def simulated() -> LocalPlaces:
    """A made-up map, for all tests: none changes it."""
    return simulated_places(400, 100)


@pytest.fixture
def device(pair: Pair, tmp_path: Path) -> DeviceWorld:
    return DeviceWorld(pair.card, pair.catalog, tmp_path)


@pytest.fixture
def near(pair: Pair, tmp_path: Path, simulated: LocalPlaces) -> NearWorld:
    return NearWorld(Town(pair.card, pair.catalog, simulated), tmp_path)


@pytest.fixture
def at_home(near: NearWorld) -> NearWorld:
    near.companion().places.add("home", HOME)
    return near


@pytest.fixture
async def rated(device: DeviceWorld) -> DeviceWorld:
    """Three films are rated: a liking for the lower left of the map."""
    await device.rated(film_2=5, film_6=4, film_11=1)
    return device
