"""What somebody writes into the file, and not into the anchor, while a program has it open."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from server.ledger.forging import editing, rewrite, seal
from server.ledger.scenes import (
    TERMS,
    answer,
    charged,
    files,
    new_ledger,
    open_ledger,
    pure,
    request,
)

from askew.errors import BudgetExceeded, LedgerFrozen
from askew_server.ledger.anchor import AnchorEntry, AnchorFile
from askew_server.ledger.chain import last_link
from askew_server.ledger.storage import TABLES

NOTHING = "'0/1', '0/1', '0/1', '0/1', '0/1'"
# Of the links of this ledger: a data set, a charge, its release, a grant, an answer's charge.
OPENED, CHARGED, FULFILLED, GRANTED, ASKED = range(1, 6)
TERMS_OF_TWO = "'anybody', 'ADD_OR_REMOVE_ONE', 'fff/1', '0/1', '0/1', NULL"
ADDED = {
    "datasets": f"({CHARGED}, 'plays', '2', {TERMS_OF_TWO})",
    "grants": f"({OPENED}, 'plays', 'eve', 9, 9, '1/9', '0/1', '0/1')",
    "revocations": f"({CHARGED}, 'plays', 'ann')",
    "charges": f"({OPENED}, 'plays', '1', '', 'x', zeroblob(32), 'basic', '1/1', NULL, NULL)",
    "sources": f"({OPENED}, zeroblob(32), zeroblob(32), zeroblob(32))",
    "fulfilments": f"({GRANTED}, {ASKED}, zeroblob(1), 1)",
    "repairs": f"({CHARGED}, 'restored', 0, 0, zeroblob(32))",
    "carried": f"({CHARGED}, 'plays', {NOTHING})",
    "totals": f"({FULFILLED}, 'plays', {NOTHING})",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """9 of 10 are spent, nearly, and an analyst waits for an answer."""
    with new_ledger(tmp_path) as ledger:
        ledger.fulfill(charged(ledger, request("monday", pure(8))).id, b"the list of monday")
        ledger.grant("plays", "ann", TERMS)
        assert charged(ledger, answer("q1", 5)).id == ASKED
    return tmp_path


def test_a_row_can_be_added_to_every_table() -> None:
    assert ADDED.keys() == TABLES.keys()


def added(path: Path, table: str, row: str) -> None:
    """By plain SQL, which triggers and checks let pass; references are off unless asked for."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"INSERT INTO {table} VALUES {row}")
        database.commit()


@pytest.mark.parametrize("table", ADDED)
def test_a_row_added_to_an_old_link_is_noticed(folder: Path, table: str) -> None:
    """Planted bugs: only new links are looked at; only new rows are counted."""
    with open_ledger(folder) as ledger:
        charged(ledger, request("before", pure(Fraction(1, 100))))
        added(files(folder)[0], table, ADDED[table])
        for _ in range(2):
            with pytest.raises(LedgerFrozen, match="not the rows that it had"):
                ledger.charge(request("more", pure(Fraction(1, 100))))


@pytest.mark.parametrize("table", ["datasets", "totals"])
def test_a_row_that_waits_for_a_later_link_is_noticed(folder: Path, table: str) -> None:
    """Planted bug: strays are looked for only when the ledger is opened."""
    with open_ledger(folder) as ledger:
        _, columns = ADDED[table].split(",", 1)
        added(files(folder)[0], table, f"({ASKED + 1},{columns}")
        with pytest.raises(LedgerFrozen, match="no link of the chain covers"):
            ledger.charge(request("more", pure(Fraction(1, 100))))


def rewritten(path: Path) -> None:
    rewrite(path, "UPDATE totals SET epsilon = '0/1'")


def replaced(path: Path) -> None:
    """Which fires no trigger unless a connection asks for it."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT sequence, dataset FROM totals").fetchall()
        for row in rows:
            database.execute(f"REPLACE INTO totals VALUES (?, ?, {NOTHING})", row)
        database.commit()


@pytest.mark.parametrize("forge", [rewritten, replaced])
def test_a_total_that_was_rewritten_is_not_believed(
    folder: Path, forge: Callable[[Path], None]
) -> None:
    """Neither for the cap nor for the anchor. Planted bug: totals read from the file."""
    with open_ledger(folder) as ledger:
        forge(files(folder)[0])
        with pytest.raises(BudgetExceeded):
            ledger.charge(request("more", pure(2)))
        charged(ledger, request("less", pure(Fraction(1, 4))))
        assert AnchorFile(files(folder)[1]).head()[0].spent["plays"].epsilon > 8
    with open_ledger(folder) as ledger:
        assert ledger.frozen is not None


def test_a_total_that_another_program_wrote_is_the_sum_of_its_charges(folder: Path) -> None:
    """Though chain and anchor have it. Planted bug: totals of new links believed unseen."""
    path, anchor = files(folder)
    with open_ledger(folder) as ledger, open_ledger(folder) as other:
        last = charged(other, request("other", pure(Fraction(1, 100)))).id
        with editing(path) as database:
            database.execute("UPDATE totals SET epsilon = '0/1' WHERE sequence = ?", (last,))
            database.execute("DELETE FROM chain WHERE sequence = ?", (last,))
            seal(database, last)
            AnchorFile(anchor).keep(AnchorEntry(*last_link(database), {}))
        with pytest.raises(LedgerFrozen, match="is not the sum of the charges"):
            ledger.charge(request("more", pure(2)))
