"""What a server hears of a command and of the app is the same for every profile and every place.

Calls, their order, their bytes but for the noisy values, their metadata and how they end depend on
the settings, the ledger and the server's own replies. So under each hostile server all people are
one observation; two of them are a leak, with no false alarms. `test_the_wire_says_nothing.py` has
the library.
"""

from __future__ import annotations

import asyncio
import datetime
import io
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import TypeVar

import pytest
from asked import near
from client.tui.person import Network, Person
from end_to_end.eavesdropping import (
    SERVERS,
    Eavesdropper,
    Heard,
    HostileServer,
    Ratings,
    people,
    serving,
)
from end_to_end.eavesdropping_near import (
    MADE_UP,
    MAPS,
    HonestRows,
    HostileMap,
    Neighbor,
    made_up_spaces,
    neighbors,
)
from served_rows import rows_model
from small_map import made_card
from static_host import serving as static_host
from textual.widgets import Select

from askew.catalog.catalog_file import catalog_date_of
from askew.protocol.cards import ALL
from askew.spaces.map import Position
from askew_client import AskewClient
from askew_client.catalog.cache import date_of
from askew_client.cli import main as cli
from askew_client.opening import Device, open_device
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.tui.lists import NearList
from askew_client.views.answers import Connection

TASTES = ClientSettings(mode="ask", k=4)
PLACES = ClientSettings(
    region="DE", epsilon_per_axis_unit=Fraction(1), rating_monthly_cap=Fraction(12)
)
BERLIN = Position(52.52, 13.405)
Observation = tuple[object, tuple[Heard, ...]]
P = TypeVar("P", Ratings, Neighbor)

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> HostileServer:
    return SERVERS[request.param]()


@pytest.fixture(params=MAPS)
def hostile_map(request: pytest.FixtureRequest) -> HostileMap:
    return MAPS[request.param]()


@pytest.fixture
def rows() -> HonestRows:
    return HonestRows(rows_model())


def observations(
    server: Eavesdropper, persons: Iterable[P], play: Callable[[str, P, Path], object], root: Path
) -> set[Observation]:
    """Return how the plays of people at a server ended, and what it heard of each."""
    seen: set[Observation] = set()
    with serving(server) as address:
        for number, person in enumerate(persons):
            ends = play(address, person, root / str(number))
            seen.add((ends, tuple(server.heard)))
            server.heard.clear()
    return seen


# -- the command -----------------------------------------------------------------------------------


def run_command(monkeypatch: pytest.MonkeyPatch, stdin: str, *arguments: str) -> object:
    file = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", file)
    monkeypatch.setattr(sys, "argv", ["askew", *arguments])
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "")
    try:
        cli.main()
    except SystemExit as end:
        return end.code
    return 0


def profiles_by_command(
    server: HostileServer, count: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> set[Observation]:
    def play(address: str, person: Ratings, data: Path) -> object:
        lines = [f'"{title}",{"" if r is None else r}' for title, r in person.items()]
        text = "\n".join(["title,rating", *lines])
        words = ["ask", "--ratings", "-", "-k", "4", "--mode", "ask", "--server", address]
        words += ["--data", str(data), "--unmatched", str(data / "unmatched.csv")]
        return tuple([run_command(monkeypatch, text, *words) for _ in range(2)])

    return observations(server, people(count), play, root)


@pytest.mark.thin(4)
def test_at_the_command_line_all_profiles_are_one_observation(
    server: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught here: `--ratings` that ends at a title which the catalog lacks, or a rating beyond its
    scale, before the question is asked.
    """
    assert len(profiles_by_command(server, 7, tmp_path, monkeypatch)) == 1


@pytest.mark.nightly
def test_at_the_command_line_a_hundred_pairs_are_one_observation(
    server: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(profiles_by_command(server, 101, tmp_path, monkeypatch)) == 1


def codes_near(
    address: str, person: Neighbor, data: Path, patch: pytest.MonkeyPatch, asked: list[str]
) -> tuple[object, ...]:
    """Return the exit codes of `askew place add`, and of `askew near` with each of these words."""
    data.mkdir()
    preferences = data / "preferences.txt"
    preferences.write_text("open" if person.preferences.open_now else "# nothing")
    where = f"{person.home.latitude}, {person.home.longitude}"
    add = ["place", "add", "home", "--region", "DE", "--data", str(data)]
    options = ["--server", address, "--data", str(data), "--preferences", str(preferences)]
    codes = [run_command(patch, where, *add)]
    codes += [run_command(patch, "", "near", word, *options) for word in asked]
    return tuple(codes)


@pytest.mark.thin(4)
def test_at_the_command_line_all_neighbors_are_one_observation(
    hostile_map: HostileMap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(address: str, person: Neighbor, data: Path) -> object:
        return codes_near(address, person, data, monkeypatch, ["places", "places"])

    assert len(observations(hostile_map, neighbors(2), play, tmp_path)) == 1


def test_near_all_at_the_command_line_is_one_observation(
    rows: HonestRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(address: str, person: Neighbor, data: Path) -> object:
        codes = codes_near(address, person, data, monkeypatch, ["--all", "--all", "posts"])
        assert codes == (0, 0, 0, 0)
        assert rows.calls() == ["GetModelCard", "Retrieve", "Retrieve", "file", "file"]
        return codes

    assert len(observations(rows, neighbors(3), play, tmp_path)) == 1


def test_rows_of_a_static_host_are_one_observation_to_it_and_to_the_server(
    rows: HonestRows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`held_from` by gRPC and the command line. Planted bug: rows that the server is asked for."""
    monday = date_of(catalog_date_of((datetime.date.today() - date_of(0)).days))
    files = {f"/{monday}.{part}": file for part, file in rows_model().files.items()}
    with static_host(files, secret=False) as host:
        monkeypatch.setenv("ASKEW_HELD_FROM", host.base)

        def play(address: str, person: Neighbor, data: Path) -> object:
            codes = codes_near(address, person, data, monkeypatch, ["--all", "posts"])
            assert codes == (0, 0, 0)
            assert (rows.calls(), len(host.heard)) == (["GetModelCard", "Retrieve"], 2)
            heard = tuple(host.heard)
            host.heard.clear()
            return heard

        assert len(observations(rows, neighbors(3), play, tmp_path)) == 1


# Levels, epsilons and regions of later years, none among them.
LATER = (
    PLACES,
    replace(PLACES, level="district"),
    replace(PLACES, level="county", region="FR"),
    replace(PLACES, epsilon_per_axis_unit=Fraction(3), region=""),
    replace(PLACES, region="47/5/55.5/15.5"),
)


async def test_fifty_made_up_regions_hear_the_same_bytes_and_charge_nothing(
    tmp_path: Path,
) -> None:
    """Planted bugs: a draw in the region of a server's card; a signal for each space version; a
    redraw on a changed epsilon, level or region; a charge for each collection.
    """
    async with AskewClient(PLACES, server="127.0.0.1:1", directory=tmp_path) as client:
        view = client.places.add("home", BERLIN)
    heard: list[bytes] = []
    with ExitStack() as left:  # all at once: the card that is kept of an address is of one of them
        for space, settings in zip(made_up_spaces(), cycle(LATER), strict=False):
            server = HostileMap(made_card(space))
            address = left.enter_context(serving(server))
            async with open_device(settings, server=address, directory=tmp_path) as device:
                for collection in ("places", "shops"):
                    assert (await near(device, collection)).sent == view.sent
                charges = device.budget().lines
            heard.append(server.questions[0])
            assert len(charges) == 1
    assert len(heard) == MADE_UP
    assert len(set(heard)) == 1


# -- the app ---------------------------------------------------------------------------------------


@asynccontextmanager
async def running_app(
    settings: ClientSettings,
    address: str,
    directory: Path,
    profile: PassingProfile | None = None,
) -> AsyncIterator[tuple[AskewApp, Person]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Device]:
        async with open_device(
            settings, server=address, directory=directory, profile=profile
        ) as device:
            yield device

    app = AskewApp(opened)
    app.animation_level = "none"
    async with app.run_test(size=(110, 40), notifications=True) as pilot:
        hands = Person(app, pilot, Network.__new__(Network))
        hands.network.silent = False
        while app.connection is None:
            await pilot.pause()
        await hands.settled()
        yield app, hands


def asking_twice(address: str, person: Ratings, directory: Path) -> object:
    """Press the key to ask twice; return whether the app is connected then."""

    async def ask() -> bool:
        profile = PassingProfile(ProfileDocument(person))
        async with running_app(TASTES, address, directory, profile) as (app, hands):
            for key in ("f4", "a", "a"):
                await hands.press(key)
            return isinstance(app.connection, Connection)

    return asyncio.run(ask())


def in_the_app(name: str, pairs: int, *marks: pytest.MarkDecorator) -> object:
    return pytest.param(name, pairs, marks=marks, id=f"{name}, {pairs}")


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        in_the_app("decoys alone", 3, pytest.mark.slow),
        *(in_the_app(name, 1, pytest.mark.audit) for name in SERVERS),
        *(in_the_app(name, 12, pytest.mark.nightly) for name in SERVERS),
    ],
)
def test_in_the_app_all_profiles_are_one_observation(name: str, pairs: int, tmp_path: Path) -> None:
    """Of one pair, the other person goes round: the next server meets the next one."""
    nobody, *others = people(max(10, 1 + pairs))
    at = list(SERVERS).index(name) % len(others) if pairs == 1 else 0
    persons = (nobody, *others[at : at + pairs])
    assert len(observations(SERVERS[name](), persons, asking_twice, tmp_path)) == 1


def test_in_the_app_asking_all_is_one_observation(rows: HonestRows, tmp_path: Path) -> None:
    """All are asked at once, then the next collection is turned to. Planted bug: a question for
    each collection that one turns to.
    """

    async def ask(address: str, person: Neighbor, directory: Path) -> tuple[str, ...]:
        async with AskewClient(PLACES, server=address, directory=directory) as client:
            client.places.add("home", person.home)
        seen: list[str] = []
        async with running_app(PLACES, address, directory) as (app, hands):
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

    def play(address: str, person: Neighbor, directory: Path) -> object:
        seen = asyncio.run(ask(address, person, directory))
        assert rows.calls().count("Retrieve") == 1
        assert seen == ("posts", "cafes")
        return seen

    assert len(observations(rows, neighbors(2), play, tmp_path)) == 1
