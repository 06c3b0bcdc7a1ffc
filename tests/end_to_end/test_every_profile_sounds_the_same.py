"""Noninterference over real gRPC: what a server hears of a device is the same for every profile.

A question's calls, their order, their bytes but for the noisy values, their metadata and the way in
which it ends depend on the settings, the ledger and the server's own replies. So under each hostile
server all profiles must be one observation: a set of observations with two members is a leak, with
no false alarms. Here are the command and the app; `test_the_wire_says_nothing.py` has the library.
`make audit` plays 16 profiles by command, which is 15 pairs with the empty one; the library plays
thousands.
"""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from client.tui.person import Network, Person
from end_to_end.eavesdropping import (
    Heard,
    HostileServer,
    Ratings,
    hostile_servers,
    people,
    serving,
)

from askew_client.cli import main as cli
from askew_client.opening import Device, open_device
from askew_client.profile.document import ProfileDocument
from askew_client.profile.store import PassingProfile
from askew_client.settings.settings import ClientSettings
from askew_client.tui.app import AskewApp
from askew_client.views.answers import Connection

SETTINGS = ClientSettings(mode="ask", k=4)
SERVERS = hostile_servers()
Observation = tuple[str, tuple[Heard, ...]]


# Pairs at each server: what an audit has minutes for, and what a night has.
BY_COMMAND = [
    pytest.param(6, marks=pytest.mark.audit),
    pytest.param(100, marks=pytest.mark.nightly),
]
IN_THE_APP = 12  # pairs of a night


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


def by_command(address: str, person: Ratings, data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`askew ask --ratings - --unmatched FILE` twice; the exit codes."""
    lines = [f'"{title}",{"" if r is None else r}' for title, r in person.items()]
    text = "\n".join(["title,rating", *lines]).encode()
    arguments = ["askew", "ask", "--ratings", "-", "-k", "4", "--mode", "ask"]
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


@pytest.mark.thin(4)
def test_at_the_command_line_all_profiles_are_one_observation(
    server: HostileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught here: `--ratings` that ends at a title which the catalog lacks, or a rating beyond its
    scale, before the question is asked.
    """
    assert len(at_the_command_line(server, 6, tmp_path, monkeypatch)) == 1


@pytest.mark.parametrize("pairs", BY_COMMAND)
def test_at_the_command_line_many_pairs_are_one_observation(
    server: HostileServer, pairs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(at_the_command_line(server, 1 + pairs, tmp_path, monkeypatch)) == 1


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
        await hands.press("f4")
        await hands.press("a")
        await hands.press("a")
        connected = isinstance(app.connection, Connection)
    return f"connected: {connected}"


async def in_the_app(
    server: HostileServer, persons: Iterable[Ratings], root: Path
) -> set[Observation]:
    found: set[Observation] = set()
    with serving(server) as address:
        for number, person in enumerate(persons):
            ends = await by_app(address, person, root / str(number))
            found.add((ends, heard_by(server)))
    return found


@pytest.mark.slow
async def test_in_the_app_all_profiles_are_one_observation(tmp_path: Path) -> None:
    assert len(await in_the_app(SERVERS["decoys alone"](), people(4), tmp_path)) == 1


@pytest.mark.audit
@pytest.mark.parametrize("name", SERVERS)
async def test_in_the_app_nobody_and_somebody_are_one_observation(
    name: str, tmp_path: Path
) -> None:
    """Who that is goes round: the next server meets the next person."""
    nobody, *others = people(10)
    somebody = others[list(SERVERS).index(name) % len(others)]
    assert len(await in_the_app(SERVERS[name](), (nobody, somebody), tmp_path)) == 1


@pytest.mark.nightly
async def test_in_the_app_a_dozen_pairs_are_one_observation(
    server: HostileServer, tmp_path: Path
) -> None:
    assert len(await in_the_app(server, people(1 + IN_THE_APP), tmp_path)) == 1
