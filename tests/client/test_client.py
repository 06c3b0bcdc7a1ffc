"""The library in another program: ten lines, with and without an event loop."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import askew_client
from askew.errors import AskewError, BudgetExceeded, TransportError
from askew_client import AskewClient, BlockingClient, ClientSettings
from askew_client.transport.in_process import LocalTransport
from askew_client.views.values import Answer

if TYPE_CHECKING:
    from client.conftest import Pair

SETTINGS = ClientSettings(
    epsilon=Fraction(2), k=4, max_diameter=32.0, max_one_rating=32.0, pace=0.001
)


@pytest.fixture
def network(pair: Pair) -> LocalTransport:
    return LocalTransport(pair.card, pair.catalog)


async def test_ask_then_pick(network: LocalTransport, tmp_path: Path) -> None:
    async with AskewClient(SETTINGS, transport=network, directory=tmp_path) as client:
        client.rate("Film 9 (1969)", 5)
        slate = await client.ask()
        item = client.pick(slate)
        assert isinstance(slate, Answer)
        assert item.label in [each.title.label for each in client.rank(slate)]
        assert item.label != "Film 9 (1969)"


def test_a_script_needs_no_event_loop(network: LocalTransport, tmp_path: Path) -> None:
    with BlockingClient(SETTINGS, transport=network, directory=tmp_path) as client:
        client.rate("Film 9 (1969)", 5)
        first, again = client.ask(), client.ask()
        assert client.pick(first) == client.pick(again)
    with BlockingClient(SETTINGS, transport=network, directory=tmp_path) as client:
        assert client.pick(client.ask()) == client.pick(first)


def test_who_rated_nothing_asks_like_anybody_else(network: LocalTransport, tmp_path: Path) -> None:
    with BlockingClient(SETTINGS, transport=network, directory=tmp_path) as client:
        assert client.quote().fresh
        answer = client.ask()
        assert (answer.used, answer.departure.fresh) == (0, True)
        assert client.pick(answer) == answer.results[0].title
        assert not client.quote().fresh


def test_what_a_screen_calls_a_setback_a_program_gets_as_an_error(
    network: LocalTransport, tmp_path: Path
) -> None:
    tight = replace(SETTINGS, lifetime_cap=Fraction(1))
    with BlockingClient(tight, transport=network, directory=tmp_path) as client:
        client.rate("Film 9 (1969)", 5)
        with pytest.raises(BudgetExceeded):
            client.ask()


def test_a_program_has_a_monthly_cap_too(network: LocalTransport, tmp_path: Path) -> None:
    """Planted bug: a ledger that is opened with the lifetime's cap alone."""
    tight = replace(SETTINGS, monthly_cap=Fraction(1))
    with (
        BlockingClient(tight, transport=network, directory=tmp_path) as client,
        pytest.raises(BudgetExceeded, match="monthly cap 1"),
    ):
        client.ask()


QUICK = ClientSettings(pace=0.001)


def test_the_real_network_is_the_default(demo_address: str, tmp_path: Path) -> None:
    with BlockingClient(QUICK, server=demo_address, directory=tmp_path) as client:
        client.rate("Alien (1979)", 5)
        assert isinstance(client.ask(), Answer)
    nowhere = BlockingClient(QUICK, server="127.0.0.1:1", directory=tmp_path)
    with nowhere as client, pytest.raises(TransportError):
        client.ask()


def test_a_client_is_used_in_a_with_statement() -> None:
    with pytest.raises(AskewError, match="with statement"):
        AskewClient().rate("Film 9 (1969)", 5)


@pytest.mark.parametrize("name", askew_client.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    assert getattr(askew_client, name).__name__ == name


def test_a_name_that_is_not_promised_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="Akew"):
        _ = askew_client.AkewClient


def loaded(code: str) -> set[str]:
    """What an interpreter has loaded after some code."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


HEAVY = {"cryptography", "grpc", "keyring", "rich", "scipy", "sklearn", "textual"}


def test_importing_the_package_loads_next_to_nothing() -> None:
    """Planted bug: `from askew_client.client import AskewClient` at the top of the package."""
    assert loaded("import askew_client") & (HEAVY | {"numpy", "sqlite3", "asyncio"}) == set()


def test_importing_the_client_loads_no_heavy_library() -> None:
    assert loaded("from askew_client import AskewClient, BlockingClient") & HEAVY == set()


def test_asking_over_the_network_needs_neither_screen_nor_vault(
    demo_address: str, tmp_path: Path
) -> None:
    """What a small device has to install, and what makes a start slow."""
    code = f"""
from pathlib import Path
from askew_client import BlockingClient
with BlockingClient(server={demo_address!r}, directory=Path({str(tmp_path)!r})) as client:
    client.rate("Alien (1979)", 5)
    client.ask()
"""
    assert loaded(code) & HEAVY == {"grpc"}


def test_the_first_line_of_ask_comes_before_the_heavy_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person who waits sees whom the device asks before numpy and gRPC are even loaded."""
    code = """
import click
from askew_client.cli import options as cli_options
from askew_client.cli.main import cli
def stop(text):
    raise click.Abort
cli_options.note = stop
try:
    cli.main(["ask"], standalone_mode=False)
except click.Abort:
    pass
"""
    assert loaded(code) & (HEAVY | {"numpy", "sqlite3", "asyncio"}) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["profile", "--help"], ["completion", "bash"]])
def test_commands_that_only_print_load_nothing_heavy(arguments: list[str]) -> None:
    code = f"from askew_client.cli.main import cli\ncli.main({arguments!r}, standalone_mode=False)"
    assert loaded(code) & (HEAVY | {"numpy", "sqlite3"}) == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete_the_commands(shell: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "askew_client", "completion", shell],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"_ASKEW_COMPLETE={shell}_complete" in run.stdout


def test_completion_offers_the_subcommands() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from askew_client.cli.main import main; main()"],
        env={
            "_ASKEW_COMPLETE": "bash_complete",
            "COMP_WORDS": "askew profile e",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert {"plain,encrypt", "plain,export"} == set(run.stdout.split())
