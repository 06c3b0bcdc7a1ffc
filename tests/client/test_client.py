"""The library in another program: ten lines, with and without an event loop."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import isawaitable, iscoroutinefunction, signature
from pathlib import Path
from typing import Any

import pytest
from client.conftest import K4, Pair

import askew_client
from askew import errors
from askew.errors import AskewError, ParameterError, ProfileError
from askew_client import AskewClient, BlockingClient, ClientSettings, UnknownTitle
from askew_client.transport.in_process import LocalTransport
from askew_client.views.answers import Answer


@pytest.fixture
def network(pair: Pair) -> LocalTransport:
    return LocalTransport(pair.card, pair.catalog)


async def test_ask_then_pick(network: LocalTransport, tmp_path: Path) -> None:
    async with AskewClient(K4, transport=network, directory=tmp_path) as client:
        client.rate("Film 9 (1969)", 5)
        slate = await client.ask()
        item = client.pick(slate)
        assert item.title in [other.title for other in client.rank(slate)]
        assert item.title != "Film 9 (1969)"


def test_the_real_network_is_the_default(demo_address: str, tmp_path: Path) -> None:
    settings = ClientSettings(mode="ask")
    with BlockingClient(settings, server=demo_address, directory=tmp_path) as client:
        assert isinstance(client.ask(), Answer)


def test_a_client_is_opened_again_after_it_was_closed_and_not_twice(
    network: LocalTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it keeps may be below home. Before: an AttributeError of Python's context managers."""
    monkeypatch.setenv("HOME", str(tmp_path))
    client = BlockingClient(K4, transport=network, directory="~/mine")
    with client:
        client.rate("Film 9 (1969)", 5)
        first = client.pick(client.ask())
    assert (tmp_path / "mine" / "signals.sqlite").exists()
    with client:
        with pytest.raises(ParameterError, match="opened once"):
            client.__enter__()
        assert client.pick(client.ask()) == first


@pytest.mark.parametrize(
    "wrong",
    [
        {"server": "http://127.0.0.1:7571"},
        {"server": 7571},
        {"settings": {"k": 5}},
        {"directory": 5},
        {"directory": ""},
        {"directory": "~nobody-has-this-name/askew"},
    ],
    ids=str,
)
def test_an_argument_of_a_wrong_type_is_refused_by_its_name(wrong: dict[str, Any]) -> None:
    """Before anything is opened, not by an AttributeError or TypeError from within."""
    with pytest.raises(ParameterError) as refusal:
        AskewClient(**wrong)
    assert refusal.value.name == next(iter(wrong))


@pytest.mark.parametrize(
    ("label", "rating", "name"),
    [(5, 5, "label"), ("Secret Film", "4.5", "rating"), ("Secret Film", True, "rating")],
)
def test_a_rating_of_a_wrong_type_is_refused_and_not_repeated(
    network: LocalTransport, tmp_path: Path, label: Any, rating: Any, name: str
) -> None:
    with BlockingClient(K4, transport=network, directory=tmp_path) as client:
        with pytest.raises(ParameterError) as refusal:
            client.rate(label, rating)
        assert client.ratings() == ()
    assert refusal.value.name == name
    assert "Secret" not in str(refusal.value)
    assert "4.5" not in str(refusal.value)


def test_other_arguments_of_a_wrong_type_are_refused(
    network: LocalTransport, tmp_path: Path
) -> None:
    wrong: Any = "Film 9 (1969)"
    with BlockingClient(K4, transport=network, directory=tmp_path) as client:
        for read in (client.pick, client.rank):
            with pytest.raises(ParameterError, match="answer"):
                read(wrong)
        for call in (client.near, client.near_cost):
            with pytest.raises(ParameterError, match="collection"):
                call(3, place="home")  # type: ignore[arg-type]


@pytest.mark.parametrize("rating", [1000.5, -1001, float("nan")])
def test_a_rating_outside_of_every_scale_is_refused_at_once(
    network: LocalTransport, tmp_path: Path, rating: float
) -> None:
    """By a limit of ours, before a server is asked. Planted bug: any number is taken."""
    with BlockingClient(K4, transport=network, directory=tmp_path) as client:
        with pytest.raises(ProfileError, match="a rating must be a number, at most 1000 in size"):
            client.rate("Film 9 (1969)", rating)
        assert client.ratings() == ()


def test_a_title_that_the_catalog_does_not_have_is_told_and_kept(
    network: LocalTransport, tmp_path: Path
) -> None:
    """Nothing is known before there is a catalog; the title itself is in no warning."""
    with BlockingClient(K4, transport=network, directory=tmp_path) as client:
        client.rate("Secret Film", 5)
        assert client.unmatched() == ()
        assert client.ask().unused == 1
        with pytest.warns(UnknownTitle, match="no such title") as warned:
            client.rate("Other Film", 4)
        assert (warned[0].filename, "Other" in str(warned[0].message)) == (__file__, False)
        client.rate("film 9", 4)
        assert client.unmatched() == ("Other Film", "Secret Film")


def reachable(start: object) -> Iterator[tuple[str, object]]:
    """Yield every public attribute of an object, and of those of this program that these give."""
    seen, left = {id(start)}, [(type(start).__name__, start)]
    while left:
        path, value = left.pop()
        for name in dir(value):
            if name.startswith("_"):
                continue
            member = getattr(value, name)
            yield f"{path}.{name}", member
            ours = type(member).__module__.startswith("askew")
            if ours and not callable(member) and id(member) not in seen:
                seen.add(id(member))
                left.append((f"{path}.{name}", member))


def test_nothing_that_a_script_reaches_is_a_coroutine(
    network: LocalTransport, tmp_path: Path
) -> None:
    """Planted bug: a `companion` that the script gets too, whose `ask` waits for an event loop."""
    with BlockingClient(K4, transport=network, directory=tmp_path) as client:
        names = dict(reachable(client))
        assert [path for path, each in names.items() if iscoroutinefunction(each)] == []
        assert {"BlockingClient.ask", "BlockingClient.places.add"} <= names.keys()
        found = (client.ask(), client.cost(), client.refresh(), client.budget(), client.places)
        assert not any(map(isawaitable, found))
    waiting = {name for name, each in vars(AskewClient).items() if iscoroutinefunction(each)}
    assert {name for name in waiting if not name.startswith("_")} <= vars(BlockingClient).keys()


def test_a_script_calls_with_the_same_arguments() -> None:
    for name in ("ask", "near", "near_cost", "cost", "refresh"):
        mine, theirs = getattr(BlockingClient, name), getattr(AskewClient, name)
        assert (signature(mine), mine.__doc__) == (signature(theirs), theirs.__doc__)


async def test_a_script_inside_an_event_loop_is_told_which_client_it_wants(
    network: LocalTransport, tmp_path: Path
) -> None:
    """A notebook has one. Before: a RuntimeError, and a warning of a coroutine nobody awaited."""
    with (
        pytest.raises(AskewError, match="async with AskewClient"),
        BlockingClient(K4, transport=network, directory=tmp_path),
    ):
        pass


def test_a_client_is_used_in_a_with_statement(tmp_path: Path) -> None:
    client = BlockingClient(directory=tmp_path)
    for use in (client.ask, lambda: client.rate("Film 9 (1969)", 5)):
        with pytest.raises(AskewError, match="with statement"):
            use()


def test_every_error_that_the_device_raises_can_be_imported_beside_it() -> None:
    """Planted bug: an error that a program can only catch by a name of the core."""
    raised = set()
    for module in Path(askew_client.__file__).parent.rglob("*.py"):
        if not {"cli", "tui", "demo", "settings"} & {*module.parts}:
            raised |= set(re.findall(r"raise ([A-Z]\w+)", module.read_text(encoding="utf-8")))
    of_ours = {name for name in raised if hasattr(errors, name)}
    assert of_ours <= {*askew_client.__all__}
    assert "NotShown" in of_ours


def test_the_first_line_of_ask_comes_before_the_heavy_imports() -> None:
    """A person who waits sees whom the device asks before numpy and gRPC are even loaded."""
    code = """
import click, sys
from askew_client.cli import options as cli_options
from askew_client.cli.main import cli
def stop(text):
    raise click.Abort
cli_options.note = stop
try:
    cli.main(["ask"], standalone_mode=False)
except click.Abort:
    print(*sys.modules)
"""
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    heavy = {"asyncio", "cryptography", "grpc", "numpy", "rich", "scipy", "sqlite3", "textual"}
    assert heavy.isdisjoint(loaded)
    assert "click" in loaded


def test_a_shell_learns_to_complete_the_commands() -> None:
    command = [sys.executable, "-m", "askew_client", "completion", "bash"]
    script = subprocess.check_output(command, text=True)
    assert "_ASKEW_COMPLETE=bash_complete" in script
