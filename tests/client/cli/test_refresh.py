"""`askew refresh`: what a timer runs, and what it prints."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from askew.catalog.catalog_file import catalog_date_of
from askew_client.catalog.cache import date_of

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
    assert "Alien (1979)\tHorror, Science Fiction" in titles.splitlines()

    def unreachable(*_: object) -> None:
        pytest.fail("something was sent")

    monkeypatch.setattr("askew_client.transport.grpc.GrpcTransport.call", unreachable)
    assert askew("catalog", "--server", demo_address).out == titles
    assert not (tmp_path / "signals.sqlite").exists()
