"""The command `askew`: what it answers, and what it takes to answer."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from askew.noise.lattice import LatticeLaplace
from askew_client.cli import main as cli
from askew_client.settings.settings import Caps, ClientSettings
from askew_client.signals.account import Entry
from askew_client.signals.store import SignalStore

if TYPE_CHECKING:
    from client.conftest import Askew

Charges = Callable[[], tuple[Entry, ...]]
RATINGS = "title,rating\nAlien (1979),4.5\nCasablanca (1942),1.5\nToy Story (1995),2.5\n"


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS, encoding="utf-8")
    return path


def test_a_question_is_answered_from_a_file(
    askew: Askew, demo_address: str, ratings: Path, data: Path, charges: Charges
) -> None:
    found = askew("ask", "--ratings", ratings, "--server", demo_address, "--data", data, "-k", 5)
    *films, footer, mode, cost, fresh = found.out.splitlines()
    assert (found.code, len(films)) == (0, 5)
    assert mode.startswith("(ask: one signal at epsilon 0.8 a rating, k 5; this device holds every")
    assert [line[0] for line in films].count("*") == 1
    assert "SIMULATED" in footer
    assert "epsilon 0.8 a rating, 1.6 where a title is replaced" in cost
    assert cost.endswith("spent 0.8 of 48)")
    most = re.search(r"at most ([\d.]+) between any two;", cost)
    assert most
    assert 4 < float(most[1]) <= 16
    assert "a fresh signal was drawn and charged" in fresh
    price, before = found.err.splitlines()
    assert re.search("^this question costs epsilon 0.8 a rating, .* at the median distance", price)
    assert re.search(r"^spent before it: 0 of 48 for life, 0 of 1.6 in \d{4}-\d\d$", before)
    assert len(charges()) == 1


NOT_RATED = {
    "a header alone": ("title,rating\n", 0),
    "a title of another catalog": ("title,rating\nSecret Film,5\n", 1),
    "another year": ("title,rating\nAlien (1980),5\n", 1),
}


@pytest.mark.parametrize("case", NOT_RATED)
def test_who_rated_nothing_of_the_catalog_is_charged_like_anybody_else_and_told_so(
    askew: Askew, demo_address: str, data: Path, case: str, charges: Charges
) -> None:
    """Planted bugs: a refusal, or no question, by which a server learns what is rated."""
    text, unused = NOT_RATED[case]
    command = ("ask", "--ratings", "-", "--server", demo_address, "--data", data, "-k", "5")
    found = askew(*command, stdin=f"\ufeff{text}".encode())  # as some programs begin a file
    assert (found.code, len(charges())) == (0, 1)
    assert "(you have rated nothing of this catalog; no server hears of that" in found.out
    told = f"(this device does not know the titles of {unused} of your ratings"
    assert (told in found.out) == bool(unused)


def test_asking_twice_gives_one_answer_and_one_charge(
    askew: Askew, demo_address: str, ratings: Path, data: Path, charges: Charges
) -> None:
    """Planted bug: a fresh draw for every run of the program."""
    where = ("--server", demo_address, "--data", data)
    command = ("ask", "--ratings", ratings, *where, "--epsilon-per-rating", "1/3")
    first, again = askew(*command), askew(*command)
    assert first.out.splitlines()[:-1] == again.out.splitlines()
    assert again.err == ""  # a signal that is sent again costs nothing, and needs no price
    (charge,) = charges()
    assert charge.epsilon_per_rating == LatticeLaplace.for_epsilon(Fraction(1, 3)).epsilon


def test_who_changes_epsilon_is_told_when_it_counts(
    askew: Askew, demo_address: str, ratings: Path, data: Path
) -> None:
    """The stored signal is sent again, as it must be; saying nothing would mislead."""
    command = ("ask", "--ratings", ratings, "--server", demo_address, "--data", data)
    first, second = askew(*command), askew(*command, "--epsilon-per-rating", "1/2")
    note = "(it was drawn earlier; the settings asked for now count from next month on)"
    asked_for = first.out.replace("at epsilon 0.8 a rating", "at epsilon 0.5 a rating")
    assert second.out.splitlines() == [*asked_for.splitlines()[:-1], note]


def test_the_answer_as_json(askew: Askew, demo_address: str, ratings: Path, data: Path) -> None:
    command = ("ask", "--ratings", ratings, "--server", demo_address, "--data", data, "--json")
    found = askew(*command)
    answer = json.loads(found.out)
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
    assert answer["pick"] not in RATINGS


def test_options_come_from_the_environment_too_and_the_ledger_has_a_home(
    askew: Askew, demo_address: str, ratings: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_SERVER", demo_address)
    monkeypatch.setenv("ASKEW_K", "3")
    found = askew("ask", "--ratings", ratings)
    assert (found.code, len(found.out.splitlines())) == (0, 7)
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


def test_the_version_is_printed(askew: Askew) -> None:
    assert askew("--version").out.split()[-1].count(".") == 2


def test_ratings_come_from_a_file_and_never_from_the_command_line() -> None:
    """Planted bug: `--rate TITLE=4`, which every program on the machine could read."""
    command = cli.cli.get_command(click.Context(cli.cli), "ask")
    assert command is not None
    parameters = {parameter.name: parameter for parameter in command.params}
    public = {"server", "k", "epsilon_per_rating", "data", "as_json"}
    assert set(parameters) == public | {"mode", "ratings", "unmatched"}
    assert isinstance(parameters["ratings"].type, click.File)
    assert not any(isinstance(each, click.Argument) for each in parameters.values())


@pytest.mark.parametrize("name", ["ask", "near", "demo", "tui"])
def test_the_help_says_the_defaults_of_the_settings(name: str) -> None:
    """Planted bug: a default that the settings had before."""
    command = cli.cli.get_command(click.Context(cli.cli), name)
    assert command is not None
    settings = ClientSettings()
    options = [each for each in command.params if isinstance(each, click.Option)]
    told = {each.name: re.search(r"\[default: ([\w.]+)\]", each.help or "") for each in options}
    numbers = {"k", "epsilon_per_rating", "mode", "level"}
    said = {option: found[1] for option, found in told.items() if found and option in numbers}
    assert said
    for option, default in said.items():
        value = getattr(settings, str(option))
        assert default == (value if isinstance(value, str) else f"{float(value):g}")


def test_a_reader_that_stops_reading_gets_no_traceback(demo_address: str) -> None:
    """`askew catalog | head -1`."""
    with subprocess.Popen(
        [sys.executable, "-m", "askew_client", "catalog", "--server", demo_address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaints = process.stderr.read()
    assert b"Traceback" not in complaints
    assert b"Error" not in complaints
