"""Places over real gRPC: one position for all servers, and one observation for all people.

What a server hears of a question near a place depends on the settings, the ledger and its own
replies; of the place itself it gets the one noisy position that everybody gets. So under each
hostile server all people must be one observation, and one person's bytes must be the same under
all servers.
"""

from __future__ import annotations

import datetime
import io
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import pytest
from asked import near
from client.tui.person import Network, Person
from end_to_end.eavesdropping import Heard, serving
from end_to_end.eavesdropping_near import (
    MADE_UP,
    HonestRows,
    HostileMap,
    Neighbor,
    hostile_maps,
    made_up_spaces,
    neighbors,
)
from served_rows import rows_model
from small_map import made_card
from static_host import serving as static_host
from textual.widgets import Select

from askew.catalog.catalog_file import catalog_date_of
from askew.protocol.metric_card import ALL
from askew.spaces.map import Position
from askew_client import AskewClient
from askew_client.catalog.cache import date_of
from askew_client.cli import main as cli
from askew_client.opening import Device, open_device
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.lists import NearList
from askew_client.views.answers import NearAnswer

SETTINGS = ClientSettings(
    region="DE", epsilon_per_axis_unit=Fraction(1), rating_monthly_cap=Fraction(12)
)
BERLIN = Position(52.52, 13.405)
SERVERS = hostile_maps()
Observation = tuple[str, tuple[Heard, ...]]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> HostileMap:
    return SERVERS[request.param]()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, profile or ledger of a real person."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def other_settings() -> Iterator[ClientSettings]:
    """Level, epsilon and region of later years, none among them."""
    return cycle(
        [
            SETTINGS,
            replace(SETTINGS, level="district"),
            replace(SETTINGS, level="county", region="FR"),
            replace(SETTINGS, epsilon_per_axis_unit=Fraction(3), region=""),
            replace(SETTINGS, region="47/5/55.5/15.5"),
        ]
    )


async def test_fifty_made_up_regions_hear_the_same_bytes_and_charge_nothing(
    tmp_path: Path,
) -> None:
    """Planted bugs: a draw in the region of a server's card; a signal for each space version; a
    redraw on a changed epsilon, level or region; a charge for each collection.
    """
    async with AskewClient(SETTINGS, server="127.0.0.1:1", directory=tmp_path) as client:
        view = client.places.add("home", BERLIN)
    heard: list[bytes] = []
    with ExitStack() as left:  # all at once: the card that is kept of an address is of one of them
        for space, settings in zip(made_up_spaces(), other_settings(), strict=False):
            server = HostileMap(made_card(space))
            address = left.enter_context(serving(server))
            async with open_device(settings, server=address, directory=tmp_path) as companion:
                for collection in ("places", "shops"):
                    answer = await near(companion, collection)
                    assert isinstance(answer, NearAnswer), answer
                    assert answer.sent == view.sent
                charges = companion.budget().lines
            heard.append(server.questions[0])
            assert len(charges) == 1
    assert len(heard) == MADE_UP
    assert len(set(heard)) == 1


def run_command(monkeypatch: pytest.MonkeyPatch, stdin: str, *arguments: str) -> object:
    """The exit code of `askew`."""
    file = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", file)
    monkeypatch.setattr(sys, "argv", ["askew", *arguments])
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "")
    try:
        cli.main()
    except SystemExit as end:
        return end.code
    return 0


def by_command(address: str, person: Neighbor, data: Path, patch: pytest.MonkeyPatch) -> str:
    """`askew place add` and `askew near --preferences FILE` twice; the exit codes."""
    return f"exit codes {exit_codes(address, person, data, patch, ['places', 'places'])}"


def exit_codes(
    address: str, person: Neighbor, data: Path, patch: pytest.MonkeyPatch, asked: list[str]
) -> list[object]:
    """Of `askew place add`, and of `askew near` with each of these arguments."""
    data.mkdir()
    preferences = data / "preferences.txt"
    preferences.write_text("open" if person.preferences.open_now else "# nothing")
    where = f"{person.home.latitude}, {person.home.longitude}"
    add = ["place", "add", "home", "--region", "DE", "--data", str(data)]
    options = ["--server", address, "--data", str(data), "--preferences", str(preferences)]
    codes = [run_command(patch, where, *add)]
    codes += [run_command(patch, "", "near", each, *options) for each in asked]
    return codes


@pytest.mark.thin(4)
def test_at_the_command_line_all_people_are_one_observation(
    server: HostileMap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: set[Observation] = set()
    with serving(server) as address:
        for number, person in enumerate(neighbors(2)):
            ends = by_command(address, person, tmp_path / str(number), monkeypatch)
            found.add((ends, tuple(server.heard)))
            server.heard.clear()
    assert len(found) == 1


@pytest.fixture
def rows() -> HonestRows:
    """A server of a static collection and a live one, whose rows devices hold."""
    return HonestRows(rows_model())


def test_near_all_at_the_command_line_is_one_observation(
    rows: HonestRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: set[Observation] = set()
    with serving(rows) as address:
        for number, person in enumerate(neighbors(3)):
            codes = exit_codes(
                address, person, tmp_path / str(number), monkeypatch, ["--all", "--all", "posts"]
            )
            assert codes == [0, 0, 0, 0]
            assert rows.calls() == ["GetModelCard", "Retrieve", "Retrieve", "file", "file"]
            found.add(("", tuple(rows.heard)))
            rows.heard.clear()
    assert len(found) == 1


def test_rows_of_a_static_host_are_one_observation_to_it_and_to_the_server(
    rows: HonestRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`held_from` by gRPC and the command line. Planted bug: rows that the server is asked for."""
    monday = date_of(catalog_date_of((datetime.date.today() - date_of(0)).days))
    files = {f"/{monday}.{part}": file for part, file in rows_model().files.items()}
    found: set[tuple[object, ...]] = set()
    with static_host(files, secret=False) as host, serving(rows) as address:
        monkeypatch.setenv("ASKEW_HELD_FROM", host.base)
        for number, person in enumerate(neighbors(3)):
            codes = exit_codes(
                address, person, tmp_path / str(number), monkeypatch, ["--all", "posts"]
            )
            assert codes == [0, 0, 0]
            assert (rows.calls(), len(host.heard)) == (["GetModelCard", "Retrieve"], 2)
            found.add((tuple(rows.heard), tuple(host.heard)))
            rows.heard.clear()
            host.heard.clear()
    assert len(found) == 1


async def by_app(address: str, person: Neighbor, directory: Path) -> tuple[str, ...]:
    """Open the app, ask all at once, and turn to the next collection; whose results are seen."""
    async with AskewClient(SETTINGS, server=address, directory=directory) as client:
        client.places.add("home", person.home)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Device]:
        async with open_device(SETTINGS, server=address, directory=directory) as device:
            yield device

    app = AskewApp(opened)
    app.animation_level = "none"
    seen: list[str] = []
    async with app.run_test(size=(110, 40), notifications=True) as pilot:
        hands = Person(app, pilot, Network.__new__(Network))
        hands.network.silent = False
        while app.connection is None:
            await pilot.pause()
        await hands.settled()
        await hands.press("f2")
        chosen = app.screen.query_one("#collection", Select)
        chosen.value = ALL
        await hands.press("a")
        for collection in (chosen.value, "cafes"):
            chosen.value = collection
            await hands.settled()
            answer = app.screen.query_one(NearList).answer
            seen.append("" if answer is None else answer.collection)
    return tuple(seen)


async def test_in_the_app_asking_all_is_one_observation(rows: HonestRows, tmp_path: Path) -> None:
    """Planted bug: a question for each collection that one turns to."""
    found: set[tuple[object, ...]] = set()
    with serving(rows) as address:
        for number, person in enumerate(neighbors(2)):
            seen = await by_app(address, person, tmp_path / str(number))
            assert rows.calls().count("Retrieve") == 1
            assert seen == ("posts", "cafes")
            found.add((seen, tuple(rows.heard)))
            rows.heard.clear()
    assert len(found) == 1
