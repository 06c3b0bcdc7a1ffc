"""CPU of a charge of the ledger, beside SQLite's own commits, and how long one opens that has many.

    .venv/bin/python -m benchmarks.ledger_speed

A charge waits for three syncs: the commit, the mark's file and its folder. How long they take is
the disk's, so this measures in memory where there is some. The goals: .1 ms a charge, beside three
of SQLite's commits; half a second to open a ledger of 20,000 charges.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.rows import OURS, Goal, Row, Work, finish, run

from askew.dp.composition import Loss, PrivacyFilter
from askew.dp.privacy import ADD_OR_REMOVE_ONE, BoundedRange, PureDP
from askew_server.ledger import ChargeRequest, Ledger

MILLISECONDS, CHARGES, OPENING = 0.1, 20_000, 500  # of CPU a charge; in a ledger; to open it
MEMORY = Path("/dev/shm")
CAP = PrivacyFilter(epsilon=Fraction(10**6), delta=Fraction(1, 100), slack=Fraction(1, 10**9))
LOSS = PureDP(Fraction(1, 1000), ADD_OR_REMOVE_ONE)
LISTS = BoundedRange(Fraction(1, 1000), 20, Fraction(0), ADD_OR_REMOVE_ONE)
NUMBERS = count()


def opened(folder: Path) -> Ledger:
    book = Ledger(folder / "ledger.sqlite", folder / "mark")
    book.open_dataset("films", "1", CAP, "one person", ADD_OR_REMOVE_ONE)
    return book


def bare(folder: Path) -> sqlite3.Connection:
    database = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE rows (a, b, c)")
    return database


def request(loss: Loss = LOSS) -> ChargeRequest:
    key = str(next(NUMBERS))
    return ChargeRequest(dataset="films", version="1", key=key, digest=bytes(32), loss=loss)


def commits(database: sqlite3.Connection, times: int) -> None:
    for number in range(times):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, bytes(32), "1/1000"))
        database.execute("COMMIT")


def one(folder: Path, loss: Loss) -> Mapping[str, Work]:
    database, book = bare(folder), opened(folder)
    return {
        "floor": lambda: commits(database, 1),
        "three commits": lambda: commits(database, 3),
        OURS: lambda: book.charge(request(loss)),
    }


def many(folder: Path) -> Mapping[str, Work]:
    with opened(folder) as book:
        for _ in range(CHARGES):
            book.charge(request())
    database = bare(folder)
    return {"floor": lambda: commits(database, 1), OURS: lambda: opened(folder).close()}


def main(scratch: Path) -> None:
    def fresh() -> Path:
        return Path(tempfile.mkdtemp(dir=scratch))

    goal = Goal(milliseconds=MILLISECONDS)
    rows = [
        Row("a charge, pure", partial(one, fresh(), LOSS), goal),
        Row("a charge, zCDP", partial(one, fresh(), LISTS), goal),
        Row("opening, 20,000 charges", partial(many, fresh()), Goal(milliseconds=OPENING)),
    ]
    finish([run("CPU of the ledger", rows)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        main(Path(folder))
