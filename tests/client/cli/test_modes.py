"""`askew ask` by each mode: what is done, why, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from client.conftest import Askew, Outcome

RATINGS = b"title,rating\nAlien (1979),4.5\nCasablanca (1942),1.5\n"


@pytest.fixture(autouse=True)
def by_itself(by_signal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASKEW_MODE")


def asked(askew: Askew, address: str, data: Path, *more: str) -> Outcome:
    files = ("--server", address, "--data", data)
    return askew("ask", "--ratings", "-", *files, *more, stdin=RATINGS)


def test_by_itself_a_device_that_holds_everything_asks_nothing_and_says_so(
    askew: Askew, demo_address: str, tmp_path: Path
) -> None:
    """Planted bug: a ledger, and so a file that says when this device asked."""
    found = asked(askew, demo_address, tmp_path / "data")
    assert (found.code, found.err) == (0, "")
    assert len([line for line in found.out.splitlines() if line.startswith(("* ", "  "))]) == 20
    assert "(held: all 417 items (" in found.out
    assert "nothing is drawn, charged or sent)" in found.out
    assert not [*tmp_path.rglob("signals.sqlite")]


def test_another_way_is_taken_where_it_is_chosen(
    askew: Askew, demo_address: str, tmp_path: Path
) -> None:
    whole = json.loads(asked(askew, demo_address, tmp_path / "data", "--json").out)
    assert (whole["cost"], whole["fresh"], whole["came"]) == (None, False, [])
    shared = asked(askew, demo_address, tmp_path / "data", "--mode", "held", "--json")
    assert json.loads(shared.out)["mode"]["name"] == "held"
    signal = asked(askew, demo_address, tmp_path / "data", "--mode", "ask", "--json")
    found = json.loads(signal.out)
    assert (found["mode"]["name"], found["fresh"]) == ("ask", True)
    assert found["results"] == whole["results"]  # all of them were held
    assert "this question costs" in signal.err


def test_budget_says_which_way_is_set(askew: Askew, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(askew("budget", "--json").out)["mode"] == "auto"
    monkeypatch.setenv("ASKEW_MODE", "held")
    assert "The mode is held; `askew ask` says" in askew("budget").out
