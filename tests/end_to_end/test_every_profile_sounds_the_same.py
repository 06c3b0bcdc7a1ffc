"""Noninterference over real gRPC: what a server hears of a device is the same for every profile.

A question's calls, their order, their bytes but for the noisy values, their metadata and the way in
which it ends depend on the settings, the ledger and the server's own replies. So under each hostile
server all profiles must be one observation: a set of observations with two members is a leak, with
no false alarms. `make audit` plays 201 profiles, which is 200 pairs with the empty one.
"""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from client.tui.person import Network, Person
from end_to_end.eavesdropping import (
    Heard,
    HostileServer,
    Ratings,
    default_budget,
    hostile_servers,
    people,
    servers_with_tables,
    serving,
)

from askew.errors import AskewError, ProfileError
from askew.protocol.ranking import Slate
from askew_client.cli import main as cli
from askew_client.client import AskewClient
from askew_client.device.device import Device
from askew_client.device.model import Model
from askew_client.device.queries import QueryService, _Prepared
from askew_client.opening import open_device
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.taste.exchange import Exchange
from askew_client.tui.app import AskewApp
from askew_client.views.answers import Answer, Connection

SETTINGS = ClientSettings(mode="query", k=4)
SERVERS = hostile_servers()
Observation = tuple[str, tuple[Heard, ...]]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> HostileServer:
    return SERVERS[request.param]()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, profile or ledger of a real person."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("DATA", "STATE", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


def heard_by(server: HostileServer) -> tuple[Heard, ...]:
    heard = tuple(server.heard)
    server.heard.clear()
    return heard


async def by_library(
    address: str, person: Ratings, directory: Path, settings: ClientSettings = SETTINGS
) -> str:
    """Two questions: one draws, one sends again."""
    ends = ""
    async with AskewClient(settings, server=address, directory=directory) as client:
        if person:
            client.device.profile.edit({label: (rating,) for label, rating in person.items()})
        for _ in range(2):
            try:
                await client.ask()
                ends += " answered"
            except AskewError as error:
                ends += f" {type(error).__name__}: {error}"
    return ends


async def in_the_library(
    server: HostileServer, count: int, root: Path, settings: ClientSettings = SETTINGS
) -> set[Observation]:
    found: set[Observation] = set()
    with serving(server) as address:
        for number, person in enumerate(people(count)):
            ends = await by_library(address, person, root / str(number), settings)
            found.add((ends, heard_by(server)))
    return found


async def test_in_the_library_all_profiles_are_one_observation(
    server: HostileServer, tmp_path: Path
) -> None:
    """Caught here: no question where nothing of the catalog is rated (one bit a catalog, for free),
    a refusal of ratings beyond the scale, one call more or less.
    """
    assert len(await in_the_library(server, 14, tmp_path)) == 1


TABLES = servers_with_tables()
QUESTIONS = {"a bucket": 2, "a point": 2, "a dear bucket, and a cheap one": 2}


@pytest.mark.parametrize("table", TABLES)
async def test_whether_a_device_asks_by_itself_is_the_same_for_all_profiles(
    table: str, tmp_path: Path
) -> None:
    """Caught here: no question where the best item is held, or was met; one because it is not."""
    server = TABLES[table]()
    settings = replace(SETTINGS, mode="auto", byte_budget=default_budget(server))
    assert len(await in_the_library(server, 6, tmp_path, settings)) == 1
    assert server.n_questions == 6 * QUESTIONS.get(table, 0)


@pytest.mark.audit
async def test_in_the_library_two_hundred_pairs_are_one_observation(
    server: HostileServer, tmp_path: Path
) -> None:
    assert len(await in_the_library(server, 201, tmp_path)) == 1


def by_command(address: str, person: Ratings, data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`askew ask --ratings - --unmatched FILE` twice; the exit codes."""
    lines = [f'"{title}",{"" if r is None else r}' for title, r in person.items()]
    text = "\n".join(["title,rating", *lines]).encode()
    arguments = ["askew", "ask", "--ratings", "-", "-k", "4", "--mode", "query"]
    arguments += ["--server", address]
    codes: list[object] = []
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
        files = ["--data", str(data), "--unmatched", str(data / "unmatched.csv")]
        monkeypatch.setattr(sys, "argv", [*arguments, *files])
        monkeypatch.setattr(sys.modules["__main__"], "__package__", "")
        try:
            cli.main()
            codes.append(0)
        except SystemExit as end:
            codes.append(end.code)
    return f"exit codes {codes}"


def at_the_command_line(
    server: HostileServer, count: int, root: Path, monkeypatch: pytest.MonkeyPatch
) -> set[Observation]:
    found: set[Observation] = set()
    with serving(server) as address:
        for number, person in enumerate(people(count)):
            ends = by_command(address, person, root / str(number), monkeypatch)
            found.add((ends, heard_by(server)))
    return found


def test_at_the_command_line_all_profiles_are_one_observation(
    server: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught here: `--ratings` that ends at a title which the catalog lacks, or a rating beyond its
    scale, before the question is asked.
    """
    assert len(at_the_command_line(server, 6, tmp_path, monkeypatch)) == 1


@pytest.mark.audit
def test_at_the_command_line_two_hundred_pairs_are_one_observation(
    server: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(at_the_command_line(server, 201, tmp_path, monkeypatch)) == 1


async def by_app(address: str, person: Ratings, directory: Path) -> str:
    """Open the app, and press the key to ask twice; what its state says."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Device]:
        profile = PassingProfile(ProfileDocument(person))
        async with open_device(
            SETTINGS, server=address, directory=directory, profile=profile
        ) as companion:
            yield companion

    app = AskewApp(opened)
    app.animation_level = "none"
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        hands = Person(app, pilot, Network.__new__(Network))
        hands.network.silent = False
        while app.connection is None:
            await pilot.pause()
        await hands.settled()
        await hands.press("f3")
        await hands.press("a")
        await hands.press("a")
        connected = isinstance(app.connection, Connection)
    return f"connected: {connected}"


async def in_the_app(server: HostileServer, count: int, root: Path) -> set[Observation]:
    found: set[Observation] = set()
    with serving(server) as address:
        for number, person in enumerate(people(count)):
            ends = await by_app(address, person, root / str(number))
            found.add((ends, heard_by(server)))
    return found


@pytest.mark.parametrize("name", ["decoys alone", "a scale whose lowest end is raised"])
async def test_in_the_app_all_profiles_are_one_observation(name: str, tmp_path: Path) -> None:
    assert len(await in_the_app(SERVERS[name](), 4, tmp_path)) == 1


@pytest.mark.audit
async def test_in_the_app_twenty_pairs_are_one_observation(
    server: HostileServer, tmp_path: Path
) -> None:
    assert len(await in_the_app(server, 21, tmp_path)) == 1


async def test_most_of_the_servers_are_asked(tmp_path: Path) -> None:
    """Or nothing would have been observed above."""
    asked = {}
    for name, make in SERVERS.items():
        server = make()
        await in_the_library(server, 1, tmp_path / name)
        asked[name] = server.n_questions
    assert {name for name, count in asked.items() if not count} == {
        "a space too wide",
        "one item",
        "one rating worth all",
        "fewer results than asked for",
    }


# Each of these was in the device, or could be: planted in its production objects.

Plant = Callable[[pytest.MonkeyPatch], None]
_asked, _prepare = QueryService._asked, QueryService._prepare
_exchange_of = QueryService._exchange_of


def stays_silent_where_nothing_is_rated(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(service: QueryService, *arguments: Any, **options: Any) -> _Prepared:
        prepared = _prepare(service, *arguments, **options)
        if not prepared.exchange.ratings:
            raise ProfileError("nothing is rated")
        return prepared

    monkeypatch.setattr(QueryService, "_prepare", prepare)


def asks_again_with_more_than_five_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(service: QueryService, *shown: Any, **options: Any) -> Answer:
        answer = await _asked(service, *shown, **options)
        return await _asked(service, *shown, **options) if answer.used > 5 else answer

    monkeypatch.setattr(QueryService, "_asked", asked)


def refuses_an_unknown_title(monkeypatch: pytest.MonkeyPatch) -> None:
    def exchange_of(
        service: QueryService, model: Model, document: ProfileDocument, settings: ClientSettings
    ) -> Exchange:
        exchange = _exchange_of(service, model, document, settings)
        if len(exchange.ratings) < len(document.ratings):
            raise ProfileError("no such title in this catalog")
        return exchange

    monkeypatch.setattr(QueryService, "_exchange_of", exchange_of)


def refuses_an_answer_that_the_person_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Exchange.check_slate

    def checked(exchange: Exchange, slate: Slate) -> None:
        if exchange.ratings.keys() >= set(slate.item_ids):
            raise ProfileError("all of them are rated")
        check(exchange, slate)

    monkeypatch.setattr(Exchange, "check_slate", checked)


@pytest.mark.parametrize(
    "plant",
    [
        stays_silent_where_nothing_is_rated,
        asks_again_with_more_than_five_ratings,
        refuses_an_unknown_title,
        refuses_an_answer_that_the_person_has_seen,
    ],
)
async def test_a_planted_leak_makes_profiles_differ(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert len(await in_the_library(SERVERS["an honest one"](), 14, tmp_path)) > 1
