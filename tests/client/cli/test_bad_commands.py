"""What `askew` refuses: one line, an exit code, and neither a change nor a word of the person."""

from __future__ import annotations

import asyncio
import datetime
import re
import socket
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from client.cli.conftest import RATINGS, Ask, Charges, Spend
from client.conftest import Askew, Outcome

from askew_client.device.asker import Asker
from askew_client.opening import Device
from askew_client.settings.settings import month_of
from askew_client.signals.account import first_day_after
from askew_client.views.cost import Cost

PRIVATE = ("Alien", "Casablanca", "lie (2001)", "4.25", "1.5", "adored")

BAD_RATINGS = {
    "an empty file": (b"", "must begin with"),
    "a word for a rating": (b"title,rating\nAlien (1979),adored\n", "line 2 .* a number"),
    "an endless field": (b"title,rating\n" + b"x" * 200_000 + b",4.25\n", "line 2 .* no csv"),
    "another encoding": (b"title,rating\nAm\xe9lie (2001),4.25\n", "UTF-8"),
}
OUT_OF_RANGE: dict[str, str] = {
    "ask -k 0": "-k must be a whole number",
    "ask --server nowhere": "--server must be host:port",
    "catalog --server a:0": "--server must be host:port",
    "demo -k -1": "-k must be a whole number",
    "tui --demo --epsilon-per-rating 1025": "--epsilon-per-rating must be a number",
}


def refused(found: Outcome, code: int, reason: str) -> None:
    """One line that a person understands (after the usage, if that was wrong), on stderr."""
    *usage, message = found.err.strip().splitlines()
    assert (found.code, found.out) == (code, "")
    assert re.search(reason, message)
    assert [word for word in PRIVATE if word in found.err] == []
    if code == 2:
        assert usage[0].startswith("Usage: askew ")
        assert message.startswith("Error: ")
    else:
        assert usage == []
        assert message.startswith("askew: ")


def files(data: Path) -> dict[str, bytes]:
    """All but what is held of the server's catalog, which is public."""
    own = [path for path in data.rglob("*") if path.is_file() and "held" not in path.parts]
    return {path.name: path.read_bytes() for path in own}


@pytest.mark.parametrize("case", BAD_RATINGS)
def test_bad_ratings_are_refused_and_change_nothing(
    askew: Askew, data: Path, spend: Spend, case: str
) -> None:
    """No server is there, and none is missed: they are read before the first call.

    Planted bugs: a title in the message; opening the ledger, or a connection, before the ratings
    are read, so that a server hears how far a device came.
    """
    ratings, reason = BAD_RATINGS[case]
    spend(2, "2026-10")
    before = files(data)
    command = ("ask", "--ratings", "-", "--server", "127.0.0.1:1", "--data", data)
    refused(askew(*command, stdin=ratings), 1, reason)
    assert files(data) == before


def test_a_question_beyond_the_budget_is_exit_code_3(ask: Ask, charges: Charges) -> None:
    """Behind its price, which is said first."""
    asked = ask("--epsilon-per-rating", "2")
    price, spent, refusal = asked.err.splitlines()
    assert price.startswith("this question costs epsilon")
    assert spent.startswith("spent before it: ")
    refused(replace(asked, err=refusal), 3, "monthly cap 1.6")
    assert charges() == ()


def test_a_second_signal_wants_a_yes_and_no_sends_nothing(
    ask: Ask, spend: Spend, charges: Charges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: a script that pays for every space that a server thinks of; a terminal that is
    taken for a yes.
    """
    spend(Fraction(1, 2))
    by_script = ask()
    assert (by_script.code, "a fresh signal already" in by_script.err) == (3, True)
    asked: list[str] = []

    def no(text: str, **_: object) -> None:
        asked.append(text)
        raise click.Abort

    monkeypatch.setattr("askew_client.cli.options.click.confirm", no)
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True), stderr=sys.stderr)
    monkeypatch.setattr("askew_client.cli.options.sys", terminal)
    assert ask().code == 130
    assert ["another one tells more about you" in text for text in asked] == [True]
    assert len(charges()) == 1


@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
def test_what_changes_after_the_cost_was_said_is_not_charged(
    ask: Ask, charges: Charges, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """More would be told, or a month has begun. Planted bug: a command that says one cost and pays
    another.
    """
    if kept:
        assert ask().code == 0
    before, opened = len(charges()), list[Device]()
    init, show = Device.__init__, Asker.show

    def noted(device: Device, *parts: Any, **named: Any) -> None:
        opened.append(device)
        init(device, *parts, **named)

    async def then_it_changes(asker: Asker, *parts: Any, **named: Any) -> Cost:
        cost, device = await show(asker, *parts, **named), opened[-1]
        if kept:
            asker._today = lambda: first_day_after(month_of(datetime.date.today()))
        else:
            device.configure(replace(device.settings, epsilon_per_rating=1))
        return cost

    monkeypatch.setattr(Device, "__init__", noted)
    monkeypatch.setattr(Asker, "show", then_it_changes)
    asked = ask()
    assert (asked.code, len(charges())) == (3, before)
    assert "no cost that was shown covers this question" in asked.err


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("command", ["ask --ratings -", "catalog"])
def test_no_server_is_exit_code_4(askew: Askew, tmp_path: Path, command: str) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))  # held, and never listened on
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        data = () if command == "catalog" else ("--data", tmp_path / "data")
        found = askew(*command.split(), "--server", address, *data, stdin=RATINGS)
    port = int(address.rpartition(":")[2]) + 1
    files_of = rf"the files of {address} \(port {port}\)"  # asked first
    refused(found, 4, rf"no connection to {files_of}\. Is the server running at this address\?$")
    assert files(tmp_path) == {}


@pytest.mark.parametrize("line", OUT_OF_RANGE)
def test_a_flag_out_of_range_is_wrong_usage_of_every_command(
    askew: Askew, home: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """It is refused before anything is read, started, asked or charged.

    Planted bugs: ranges that only the settings check, which a command makes later; a check in the
    app's thread, behind its first screen.
    """
    monkeypatch.setattr(asyncio, "run", lambda _: pytest.fail("too late"))
    refused(askew(*line.split()), 2, OUT_OF_RANGE[line])
    assert list(home.iterdir()) == []


def test_neither_a_file_nor_no_text_is_a_data_directory(
    askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No text is what an unset variable of a shell leaves. Planted bug: a fresh budget where one
    stands.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("mine")
    refused(askew("ask", "--data", "data"), 2, "'--data': Directory .* is a file")
    refused(askew("budget", "--data", ""), 2, "'--data': it must name a directory")
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["data"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("EPSILON_PER_RATNG", "EPSILON_PER_RATING"), ("LIFETIME_CAP", "RATING_LIFETIME_CAP")],
)
def test_a_variable_that_no_setting_has_is_named_without_its_value(
    askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    """Planted bug: a cap that a person set, and that nothing reads."""
    monkeypatch.setenv(f"ASKEW_{name}", "0.125")
    found = askew("budget", "--data", tmp_path / "data")
    refused(found, 2, rf"ASKEW_{name} is no setting \(perhaps ASKEW_{meant}\b")
    assert "0.125" not in found.err


def test_a_command_that_is_none_is_refused_with_the_nearest(askew: Askew) -> None:
    for typed, meant in (("aks", "(perhaps ask)"), ("zzz", "")):
        assert (askew(typed).code, meant in askew(typed).err) == (2, True)
    assert "perhaps" not in askew("zzz").err


@pytest.mark.parametrize(
    ("words", "offered"),
    [("askew profile i", {"plain,import"}), ("askew near --level t", {"plain,town"})],
)
def test_completion_offers_commands_and_the_choices_of_a_setting(
    words: str, offered: set[str]
) -> None:
    typed = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    run = subprocess.run(
        [sys.executable, "-c", "from askew_client.cli.main import main; main()"],
        env=typed | {"_ASKEW_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(run.stdout.split()) == offered
