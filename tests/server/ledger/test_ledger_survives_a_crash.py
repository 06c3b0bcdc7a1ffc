"""SIGKILL at every step of a release: no second release for a charge, none without one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from server.ledger.scenes import (
    ENVIRONMENT,
    TERMS,
    answer,
    budget_of,
    charged,
    new_ledger,
    open_ledger,
)

from askew.dp.analyst import AnalystUsage
from askew.errors import ChargePending
from askew_server.ledger import Charge, StoredRelease


def die_at(folder: Path, phase: str, when: str, step: str) -> dict[str, str]:
    """What the doomed process said before it died, by the first word of each line."""
    run = subprocess.run(
        [sys.executable, "-m", "server.ledger.doomed", str(folder), phase, when, step],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with one analyst."""
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
    return tmp_path


# Every step of both acts is deadly in release/test_crashes.py; here are those that differ for an
# analyst, and half a line of the anchor.
BEFORE_THE_COMMIT = [("after", "INSERT INTO {row}"), ("in", "announced"), ("before", "COMMIT")]
# The anchor's line is written by whoever acts next, so the state is that of the commit.
AFTER_THE_COMMIT = [("before", "kept"), ("in", "kept"), ("after", "kept")]


@pytest.mark.parametrize(("when", "step"), BEFORE_THE_COMMIT)
def test_a_crash_before_the_charge_is_committed_spends_nothing(
    folder: Path, when: str, step: str
) -> None:
    """Planted bug: rows that are committed one by one."""
    said = die_at(folder, "charge", when, step.format(row="charges"))
    assert said == {}
    with open_ledger(folder) as ledger:
        assert ledger.frozen is None
        ledger.verify()
        assert ledger.charges() == ()
        assert budget_of(ledger, "ann").answered == AnalystUsage()
        assert isinstance(ledger.charge(answer("q1", 5)), Charge)


@pytest.mark.parametrize(("when", "step"), AFTER_THE_COMMIT)
def test_a_crash_after_the_charge_is_committed_spends_it_for_good(
    folder: Path, when: str, step: str
) -> None:
    """Nothing was drawn, but nobody can know. Planted bug: a charge that returns before."""
    said = die_at(folder, "charge", when, step)
    assert said == {}
    with open_ledger(folder) as ledger:
        assert ledger.frozen is None
        with pytest.raises(ChargePending):
            ledger.charge(answer("q1", 5))
        assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=5, calls=1)
        assert isinstance(ledger.charge(answer("q2", 5)), Charge)
        ledger.verify()


@pytest.mark.parametrize(("when", "step"), BEFORE_THE_COMMIT)
def test_a_crash_before_the_release_is_committed_loses_budget_never_privacy(
    folder: Path, when: str, step: str
) -> None:
    """The draw is lost: its charge never has another. Planted bug: settling before storing."""
    said = die_at(folder, "fulfill", when, step.format(row="fulfilments"))
    assert set(said) == {"charged", "drawn"}
    with open_ledger(folder) as ledger:
        ledger.verify()
        with pytest.raises(ChargePending):
            ledger.charge(answer("q1", 5))
        assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=5, calls=1)


@pytest.mark.parametrize(("when", "step"), [*AFTER_THE_COMMIT, ("at", "the end")])
def test_a_release_that_is_committed_is_the_only_one(folder: Path, when: str, step: str) -> None:
    """Whether it was published or not, a retry gets the same bytes."""
    said = die_at(folder, "fulfill", when, step)
    with open_ledger(folder) as ledger:
        found = ledger.charge(answer("q1", 5))
        assert isinstance(found, StoredRelease)
        assert (str(found.id), found.payload.hex()) == (said["charged"], said["drawn"])
        assert budget_of(ledger, "ann").answered == AnalystUsage(outputs=2, calls=1)
        ledger.fulfill(charged(ledger, answer("q2", 5)).id, b"next", outputs=1)
        ledger.verify()


@pytest.mark.parametrize(
    ("when", "step"),
    [
        ("before", "CREATE TABLE charges"),
        ("after", "CREATE TABLE totals"),
        ("before", "PRAGMA user_version ="),
        ("before", "COMMIT"),
        ("after", "COMMIT"),
        ("after", "PRAGMA journal_mode ="),
    ],
)
def test_a_crash_while_the_ledger_is_made_leaves_one_that_works(
    tmp_path: Path, when: str, step: str
) -> None:
    die_at(tmp_path, "charge", when, step)
    with new_ledger(tmp_path) as ledger:
        ledger.grant("plays", "ann", TERMS)
        assert isinstance(ledger.charge(answer("q1", 5)), Charge)
        ledger.verify()
