"""`askew budget`: what a person reads, and what a script gets."""

from __future__ import annotations

import datetime
import shutil
from fractions import Fraction
from pathlib import Path
from stat import S_IMODE

import pytest
from client.cli.conftest import Ask, Spend
from client.conftest import Askew

from askew_client.settings.config import places
from askew_client.settings.settings import month_of
from askew_client.views.cost import at_most


def test_an_unspent_budget_says_that_nothing_has_left(askew: Askew, data: Path) -> None:
    found = askew("budget", "--data", data)
    assert found.code == 0
    spent = "Ratings: spent 0 of a lifetime cap of 48; 48 is left. This month: 0 of 1.6."
    assert spent in found.out
    assert "Nothing that depends on you has left this device." in found.out


def test_the_ledger_says_when_where_how_much_and_what_it_means(
    askew: Askew, data: Path, spend: Spend
) -> None:
    spend(2, "2026-10")
    spend(1, "2026-11")
    first, second, *words = askew("budget", "--data", data).out.splitlines()
    assert first.startswith("2026-10  on space 01234567  one signal, epsilon 2 a rating: ")
    # e^2 = 7.389 and e^4 = 54.6, rounded up.
    assert first.endswith(
        "change at most 7.39 times, that you rated one and not another at most 55 times"
    )
    assert second.startswith("2026-11  on space 01234567  one signal, epsilon 1 a rating")
    text = " ".join(words)
    # e^3 = 20.09, rounded up.
    assert "could tell that one at most e^3 better than by guessing: 21 to 1" in text
    assert "Two people who differ in n ratings are told apart by up to n times" in text


def test_who_continues_from_an_older_ledger_is_asked_and_pays_for_what_was_lost(
    askew: Askew, ask: Ask, data: Path, spend: Spend
) -> None:
    """It lost its second charge, of 8."""
    spend(4, "2026-09")
    copy = shutil.copy(places(data).ledger, data / "backup")
    spend(8, "2026-10")
    shutil.move(copy, places(data).ledger)
    asked = ask()
    assert (asked.code, asked.out) == (3, "")
    assert "an old copy was put back" in asked.err
    assert "`askew budget` shows the ledger, `--accept` continues here." in asked.err
    assert askew("budget", "--data", data, "--accept", stdin=b"n\n").code == 130
    frozen = "NOTHING MORE CAN BE SPENT"
    assert f"{frozen}: the ledger is older than its mark" in askew("budget", "--data", data).out
    accepted = askew("budget", "--data", data, "--accept", stdin=b"y\n")
    assert (accepted.code, frozen in accepted.out) == (0, False)
    booked = "you continued here; 8 a rating or value on axes was booked for what"
    assert f"{month_of(datetime.date.today())}  {booked}" in accepted.out
    assert "spent 12 of a lifetime cap of 48" in accepted.out


def test_a_damaged_ledger_says_what_to_do_and_stays(ask: Ask, data: Path, spend: Spend) -> None:
    """Planted bug: advice to move it away, also where nothing but the disk is full."""
    spend(2)
    places(data).ledger.write_bytes(b"not a ledger")
    asked = ask()
    assert (asked.code, asked.out) == (1, "")
    assert str(places(data).ledger) in asked.err
    assert "damaged: put a backup in its place" in asked.err
    assert "Do not delete it" in asked.err
    assert places(data).ledger.read_bytes() == b"not a ledger"


def test_a_ledger_that_was_lost_does_not_say_that_nothing_has_left(
    askew: Askew, data: Path, spend: Spend
) -> None:
    """Planted bug: an empty ledger is an unspent one, whatever its mark says."""
    spend(4, "2026-09")
    places(data).ledger.unlink()
    nothing = "Nothing that depends on you has left this device."
    found = askew("budget", "--data", data).out
    assert nothing not in found
    assert "More may have left this device, and been spent, than this ledger knows." in found
    places(data).mark.write_text("damaged")
    accepted = askew("budget", "--data", data, "--accept", stdin=b"y\n").out
    assert "0 a rating or value on axes was booked for what the ledger had lost" in accepted
    assert nothing not in accepted


def test_a_bound_is_never_written_smaller_than_it_is() -> None:
    """Planted bug: rounding to the nearest, which is below the bound half of the time."""
    assert at_most(11.8804931640625) == "11.89"
    assert at_most(Fraction(1, 3), 6) == "0.333334"
    assert (at_most(0), at_most(9), at_most(Fraction(12001, 1000), 3)) == ("0", "9", "12.1")


def test_a_device_that_held_a_catalog_first_keeps_its_files_for_the_person_alone(
    askew: Askew, demo_address: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a data directory of the umask's mode, above the one of the file that is held."""
    monkeypatch.setenv("ASKEW_MODE", "held")
    assert askew("ask", "--data", data, "--server", demo_address).code == 0
    assert [S_IMODE(each.stat().st_mode) for each in (data, places(data).profile)] == [0o700, 0o600]
