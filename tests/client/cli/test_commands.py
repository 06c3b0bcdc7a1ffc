"""The command `askew`: what it answers, by each mode, and what it takes to answer."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pytest
from client.cli.conftest import RATINGS, Ask, Charges
from client.conftest import Askew

from askew.catalog.catalog_file import catalog_date_of
from askew_client.catalog.cache import date_of
from askew_client.cli import main as cli
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore
from askew_client.storage import private_files
from askew_client.transport.grpc import GrpcTransport


def test_a_question_is_answered_from_a_file(ask: Ask, tmp_path: Path, charges: Charges) -> None:
    ratings = tmp_path / "ratings.csv"
    ratings.write_bytes(RATINGS)
    asked = ask("--ratings", ratings, "-k", "5")
    *films, footer, mode, cost, fresh = asked.out.splitlines()
    assert (asked.code, len(films)) == (0, 5)
    assert mode.startswith("(ask: one signal at epsilon 0.8 a rating, k 5; this device holds every")
    assert [line[0] for line in films].count("*") == 1
    assert "SIMULATED" in footer
    assert "epsilon 0.8 a rating, 1.6 where a title is replaced" in cost
    assert cost.endswith("spent 0.8 of 48)")
    most = re.search(r"at most ([\d.]+) between any two;", cost)
    assert most
    assert 4 < float(most[1]) <= 16
    assert "a fresh signal was drawn and charged" in fresh
    price, before = asked.err.splitlines()
    assert re.search("^this question costs epsilon 0.8 a rating, .* at the median distance", price)
    assert re.search(r"^spent before it: 0 of 48 for life, 0 of 1.6 in \d{4}-\d\d$", before)
    assert len(charges()) == 1


@pytest.mark.parametrize(("line", "unused"), [("", 0), ("Alien (1980),5\n", 1)])
def test_who_rated_nothing_of_the_catalog_is_charged_like_anybody_else_and_told_so(
    ask: Ask, line: str, unused: int, charges: Charges
) -> None:
    """Planted bugs: a refusal, or no question, by which a server learns what is rated."""
    # Some programs begin a file like this.
    asked = ask(stdin=f"\ufefftitle,rating\n{line}".encode())
    assert (asked.code, len(charges())) == (0, 1)
    assert "(you have rated nothing of this catalog, which no server learns" in asked.out
    told = f"(this device does not know the titles of {unused} of your ratings"
    assert (told in asked.out) == bool(unused)


def test_who_changes_epsilon_is_told_when_it_counts(ask: Ask) -> None:
    """The stored signal is sent again, as it must be; saying nothing would mislead."""
    first, second = ask(), ask("--epsilon-per-rating", "1/2")
    note = "(it was drawn earlier this month; your new epsilon counts from next month on)"
    asked_for = first.out.replace("at epsilon 0.8 a rating", "at epsilon 0.5 a rating")
    assert second.out.splitlines() == [*asked_for.splitlines()[:-1], note]


def test_the_answer_as_json(ask: Ask) -> None:
    answer = json.loads(ask("--json").out)
    public = {"source", "simulated", "fresh", "cost", "mode"}
    assert set(answer) - public == {"pick", "results", "used_ratings", "unused_ratings", "came"}
    assert (answer["used_ratings"], answer["unused_ratings"]) == (3, 0)
    cost = answer["cost"]
    assert (cost["epsilon_per_rating"], cost["lifetime_cap_per_rating"]) == (0.8, 48.0)
    assert cost["epsilon_of_a_replaced_title"] == 1.6
    assert cost["spent_per_rating"] == 0.8
    assert 0 < cost["epsilon_at_median_distance"] < cost["epsilon_between_any_two"] <= 16
    assert (len(answer["results"]), answer["simulated"]) == (20, True)
    assert answer["pick"] in answer["results"]
    assert answer["pick"].encode() not in RATINGS


def test_options_come_from_the_environment_too_and_the_ledger_has_a_home(
    askew: Askew, demo_address: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_SERVER", demo_address)
    monkeypatch.setenv("ASKEW_K", "3")
    asked = askew("ask", "--ratings", "-", stdin=RATINGS)
    assert (asked.code, len(asked.out.splitlines())) == (0, 7)
    (ledger,) = home.rglob("signals.sqlite")
    (mark,) = home.rglob("signals.json")
    assert ledger.is_relative_to(home / "data")
    assert mark.is_relative_to(home / "state")
    assert len(SignalStore(ledger, Caps(Fraction(48)), mark).entries()) == 1


@pytest.mark.parametrize(
    "arguments", [[], *([name] for name in cli.cli.list_commands(click.Context(cli.cli)))], ids=str
)
def test_every_command_explains_itself_in_80_columns(askew: Askew, arguments: list[str]) -> None:
    found = askew(*arguments, "-h")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(" ".join(["Usage: askew", *arguments]))
    assert max(map(len, found.out.splitlines())) <= 80


def test_a_reader_that_stops_reading_gets_no_traceback(demo_address: str) -> None:
    """`askew catalog | head -1`."""
    words = [sys.executable, "-m", "askew_client", "catalog", "--server", demo_address]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


MIXED = b'title,rating\nUnheard Of (1901),4.5\nalien,5\nHeat (1996),\n"Godfather, The",3\n'
UNKNOWN = "title,rating\nUnheard Of (1901),4.5\nHeat (1996),\n"


def test_one_unknown_title_stops_nothing_and_all_are_listed(
    askew: Askew, ask: Ask, demo_address: str, data: Path, tmp_path: Path
) -> None:
    """Of a file, and of the stored profile."""
    file, where = tmp_path / "unmatched.csv", ("--data", data)
    asked = ask("--unmatched", file, stdin=MIXED)
    assert asked.code == 0
    assert "(this device does not know the titles of 2 of your ratings" in asked.out
    assert "Unheard" not in asked.out + asked.err
    assert file.read_text() == UNKNOWN
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    askew("profile", "import", "-", *where, stdin=MIXED)
    asked = askew("ask", "--server", demo_address, *where, "--json", "--unmatched", file)
    assert (json.loads(asked.out)["unused_ratings"], file.read_text()) == (2, UNKNOWN)


def test_nothing_is_looked_for_or_written_before_the_connection_is_closed(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the file written inside the connection, so that its size delays the end of it,
    which is seen.
    """
    order: list[str] = []
    close, write = GrpcTransport.__aexit__, private_files.replace_file

    async def closed(network: GrpcTransport, *error: Any) -> None:
        await close(network, *error)
        order.append("closed")

    def written(path: Path, text: str) -> None:
        order.append(path.name)
        write(path, text)

    monkeypatch.setattr(GrpcTransport, "__aexit__", closed)
    monkeypatch.setattr(private_files, "replace_file", written)
    ask("--unmatched", tmp_path / "unmatched.csv", stdin=MIXED)
    assert [step for step in order if step != "signals.json"] == ["closed", "unmatched.csv"]


@pytest.fixture
def by_itself(by_signal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASKEW_MODE")


@pytest.mark.usefixtures("by_itself")
def test_by_itself_a_device_that_holds_everything_asks_nothing_and_says_so(
    ask: Ask, tmp_path: Path
) -> None:
    """Planted bug: a ledger, and so a file that says when this device asked."""
    asked = ask()
    assert (asked.code, asked.err) == (0, "")
    assert len([line for line in asked.out.splitlines() if line.startswith(("* ", "  "))]) == 20
    assert "(held: all 417 items (" in asked.out
    assert "nothing is drawn, charged or sent)" in asked.out
    assert not [*tmp_path.rglob("signals.sqlite")]


@pytest.mark.usefixtures("by_itself")
def test_another_way_is_taken_where_it_is_chosen(ask: Ask) -> None:
    whole = json.loads(ask("--json").out)
    assert (whole["cost"], whole["fresh"], whole["came"]) == (None, False, [])
    assert json.loads(ask("--mode", "held", "--json").out)["mode"]["name"] == "held"
    signal = ask("--mode", "ask", "--json")
    found = json.loads(signal.out)
    assert (found["mode"]["name"], found["fresh"]) == ("ask", True)
    assert found["results"] == whole["results"]  # all of them were held
    assert "this question costs" in signal.err


@pytest.mark.usefixtures("by_itself")
def test_budget_says_which_way_is_set(askew: Askew, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(askew("budget", "--json").out)["mode"] == "auto"
    monkeypatch.setenv("ASKEW_MODE", "held")
    assert "The mode is held; `askew ask` says" in askew("budget").out


def test_a_refresh_fetches_once_and_then_says_when_it_looks_again(
    askew: Askew, demo_address: str, tmp_path: Path
) -> None:
    days = (datetime.datetime.now(datetime.UTC).date() - date_of(0)).days
    monday = date_of(catalog_date_of(days))
    command = ("refresh", "--server", demo_address, "--data", tmp_path)
    first, second = askew(*command, "--json"), askew(*command)
    found = json.loads(first.out)
    assert (first.code, found["part"]) == (0, "whole")
    assert found["catalog_date"] == monday.isoformat()
    assert found["fetched"] == found["size"] > 5_000
    next_look = datetime.datetime.fromisoformat(found["next_look"])
    later = next_look.date() - monday
    assert datetime.timedelta(7) <= later < datetime.timedelta(9)
    held, fetched, again = second.out.splitlines()
    assert held == f"held       {found['catalog_date']}, whole, {found['size']:,} bytes"
    assert fetched == "fetched    0 bytes"
    assert again == f"next look  {next_look:%Y-%m-%d %H:%M} UTC"


def test_what_is_held_answers_without_a_call(
    askew: Askew, demo_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The titles of a server that went away, until its catalog date is too old."""
    monkeypatch.setenv("ASKEW_DATA", str(tmp_path))
    titles = askew("catalog", "--server", demo_address).out
    assert titles.count("\n") > 100
    assert "Alien (1979)\tHorror, Science Fiction" in titles.splitlines()

    def unreachable(*_: object) -> None:
        pytest.fail("something was sent")

    monkeypatch.setattr("askew_client.transport.grpc.GrpcTransport.call", unreachable)
    assert askew("catalog", "--server", demo_address).out == titles
    assert not (tmp_path / "signals.sqlite").exists()


def test_an_authority_that_is_no_use_is_named_also_where_nothing_is_sent(
    ask: Ask, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the file is read by the first call."""
    ask("--mode", "held")
    monkeypatch.setenv("ASKEW_AUTHORITY", str(data / "none.pem"))
    refused = ask("--mode", "held")
    assert (refused.code, "a file that can be read" in refused.err) == (1, True)
