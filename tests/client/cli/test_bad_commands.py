"""What `askew` refuses: one line, an exit code, and neither a change nor a word of the person."""

from __future__ import annotations

import asyncio
import datetime
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
import pytest

from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.device.asker import Asker
from askew_client.opening import Device
from askew_client.settings.settings import Caps, month_of
from askew_client.signals.account import Entry, first_day_after
from askew_client.signals.store import SignalStore
from askew_client.views.cost import Cost

if TYPE_CHECKING:
    from client.conftest import Askew, Outcome

RATINGS = b"title,rating\nAlien (1979),4.25\nCasablanca (1942),1.75\n"
PRIVATE = ("Alien", "Casablanca", "Secret Film", "lie (2001)", "4.25", "1.75", "adored")

BAD_RATINGS = {
    "an empty file": (b"", "must begin with"),
    "a word for a rating": (b"title,rating\nAlien (1979),adored\n", "line 2 .* a number"),
    "an endless field": (b"title,rating\n" + b"x" * 200_000 + b",4.25\n", "line 2 .* no csv"),
    "another encoding": (b"title,rating\nAm\xe9lie (2001),4.25\n", "UTF-8"),
    "another file altogether": (bytes(range(256)) * 10, ""),
}
OUT_OF_RANGE: dict[str, str] = {
    "ask -k 0": "-k must be a whole number",
    "ask --epsilon-per-rating -1": "--epsilon-per-rating must be a number",
    "ask --server nowhere": "--server must be host:port",
    "catalog --server a:0": "--server must be host:port",
    "completion tcsh": "'tcsh' is not one of",
    "demo -k -1": "-k must be a whole number",
    "tui --demo -k 0": "-k must be a whole number",
    "tui --demo --epsilon-per-rating 1025": "--epsilon-per-rating must be a number",
    "--config no-such-file ask": r"'--config' .*: File 'no-such-file' does not exist",
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


def charge(data: Path, epsilon: Fraction = Fraction(1, 2), month: str = "") -> None:
    drawn = Signal("f" * 32, LatticeLaplace(11, 1024), (1, 2))
    store = SignalStore(data / "signals.sqlite", Caps(Fraction(48)))
    month = month or month_of(datetime.date.today())
    store.remember("f" * 32, month, SignalCharge(epsilon), lambda: drawn)


@pytest.fixture(params=["no ledger", "a ledger"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data directory that is not there yet, or one with a charge in it."""
    data = tmp_path / "data"
    if request.param == "a ledger":
        charge(data, Fraction(2), "2026-10")
    return data


def files(data: Path) -> dict[str, bytes]:
    """All but what is held of the server's catalog, which is public."""
    own = [path for path in data.rglob("*") if path.is_file() and "held" not in path.parts]
    return {path.name: path.read_bytes() for path in own}


@pytest.mark.parametrize("case", BAD_RATINGS)
def test_bad_ratings_are_refused_and_change_nothing(askew: Askew, data: Path, case: str) -> None:
    """No server is there, and none is missed: they are read before the first call.

    Planted bugs: a title in the message; opening the ledger, or a connection, before the ratings
    are read, so that a server hears how far a device came.
    """
    ratings, reason = BAD_RATINGS[case]
    before = files(data)
    command = ("ask", "--ratings", "-", "--server", "127.0.0.1:1", "--data", data)
    refused(askew(*command, stdin=ratings), 1, reason)
    assert files(data) == before


@pytest.mark.parametrize(("epsilon", "cap"), [("70", "lifetime cap 48"), ("2", "monthly cap 1.6")])
def test_a_question_beyond_the_budget_is_exit_code_3(
    askew: Askew, demo_address: str, data: Path, epsilon: str, cap: str
) -> None:
    before = charges(data)
    command = ("ask", "--ratings", "-", "--server", demo_address, "--data", data)
    refused(without_quote(askew(*command, "--epsilon-per-rating", epsilon, stdin=RATINGS)), 3, cap)
    assert charges(data) == before


def test_a_second_signal_without_a_yes_is_exit_code_3(
    askew: Askew, demo_address: str, tmp_path: Path
) -> None:
    """Planted bug: a script that pays for every space that a server thinks of."""
    data = tmp_path / "data"
    charge(data)
    command = ("ask", "--ratings", "-", "--server", demo_address, "--data", data)
    refused(without_quote(askew(*command, stdin=RATINGS)), 3, "a fresh signal already")
    assert len(charges(data)) == 1


def test_in_a_terminal_a_second_signal_is_asked_about_and_no_sends_nothing(
    askew: Askew, demo_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: taking a terminal for a yes."""
    data = tmp_path / "data"
    charge(data)
    asked: list[str] = []

    def no(text: str, **_: object) -> None:
        asked.append(text)
        raise click.Abort

    monkeypatch.setattr("askew_client.cli.options.click.confirm", no)
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True), stderr=sys.stderr)
    monkeypatch.setattr("askew_client.cli.options.sys", terminal)
    command = ("ask", "--ratings", "-", "--server", demo_address, "--data", data)
    assert askew(*command, stdin=RATINGS).code == 130
    assert ["another one tells more about you" in text for text in asked] == [True]
    assert len(charges(data)) == 1


def next_month(device: Device) -> None:
    device.asker._today = lambda: first_day_after(month_of(datetime.date.today()))


def more_is_told(device: Device) -> None:
    device.configure(replace(device.settings, epsilon_per_rating=1))


@pytest.mark.parametrize(
    ("change", "asked_before"), [(more_is_told, False), (next_month, True)], ids=["fresh", "kept"]
)
def test_what_changes_after_the_cost_was_said_is_not_charged(
    askew: Askew,
    demo_address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Device], None],
    asked_before: bool,
) -> None:
    """Planted bug: a command that says one cost and pays another."""
    where = ("--server", demo_address, "--data", str(tmp_path))
    command = ("ask", "--mode", "ask", "--ratings", "-", *where)
    if asked_before:
        assert askew(*command, stdin=RATINGS).code == 0
    before, made = len(charges(tmp_path)), list[Device]()
    init, show = Device.__init__, Asker.show

    def noted(device: Device, *parts: Any, **named: Any) -> None:
        made.append(device)
        init(device, *parts, **named)

    async def then_it_changes(asker: Asker, *parts: Any, **named: Any) -> Cost:
        cost = await show(asker, *parts, **named)
        change(made[-1])
        return cost

    monkeypatch.setattr(Device, "__init__", noted)
    monkeypatch.setattr(Asker, "show", then_it_changes)
    found = askew(*command, stdin=RATINGS)
    assert found.code == 3
    assert "no cost that was shown covers this question" in found.err
    assert len(charges(tmp_path)) == before


def without_quote(found: Outcome) -> Outcome:
    """What was said after the price, which is said first."""
    price, spent, *rest = found.err.splitlines()
    assert price.startswith("this question costs epsilon")
    assert spent.startswith("spent before it: ")
    return replace(found, err="\n".join(rest))


def charges(data: Path) -> tuple[Entry, ...]:
    path = data / "signals.sqlite"
    return SignalStore(path, Caps(Fraction(48))).entries() if path.exists() else ()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("command", ["ask --ratings -", "catalog", "refresh"])
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


@pytest.mark.parametrize("command", ["profile list", "ask", "budget"])
def test_neither_a_file_nor_no_text_is_a_data_directory(
    askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """No text is what an unset variable of a shell leaves. Planted bug: a fresh budget where one
    stands.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("mine")
    refused(askew(*command.split(), "--data", "data"), 2, "'--data': Directory .* is a file")
    refused(askew(*command.split(), "--data", ""), 2, "'--data': it must name a directory")
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == ["data"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("EPSILON", "EPSILON_PER_RATING"),
        ("EPSILON_PER_RATNG", "EPSILON_PER_RATING"),
        ("LIFETIME_CAP", "RATING_LIFETIME_CAP"),
    ],
)
def test_a_variable_that_no_setting_has_is_named_without_its_value(
    askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, meant: str
) -> None:
    """Planted bug: a cap that a person set, and that nothing reads."""
    monkeypatch.setenv(f"ASKEW_{name}", "0.125")
    found = askew("budget", "--data", tmp_path / "data")
    refused(found, 2, rf"ASKEW_{name} is no setting \(perhaps ASKEW_{meant}\b")
    assert "0.125" not in found.err


@pytest.mark.parametrize(("typed", "meant"), [("aks", "ask"), ("plase", "place"), ("zzz", "")])
def test_a_command_that_is_none_is_refused_with_the_nearest(
    askew: Askew, typed: str, meant: str
) -> None:
    found = askew(typed)
    assert (found.code, f"(perhaps {meant})" in found.err) == (2, bool(meant))


@pytest.mark.parametrize(
    ("words", "offered"),
    [("askew profile i", {"plain,import"}), ("askew near --level t", {"plain,town"})],
)
def test_completion_offers_commands_and_the_choices_of_a_setting(
    words: str, offered: set[str]
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "from askew_client.cli.main import main; main()"],
        env={
            "_ASKEW_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(run.stdout.split()) == offered
