"""A crash at any point: a signal without its charge would be a free release."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore

SPACE = "0123456789abcdef" * 2
LATTICE = LatticeLaplace(11, 1024)

# Asks, or accepts the ledger, and dies by SIGKILL before, in or after the draw or a call or an SQL
# statement that begins so: the first one since the start, the draw, the entry or its commit.
DOOMED = """
import os, signal, sqlite3, sys
from fractions import Fraction
from pathlib import Path
import numpy as np
from askew.noise.lattice import LatticeLaplace
from askew.dp.privacy import SignalCharge
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore

path, act, when, what, since = sys.argv[1:]
passed = {"the start"}

def reached(point, name):
    if since in passed and point == when and name.strip().startswith(what):
        os.kill(os.getpid(), signal.SIGKILL)

class Doomed(sqlite3.Connection):
    def execute(self, sql, *rest):
        reached("before", sql)
        cursor = super().execute(sql, *rest)
        reached("after", sql)
        if sql.startswith("INSERT INTO charges"):
            passed.add("the entry")
        if sql == "COMMIT" and "the entry" in passed:
            passed.add("the commit")
        return cursor

    def executescript(self, script):
        for statement in filter(None, map(str.strip, script.split(";"))):
            self.execute(statement)

class DoomedBits(SystemBits):
    reads = 0

    def read(self, count):
        DoomedBits.reads += 1
        if DoomedBits.reads == 2:
            reached("in", "draw")
        return super().read(count)

def draw():
    reached("before", "draw")
    lattice = LatticeLaplace(11, 1024)
    drawn = Signal("0123456789abcdef" * 2, lattice, lattice.perturb(np.zeros(2), DoomedBits()))
    reached("after", "draw")
    passed.add("the draw")
    return drawn

connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, **k, factory=Doomed)
for module, verb in ((os, "fsync"), (os, "replace"), (os, "rename")):
    def watched(*arguments, _verb=verb, _call=getattr(module, verb), **named):
        reached("before", _verb)
        result = _call(*arguments, **named)
        reached("after", _verb)
        return result
    setattr(module, verb, watched)
store = SignalStore(Path(path), Caps(Fraction(10)))
if act == "ask":
    store.remember("0123456789abcdef" * 2, "2026-11", SignalCharge(Fraction(2)), draw)
else:
    store.unfreeze("2026-11")
"""


def drawn() -> Signal:
    return Signal(SPACE, LATTICE, (1, 2))


def never() -> Signal:
    pytest.fail("a signal was drawn")


def counts(path: Path) -> tuple[int, int]:
    """How many signals and how many charges the file holds."""
    with closing(sqlite3.connect(path)) as database:
        (signals,) = database.execute("SELECT count(*) FROM signals").fetchone()
        (charges,) = database.execute("SELECT count(*) FROM charges").fetchone()
    return signals, charges


def die_at(path: Path, when: str, what: str, *, since: str = "the start", act: str = "ask") -> None:
    run = subprocess.run(
        [sys.executable, "-c", DOOMED, str(path), act, when, what, since],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == -signal.SIGKILL, run.stderr


@pytest.mark.thin
@pytest.mark.parametrize(
    ("when", "what"),
    [
        ("before", "BEGIN"),
        ("before", "draw"),
        ("in", "draw"),
        ("after", "draw"),
        ("before", "INSERT INTO charges"),
        ("after", "INSERT INTO charges"),
        ("before", "INSERT INTO signals"),
    ],
)
def test_a_crash_before_the_commit_leaves_neither_signal_nor_charge(
    tmp_path: Path, when: str, what: str
) -> None:
    """Planted bugs: a commit between charge and signal, and no transaction at all."""
    path = tmp_path / "signals.sqlite"
    SignalStore(path, Caps(Fraction(10))).entries()
    die_at(path, when, what)
    assert_nothing_is_left(path)


def test_a_crash_at_the_commit_leaves_neither_signal_nor_charge(tmp_path: Path) -> None:
    path = tmp_path / "signals.sqlite"
    die_at(path, "before", "COMMIT", since="the draw")
    assert_nothing_is_left(path)


def assert_nothing_is_left(path: Path) -> None:
    """And the next question draws once, and is charged once."""
    store = SignalStore(path, Caps(Fraction(10)))
    assert store.entries() == ()
    assert counts(path) == (0, 0)
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), drawn)[0] == drawn()
    assert counts(path) == (1, 1)


def test_a_signal_and_its_charge_outlive_a_crash_after_the_commit(tmp_path: Path) -> None:
    """Planted bug: writing the signal only once it was sent, so that a retry draws another."""
    path = tmp_path / "signals.sqlite"
    store = SignalStore(path, Caps(Fraction(10)))
    store.entries()
    die_at(path, "after", "COMMIT", since="the draw")
    assert counts(path) == (1, 1)
    store.remember(
        SPACE, "2026-11", SignalCharge(Fraction(2)), lambda: pytest.fail("a signal was drawn")
    )
    assert [charge.epsilon for charge in store.entries()] == [2]


@pytest.mark.thin
@pytest.mark.parametrize(
    ("when", "what"),
    [
        ("before", "CREATE TABLE charges"),
        ("after", "CREATE TABLE charges"),
        ("before", "PRAGMA user_version ="),
        ("before", "COMMIT"),
        ("after", "PRAGMA"),
    ],
)
def test_a_crash_while_the_store_is_made_leaves_one_that_works(
    tmp_path: Path, when: str, what: str
) -> None:
    path = tmp_path / "signals.sqlite"
    die_at(path, when, what)
    store = SignalStore(path, Caps(Fraction(10)))
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), drawn)[0] == drawn()
    assert counts(path) == (1, 1)


REPLACED = [("before", "fsync"), ("after", "fsync"), ("before", "replace"), ("after", "replace")]


@pytest.mark.thin
@pytest.mark.parametrize(("when", "what"), [*REPLACED, ("before", "COMMIT")])
def test_a_crash_around_the_announcement_costs_nothing_and_freezes_nothing(
    tmp_path: Path, when: str, what: str
) -> None:
    """What was announced and never committed is no entry. Planted bugs: an announcement that takes
    the place of what was kept; one that must be in the ledger.
    """
    path = tmp_path / "signals.sqlite"
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, "2026-10", SignalCharge(Fraction(2)), drawn)
    die_at(path, when, what, since="the entry")
    assert store.account().frozen is None
    assert counts(path) == (1, 1)
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), drawn)[1].fresh
    assert store.account().frozen is None
    assert store.account().spent == 4


@pytest.mark.thin
@pytest.mark.parametrize(("when", "what"), [("after", "COMMIT"), *REPLACED])
def test_a_crash_between_commit_and_anchor_neither_freezes_nor_draws_again(
    tmp_path: Path, when: str, what: str
) -> None:
    """Nothing was sent yet, and the charge stands.

    Planted bugs: no announcement before the commit, without which the entry looks forged; an anchor
    written in place, which a crash leaves torn.
    """
    path = tmp_path / "signals.sqlite"
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, "2026-10", SignalCharge(Fraction(2)), drawn)
    die_at(path, when, what, since="the entry" if what == "COMMIT" else "the commit")
    found = store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), never)
    assert found[0].space_version == SPACE
    assert counts(path) == (2, 2)
    assert store.account().frozen is None
    store.remember(SPACE, "2026-12", SignalCharge(Fraction(2)), drawn)
    assert store.account().spent == 6


@pytest.mark.parametrize("since", ["the entry", "the commit"])
@pytest.mark.parametrize(("when", "what"), [("before", "replace"), ("after", "replace")])
def test_a_crash_at_the_first_anchor_of_all_leaves_a_store_that_works(
    tmp_path: Path, when: str, what: str, since: str
) -> None:
    path = tmp_path / "signals.sqlite"
    die_at(path, when, what, since=since)
    if since == "the entry":
        assert_nothing_is_left(path)
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), never)
    assert store.account().frozen is None
    assert store.account().spent == 2


@pytest.mark.thin
@pytest.mark.parametrize(
    ("when", "what", "since"),
    [
        ("before", "replace", "the entry"),
        ("after", "replace", "the entry"),
        ("after", "COMMIT", "the entry"),
        ("before", "replace", "the commit"),
        ("after", "replace", "the commit"),
    ],
)
def test_a_crash_while_a_ledger_is_accepted_leaves_it_frozen_or_accepted(
    tmp_path: Path, when: str, what: str, since: str
) -> None:
    """What was lost is booked once, however often the person has to accept it."""
    path, copy = tmp_path / "signals.sqlite", tmp_path / "copy"
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, "2026-09", SignalCharge(Fraction(2)), drawn)
    shutil.copy(path, copy)
    store.remember(SPACE, "2026-10", SignalCharge(Fraction(2)), drawn)
    shutil.copy(copy, path)
    die_at(path, when, what, since=since, act="accept")
    accepted = what == "COMMIT" or since == "the commit"
    assert (store.account().frozen is None) == accepted
    if not accepted:
        store.unfreeze("2026-11")
    assert store.account().spent == 4
    assert store.remember(SPACE, "2026-11", SignalCharge(Fraction(2)), drawn)[1].fresh
    assert store.account().frozen is None


# Fills its disk: no file may grow beyond the limit, as on a file system that is full.
FULL = """
import resource, signal, sys
from fractions import Fraction
from pathlib import Path
from askew.errors import AskewError
from askew.noise.lattice import LatticeLaplace
from askew.dp.privacy import SignalCharge
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore

path, limit = Path(sys.argv[1]), int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SignalStore(path, Caps(Fraction(10)))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    store.remember("0123456789abcdef" * 2, "2026-11", SignalCharge(Fraction(2)), lambda: Signal(
        "0123456789abcdef" * 2, LatticeLaplace(11, 1024), tuple(range(2000))
    ))
except AskewError as error:
    print(type(error).__name__)
else:
    print("sent")
"""


@pytest.mark.thin
@pytest.mark.parametrize("limit", [0, 50, 512, 4096, 8192, 16384, 24576])
def test_a_disk_that_is_full_sends_nothing_and_forgets_nothing(tmp_path: Path, limit: int) -> None:
    """Whatever part of the write still fits: the database, its log, or the anchor."""
    path = tmp_path / "signals.sqlite"
    store = SignalStore(path, Caps(Fraction(10)))
    store.remember(SPACE, "2026-10", SignalCharge(Fraction(2)), drawn)
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(limit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout == "LedgerError\n"
    account = store.account()
    assert account.frozen is None
    assert counts(path)[0] == len(account.entries) <= 2
    store.remember(SPACE, "2026-12", SignalCharge(Fraction(2)), drawn)
    assert store.account().spent == account.spent + 2
