"""What somebody can do who writes the ledger's file, knows this program, and not the anchor."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from server.ledger.scenes import CAP, open_ledger, pure, releases_of, request

from askew.errors import LedgerFrozen
from askew_server.ledger.anchor import AnchorFile
from askew_server.ledger.chain import (
    CheckedLedger,
    LedgerEntry,
    Total,
    hash_over,
    last_link,
    stored_rows,
)
from askew_server.ledger.reading import dataset_names, spent_on


@contextmanager
def editing(path: Path) -> Iterator[sqlite3.Connection]:
    """The tables without their triggers, foreign keys and checks, which are back afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        found = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        triggers = found.fetchall()
        database.execute("BEGIN IMMEDIATE")
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        yield database
        for _, sql in triggers:
            database.execute(sql)
        database.execute("COMMIT")


def rewrite(path: Path, *statements: str) -> None:
    """Rows that are not what the chain says."""
    with editing(path) as database:
        for statement in statements:
            database.execute(statement)


def reseal(path: Path, *statements: str) -> None:
    """Rows that are not what they were, and a chain over them that is whole."""
    with editing(path) as database:
        for statement in statements:
            database.execute(statement)
        sequences = database.execute("SELECT sequence FROM chain ORDER BY sequence").fetchall()
        database.execute("DELETE FROM chain")
        for (sequence,) in sequences:
            seal(database, sequence)


def add(path: Path, forged: Callable[[LedgerEntry], None]) -> None:
    """One more row, which `forged` writes, and its link, made as the program makes it."""
    with editing(path) as database:
        entry = LedgerEntry(database, believed(database))
        forged(entry)
        entry.seal()


def seal(database: sqlite3.Connection, sequence: int) -> None:
    """The link over the rows of a sequence as they are stored, at the chain's end."""
    link = hash_over(stored_rows(database, sequence), last_link(database)[1])
    database.execute("INSERT INTO chain VALUES (?, ?)", (sequence, link))


def believed(database: sqlite3.Connection) -> CheckedLedger:
    """What a program would know that believes every row."""
    totals = {name: Total(1, spent_on(database, name)) for name in dataset_names(database)}
    return CheckedLedger(last_link(database), 0, totals)


def anchor_again(path: Path, anchor: Path) -> None:
    """An anchor that says what the ledger says: what only its own account can do."""
    with closing(sqlite3.connect(path)) as database:
        AnchorFile(anchor).renew(believed(database).anchor_entry(0))


def assert_refused(folder: Path, words: str) -> None:
    """Nothing can be spent, and what can be read is what was there."""
    with open_ledger(folder) as ledger:
        assert words in str(ledger.frozen)
        for act in (
            lambda: ledger.charge(request("more", pure(1))),
            lambda: ledger.charge(request("more", pure(1), version="2")),
            lambda: ledger.open_dataset("more", "1", CAP, "anybody", pure().neighbors),
        ):
            with pytest.raises(LedgerFrozen):
                act()
        with pytest.raises(LedgerFrozen):
            ledger.verify()
        assert len(releases_of(ledger)) == 1
