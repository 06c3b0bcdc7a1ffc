"""`askew refresh`: what a timer runs, and what it prints."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from static_host import serving as static_host

from askew.catalog.catalog_file import catalog_date_of
from askew.wire.catalog_file import catalog_files
from askew_client.catalog.cache import date_of
from askew_client.tui.simulation import simulated_model

if TYPE_CHECKING:
    from client.conftest import Askew


def monday() -> datetime.date:
    """This week's."""
    today = (datetime.datetime.now(datetime.UTC).date() - datetime.date(1970, 1, 1)).days
    return date_of(catalog_date_of(today))


def test_a_refresh_fetches_once_and_then_says_when_it_looks_again(
    askew: Askew, demo_address: str, tmp_path: Path
) -> None:
    command = ("refresh", "--server", demo_address, "--data", tmp_path)
    first, second = askew(*command, "--json"), askew(*command)
    found = json.loads(first.out)
    assert (first.code, found["part"]) == (0, "whole")
    assert found["catalog_date"] == monday().isoformat()
    assert found["fetched"] == found["size"] > 5_000
    next_look = datetime.datetime.fromisoformat(found["next_look"])
    later = next_look.date() - monday()
    assert datetime.timedelta(7) <= later < datetime.timedelta(9)
    held, fetched, again = second.out.splitlines()
    assert held == f"held       {found['catalog_date']}, whole, {found['size']:,} bytes"
    assert fetched == "fetched    0 bytes"
    assert again == f"next look  {next_look:%Y-%m-%d %H:%M} UTC"


def test_a_refresh_that_fails_says_so_apart_from_its_output(
    askew: Askew, impatient: None, tmp_path: Path
) -> None:
    """So that a timer may throw the output away."""
    gone = askew("refresh", "--server", "127.0.0.1:1", "--data", tmp_path)
    assert (gone.code, gone.out) == (4, "")
    assert gone.err.startswith("askew: ")


def test_what_is_held_answers_without_a_call(
    askew: Askew, demo_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The titles of a server that went away, until its catalog date is too old."""
    monkeypatch.setenv("ASKEW_DATA", str(tmp_path))
    titles = askew("catalog", "--server", demo_address).out
    assert titles.count("\n") > 100

    def unreachable(*_: object) -> None:
        pytest.fail("something was sent")

    monkeypatch.setattr("askew_client.transport.grpc.GrpcTransport.call", unreachable)
    assert askew("catalog", "--server", demo_address).out == titles
    assert not (tmp_path / "signals.sqlite").exists()


def test_a_static_host_needs_no_server_at_all(
    askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = catalog_files(*simulated_model())
    names = {f"/{monday()}.{part}": file for part, file in files.items()}
    with static_host(names, secret=False) as host:
        monkeypatch.setenv("ASKEW_HELD_FROM", host.base)
        found = askew("refresh", "--server", "127.0.0.1:1", "--data", tmp_path)
    assert (found.code, found.err) == (0, "")
    assert f"held       {monday()}, whole" in found.out


def test_a_budget_that_is_too_small_for_all_says_what_it_takes(
    askew: Askew, demo_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_BYTE_BUDGET", "100")
    found = askew("refresh", "--server", demo_address, "--data", tmp_path)
    assert found.code == 1
    assert "byte_budget must be at least" in found.err
    assert not [*tmp_path.rglob("*.part")]


@pytest.mark.parametrize("base", ["http://files.example.org", "https://me@files.example.org"])
def test_an_address_that_is_not_secret_or_could_carry_a_mark_is_refused(
    askew: Askew, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKEW_HELD_FROM", base)
    found = askew("refresh")
    assert found.code == 2
    assert "held_from (ASKEW_HELD_FROM) must be" in found.err
