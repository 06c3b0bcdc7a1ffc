"""Several processes at once: one lock decides who draws, and what the cap still allows."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import cast

import pytest

from askew.dp.privacy import SignalCharge
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore
from askew_client.storage.private_files import write_ahead

SPACE = "0123456789abcdef" * 2
LATTICE = LatticeLaplace(11, 1024)

# Waits until it is told to go, so that all of them go at once.
RIVAL = """
import json, sys
from fractions import Fraction
from pathlib import Path
from askew.errors import AskewError
from askew.noise.lattice import LatticeLaplace
from askew.dp.privacy import SignalCharge
from askew.protocol.signal import Signal
from askew_client.settings.settings import Caps
from askew_client.signals.store import SignalStore

path, cap, space, number = sys.argv[1:]
draws = []

def draw():
    draws.append(int(number))
    return Signal(space, LatticeLaplace(11, 1024), (int(number), 0))

store = SignalStore(Path(path), Caps(Fraction(cap)))
print("ready", flush=True)
sys.stdin.readline()
try:
    charge = SignalCharge(Fraction(1))
    signal, _ = store.remember(space, "2026-11", charge, draw, second_space=True)
    found = signal.values
except AskewError as error:
    found = f"{type(error).__name__}: {error}"
print(json.dumps([found, draws]))
"""


def counts(path: Path) -> tuple[int, int]:
    """How many signals and how many charges the file holds."""
    with closing(sqlite3.connect(path)) as database:
        (signals,) = database.execute("SELECT count(*) FROM signals").fetchone()
        (charges,) = database.execute("SELECT count(*) FROM charges").fetchone()
    return signals, charges


def race(path: Path, cap: int, spaces: list[str]) -> list[tuple[object, list[int]]]:
    """What each of some processes found, and what it drew, when all ask at once."""
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, str(path), str(cap), space, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, space in enumerate(spaces)
    ]
    pipes = [(rival.stdin, rival.stdout) for rival in rivals]
    assert [out.readline() for _, out in pipes if out] == ["ready\n"] * len(spaces)
    for into, _ in pipes:
        if into:
            into.write("go\n")
            into.flush()
    answers = [json.loads(rival.communicate(timeout=60)[0]) for rival in rivals]
    return [(found, draws) for found, draws in answers]


@pytest.mark.slow
@pytest.mark.parametrize("new", [False, True], ids=["in a store", "in a new store"])
def test_six_processes_that_ask_at_once_share_one_draw_and_one_charge(
    tmp_path: Path, new: bool
) -> None:
    """Planted bugs: looking before the lock is held; making the tables without a lock."""
    path = tmp_path / "data" / "signals.sqlite"
    if not new:
        SignalStore(path, Caps(Fraction(10))).entries()
    answers = race(path, cap=10, spaces=[SPACE] * 6)
    draws = [number for _, drawn_here in answers for number in drawn_here]
    assert len(draws) == 1
    assert [found for found, _ in answers] == [[draws[0], 0]] * 6
    assert counts(path) == (1, 1)


def test_of_six_processes_at_once_the_cap_lets_three_through(tmp_path: Path) -> None:
    """Planted bug: a cap that is checked before the lock is held."""
    path = tmp_path / "signals.sqlite"
    SignalStore(path, Caps(Fraction(10))).entries()
    answers = race(path, cap=3, spaces=[f"{n:032x}" for n in range(6)])
    refused = [(found, draws) for found, draws in answers if isinstance(found, str)]
    assert [found.partition(":")[0] for found, _ in refused] == ["BudgetExceeded"] * 3
    assert [draws for _, draws in refused] == [[]] * 3
    assert counts(path) == (3, 3)


@pytest.mark.parametrize("new", [False, True], ids=["in a store", "in a new store"])
@pytest.mark.parametrize("step", range(4))
def test_whoever_comes_first_at_any_step_has_drawn_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, new: bool
) -> None:
    """The race of two, played in every order: another process goes first at each transaction of
    this one, which has two before its draw and two after. Planted bugs: looking before the lock is
    held; making the tables by what was seen before it.
    """
    path = tmp_path / "signals.sqlite"
    if not new:
        SignalStore(path, Caps(Fraction(10))).entries()
    draws: list[Signal] = []

    def remember(values: tuple[int, int]) -> Signal:
        def draw() -> Signal:
            draws.append(Signal(SPACE, LATTICE, values))
            return draws[-1]

        store, charge = SignalStore(path, Caps(Fraction(10))), SignalCharge(Fraction(2))
        return store.remember(SPACE, "2026-11", charge, draw)[0]

    connect, begun, found = sqlite3.connect, [0], []

    class Late(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
            if sql.startswith("BEGIN"):
                begun[0] += 1
                if begun[0] == step + 1:
                    found.append(remember((3, 4)))
            return super().execute(sql, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Late))
    found.append(remember((1, 2)))
    assert found == draws * 2
    assert draws[0].values == ((3, 4) if step < 2 else (1, 2))
    assert counts(path) == (1, 1)


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


def test_a_journal_that_never_is_free_is_an_error() -> None:
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_ahead(cast("sqlite3.Connection", Hurried(10**9)))
