"""The chain covers every row, and the recount every sum: each alone sees what nothing else does."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from server.ledger.forging import anchor_again, assert_refused, editing, reseal, rewrite
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

from askew.errors import LedgerFrozen
from askew_server.ledger import EventDigests
from askew_server.ledger.anchor import START
from askew_server.ledger.chain import check_links, last_link
from askew_server.ledger.storage import TABLES
from askew_server.ledger.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with a release of epsilon 2 and an answer to an analyst, closed."""
    with new_ledger(tmp_path) as ledger:
        ledger.fulfill(charged(ledger, request("monday", pure(2))).id, b"the list of monday")
        ledger.grant("plays", "ann", TERMS)
        ledger.fulfill(charged(ledger, answer("q1", 5)).id, b"the answer", outputs=2)
    return tmp_path


def test_a_total_that_is_no_sum_is_refused_though_chain_and_anchor_hold_it(folder: Path) -> None:
    """What only the recount sees. Planted bug: no `check_totals`."""
    path, anchor = files(folder)
    reseal(path, "UPDATE totals SET epsilon = '0/1'")
    anchor_again(path, anchor)
    assert_refused(folder, "is not the sum of the charges")


def test_a_charge_without_a_total_is_refused_though_chain_and_anchor_hold_it(folder: Path) -> None:
    path, anchor = files(folder)
    with closing(sqlite3.connect(path)) as database:
        [(newest,)] = database.execute("SELECT max(sequence) FROM totals")
    reseal(path, f"DELETE FROM totals WHERE sequence = {newest}")
    anchor_again(path, anchor)
    assert_refused(folder, "is in no total")


BEYOND = [
    (["UPDATE fulfilments SET outputs = 6 WHERE outputs = 2"], "passes its reservation"),
    (
        [
            "UPDATE charges SET rounds = 21 WHERE rounds = 5",
            "UPDATE fulfilments SET outputs = 21 WHERE outputs = 2",
        ],
        "more than was granted",
    ),
]


@pytest.mark.parametrize(("statements", "words"), BEYOND)
def test_an_answer_beyond_its_terms_is_refused_though_chain_and_anchor_hold_it(
    folder: Path, statements: list[str], words: str
) -> None:
    """What only the recount sees. Planted bug: no `check_answers`."""
    path, anchor = files(folder)
    reseal(path, *statements)
    anchor_again(path, anchor)
    assert_refused(folder, words)


def test_a_damaged_ledger_spends_nothing_while_it_is_checked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the fault is forgotten before the file is looked at, so whoever gets the lock
    first acts.
    """
    path, anchor = files(folder)
    reseal(path, *BEYOND[0][0])
    anchor_again(path, anchor)
    transaction = Store.transaction
    refused: list[str] = []

    def late(store: Store, begin: str = "BEGIN") -> AbstractContextManager[sqlite3.Connection]:
        if not refused:
            refused.append("more")
            with pytest.raises(LedgerFrozen):
                ledger.charge(request("more", pure(1)))
        return transaction(store, begin)

    with open_ledger(folder) as ledger:
        monkeypatch.setattr(Store, "transaction", late)
        with pytest.raises(LedgerFrozen, match=BEYOND[0][1]):
            ledger.verify()
    assert refused


CELLS = {
    "datasets": "epsilon = '64/1'",
    "grants": "k_star = 1000",
    "revocations": "principal = 'carol'",
    "charges": "epsilon = '1/b'",
    "sources": "place = zeroblob(32)",
    "fulfilments": "payload = x'00'",
    "repairs": "reason = 'another'",
    "carried": "epsilon = '4/1'",
    "totals": "epsilon = '1/a'",
}


@pytest.fixture
def every_table(folder: Path) -> Path:
    """The ledger's file with a row in each table: an old copy came back, and was repaired."""
    path, _ = files(folder)
    copy = path.read_bytes()
    with open_ledger(folder) as ledger:
        charged(ledger, request("lost", pure(3)))
    path.write_bytes(copy)
    with open_ledger(folder) as ledger:
        ledger.unfreeze("restored")
        ledger.grant("plays", "bob", TERMS)  # the repair closed ann's
        ledger.revoke("plays", "bob")
        events = EventDigests(b"r" * 32, b"p" * 32)
        charged(ledger, replace(request("of a log", pure(1)), events=events))
    return path


@pytest.mark.parametrize("table", TABLES)
def test_the_chain_covers_the_last_row_of_every_table(every_table: Path, table: str) -> None:
    """Planted bugs: a hash without `totals`; a check that leaves the newest link out."""
    where = f"WHERE sequence = (SELECT max(sequence) FROM {table})"
    rewrite(every_table, f"UPDATE {table} SET {CELLS[table]} {where}")
    with (
        closing(sqlite3.connect(every_table)) as database,
        pytest.raises(LedgerFrozen, match="missing or was rewritten"),
    ):
        check_links(database, (START.sequence, START.hash))


def test_a_check_goes_on_from_the_link_that_it_ended_with_and_from_no_other(folder: Path) -> None:
    """A chain of the same length, whole and another. Planted bug: only what is new is compared."""
    path, _ = files(folder)
    with closing(sqlite3.connect(path)) as database:
        seen = check_links(database, (START.sequence, START.hash))
        assert check_links(database, seen) == seen == last_link(database)
    reseal(path, "UPDATE fulfilments SET payload = x'00'")
    with (
        closing(sqlite3.connect(path)) as database,
        pytest.raises(LedgerFrozen, match="is not the row that it was"),
    ):
        check_links(database, seen)


def test_the_newest_link_alone_may_not_be_another(folder: Path) -> None:
    """Planted bug: a check of all links but the last."""
    path, _ = files(folder)
    with editing(path) as database:
        newest = last_link(database)[0]
        database.execute("UPDATE chain SET hash = zeroblob(32) WHERE sequence = ?", (newest,))
    with (
        closing(sqlite3.connect(path)) as database,
        pytest.raises(LedgerFrozen, match=f"row {newest} of the ledger is missing"),
    ):
        check_links(database, (START.sequence, START.hash))
