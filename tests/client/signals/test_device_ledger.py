"""The device's ledger keeps the contract of both ledgers, and believes no clock that jumps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import ClassVar, cast

import pytest
from ledger_contract import CAP, LedgerContract, drawn, silent
from traced import Say

from askew.dp.mark import compare
from askew.dp.privacy import SignalCharge
from askew.errors import LedgerError, LedgerRefused, ProfileError
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.profile.store import ProfileService, ProfileStore
from askew_client.settings.settings import Caps
from askew_client.signals import store as device_store
from askew_client.signals.store import SignalStore, decode_signal
from askew_client.storage.private_files import write_ahead

SPACE = "0123456789abcdef" * 2


def month(number: int) -> str:
    return f"{2026 + number // 12}-{number % 12 + 1:02}"


def store(folder: Path, cap: int = CAP) -> SignalStore:
    return SignalStore(folder / "data" / "signals.sqlite", Caps(Fraction(cap)))


def signal(value: int = 1) -> Signal:
    return Signal(SPACE, LatticeLaplace(11, 1024), (value, 0))


def never() -> Signal:
    pytest.fail("a signal was drawn")


class TestDeviceLedger(LedgerContract):
    """A question is of a month, and what is published is its signal."""

    module: ClassVar[ModuleType] = device_store
    commits: ClassVar[int] = 1
    crashes: ClassVar[int] = 3

    def files(self, folder: Path) -> tuple[Path, Path]:
        return folder / "data" / "signals.sqlite", folder / "data" / "mark" / "signals.json"

    def make(self, folder: Path) -> None:
        store(folder).entries()

    def ask(self, folder: Path, number: int, say: Say = silent) -> int:
        # A space of its own for each question, so that any order may ask in one month.
        space, charge = f"{number:032x}", SignalCharge(Fraction(1))
        sent, _ = store(folder).remember(
            space, month(0), charge, lambda: Signal(space, LatticeLaplace(11, 1024), (drawn(), 0))
        )
        say(f"published {number} {sent.values[0]}")
        return sent.values[0]

    def published(self, folder: Path) -> dict[int, int]:
        return {
            int(each.space_version, 16): decode_signal(each.space_version, each.signal).values[0]
            for each in store(folder).entries()
            if each.signal is not None
        }

    def charges(self, folder: Path) -> int:
        return len(store(folder).entries())

    def spent(self, folder: Path) -> Fraction:
        return store(folder).account().spent

    def refused(self, folder: Path) -> str | None:
        return store(folder).account().refused

    def accept(self, folder: Path) -> None:
        store(folder).accept(month(0))

    def check_words(self, folder: Path, words: list[str]) -> None:
        """A draw that was not committed is free: nothing of it left."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with two charges of 2, in October and November."""
    for each in ("2026-10", "2026-11"):
        ask(tmp_path, each)
    return tmp_path


def ask(folder: Path, when: str, value: int = 1) -> Signal:
    return store(folder).remember(SPACE, when, SignalCharge(Fraction(2)), lambda: signal(value))[0]


def kept(folder: Path, when: str) -> Signal:
    return store(folder).remember(SPACE, when, SignalCharge(Fraction(2)), never)[0]


def test_a_clock_that_runs_back_draws_nothing(folder: Path) -> None:
    """Planted bug: a fresh signal for every month that the clock is set back to."""
    for when in ("2026-09", "2020-01", "1999-12"):
        assert kept(folder, when) == signal()
    assert store(folder).account().spent == 4


def test_a_clock_that_jumps_far_ahead_is_not_believed(folder: Path) -> None:
    """Planted bug: a device that spends its whole budget in the year 2099."""
    with pytest.raises(LedgerRefused, match="the clock says 2027-12"):
        kept(folder, "2027-12")
    ask(folder, "2027-11")


def test_a_clock_that_the_person_accepts_is_believed_and_set_right_again(folder: Path) -> None:
    assert store(folder).accept("2099-01") == 0
    ask(folder, "2099-01", 5)
    assert kept(folder, "2026-12") == signal(5)
    store(folder).accept("2026-12")
    assert ask(folder, "2026-12", 6) == signal(6)
    assert store(folder).account().spent == 8


def test_ledger_and_mark_are_read_as_one_state(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: reading the mark after the lock, when another process has gone on."""
    path, locked = folder / "data" / "signals.sqlite", []

    def watched(*arguments: object) -> object:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as rival:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                rival.execute("BEGIN IMMEDIATE")
            locked.append(path)
        return compare(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(device_store, "compare", watched)
    store(folder).account()
    store(folder).accept("2026-11")
    ask(folder, "2026-12")
    assert len(locked) == 3


@pytest.mark.parametrize("new", [False, True], ids=["in a store", "in a new store"])
@pytest.mark.parametrize("step", range(4))
def test_whoever_comes_first_at_any_step_has_drawn_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, new: bool
) -> None:
    """The race of two, played in every order: another process goes first at each transaction of
    this one, which has two before its draw and two after. Planted bugs: looking before the lock is
    held; making the tables by what was seen before it.
    """
    folder = tmp_path
    if not new:
        store(folder).entries()
    connect, begun, found = sqlite3.connect, [0], []

    class Late(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            if sql.startswith("BEGIN"):
                begun[0] += 1
                if begun[0] == step + 1:
                    found.append(ask(folder, "2026-12", 3))
            return super().execute(sql, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Late))
    found.append(ask(folder, "2026-12", 4))
    assert found == [signal(3 if step < 2 else 4)] * 2
    assert store(folder).account().spent == 2


class Hurried:
    """A file whose journal another process is changing, the first so many times."""

    def __init__(self, times: int) -> None:
        self.heard: list[str] = []
        self._times = times

    def execute(self, sql: str) -> None:
        self.heard.append(sql)
        if sql.startswith("PRAGMA") and self.heard.count(sql) <= self._times:
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error


def test_who_finds_the_journal_being_changed_waits_and_tries_again() -> None:
    """SQLite does not wait there: of 900 that opened new files beside nine rivals, two failed."""
    wal = "PRAGMA journal_mode = WAL"
    database = Hurried(2)
    write_ahead(cast("sqlite3.Connection", database))
    assert database.heard == [wal, *["BEGIN IMMEDIATE", "ROLLBACK", wal] * 2]
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_ahead(cast("sqlite3.Connection", Hurried(10**9)))


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER more AFTER INSERT ON signals BEGIN SELECT 1; END",
        "CREATE TABLE more (copy)",
        "DROP TRIGGER signals_no_update",
    ],
)
def test_a_ledger_with_another_schema_is_refused(folder: Path, change: str) -> None:
    """Planted bug: a trigger that copies every signal, or none against a change of the past."""
    with closing(sqlite3.connect(folder / "data" / "signals.sqlite")) as database:
        database.execute(change)
    with pytest.raises(LedgerError, match="not as this program makes them"):
        kept(folder, "2026-11")


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_a_journal_that_others_may_write_is_refused(folder: Path, ending: str) -> None:
    """Planted bug: a look at the file alone, and not at what SQLite keeps beside it."""
    path = folder / "data" / "signals.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("SELECT * FROM charges").fetchall()
        path.with_name(path.name + ending).chmod(0o602)
        with pytest.raises(LedgerError, match="not yours alone"):
            kept(folder, "2026-11")


def test_a_profile_with_another_schema_is_refused(tmp_path: Path) -> None:
    profile = ProfileStore(tmp_path / "profile.sqlite")
    ProfileService(profile).rate("Alien (1979)", 4.5)
    with closing(sqlite3.connect(tmp_path / "profile.sqlite")) as database:
        database.execute("CREATE TRIGGER more AFTER INSERT ON profile BEGIN SELECT 1; END")
    with pytest.raises(ProfileError, match="not as this program makes them"):
        profile.read()
