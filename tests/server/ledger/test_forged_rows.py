"""The chain covers every row, and the recount every sum: each alone sees what nothing else does."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from server.ledger.dying import Killed, dying_before_the_commit
from server.ledger.forging import add, anchor_again, assert_refused, editing, reseal, rewrite
from server.ledger.scenes import (
    TERMS,
    answer,
    charged,
    epsilon_spent,
    files,
    new_ledger,
    open_ledger,
    pure,
    request,
)

from askew.dp.analyst import AnalystUsage
from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger import EventDigests
from askew_server.ledger import anchor as anchor_module
from askew_server.ledger.acts import add_grant
from askew_server.ledger.anchor import START, AnchorEntry, AnchorFile
from askew_server.ledger.chain import LedgerEntry, check_links, last_link
from askew_server.ledger.records import AnalystBudget, columns_of, rational_of
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


NOTHING = ("0/1", "0/1", "0/1", "0/1", "0/1")


def a_cap_of_4095(entry: LedgerEntry) -> None:
    cap = ("fff/1", "1/f4240", "1/3b9aca00", "2/1")
    entry.insert("datasets", "plays", "2", "anybody", "ADD_OR_REMOVE_ONE", *cap)


def a_grant_to_eve(entry: LedgerEntry) -> None:
    add_grant(entry, AnalystBudget("plays", "eve", TERMS, AnalystUsage(), closed=False))


def a_repair(entry: LedgerEntry) -> None:
    """It names the anchor's last line."""
    entry.insert("repairs", "restored", 0, *last_link(entry.database))
    entry.insert("carried", "plays", *NOTHING)
    entry.add_total("plays", entry.spent_on("plays"))


def a_repair_that_gives_back(entry: LedgerEntry) -> None:
    """What was spent is 2 and the loss of the grant, less both is nothing."""
    entry.insert("repairs", "restored", 0, *last_link(entry.database))
    spent = columns_of(entry.spent_on("plays"))
    entry.insert("carried", "plays", *(f"-{each}" if each != "0/1" else each for each in spent))
    entry.insert("totals", "plays", *NOTHING)


# As the program would write them: nothing but the anchor can tell.
FORGERIES = [a_cap_of_4095, a_grant_to_eve, a_repair]
Forged = Callable[[LedgerEntry], None]


@pytest.mark.parametrize("forged", FORGERIES)
def test_a_row_that_the_anchor_does_not_know_is_not_believed(folder: Path, forged: Forged) -> None:
    """Planted bug: a row one link ahead of the anchor taken for what a crash leaves."""
    add(files(folder)[0], forged)
    assert_refused(folder, "somebody else wrote rows")


@pytest.mark.parametrize("forged", FORGERIES)
def test_an_open_ledger_does_not_believe_it_either(folder: Path, forged: Forged) -> None:
    with open_ledger(folder) as ledger:
        add(files(folder)[0], forged)
        with pytest.raises(LedgerFrozen):
            ledger.charge(request("more", pure(1)))


@pytest.mark.parametrize("forged", FORGERIES)
def test_a_forgery_does_not_fit_into_the_gap_that_a_crash_leaves(
    folder: Path, forged: Forged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The anchor announced a row, the process died, and the forged one has its number."""
    path, anchor = files(folder)
    monkeypatch.setattr(Store, "transaction", dying_before_the_commit(Store.transaction))
    with open_ledger(folder) as ledger, pytest.raises(Killed):
        ledger.charge(request("more", pure(1)))
    monkeypatch.undo()
    _, announced = AnchorFile(anchor).head()
    assert announced is not None
    add(path, forged)
    with closing(sqlite3.connect(path)) as database:
        assert last_link(database)[0] == announced.sequence
    assert_refused(folder, "somebody else wrote rows")


def test_many_crashes_in_a_row_neither_lock_out_nor_spend(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each leaves an announcement, more of them than one look at the file's end holds."""
    _, anchor = files(folder)
    with open_ledger(folder) as ledger:
        before = epsilon_spent(ledger)
    kept, announced = AnchorFile(anchor).head()
    for number in range(300):
        AnchorFile(anchor).announce(AnchorEntry(kept.sequence + 1, bytes([number % 256]) * 32, {}))
    found, announced = AnchorFile(anchor).head()
    assert (found, announced and announced.hash) == (kept, bytes([299 % 256]) * 32)
    with open_ledger(folder) as ledger:
        assert ledger.frozen is None
        assert charged(ledger, request("more")).id == kept.sequence + 1
        assert epsilon_spent(ledger) == before + 1
        ledger.verify()


@pytest.mark.parametrize("left", [1, 40, 80])
@pytest.mark.parametrize("kept", [False, True])
def test_the_end_of_a_line_that_a_power_failure_left_is_no_line(
    folder: Path, left: int, kept: bool
) -> None:
    """Its first page never reached the disk, so zeros stand there, and its line break did. Planted
    bug: a damaged anchor, so that nothing is spent until the operator vouches.
    """
    path, anchor = files(folder)
    before = path.read_bytes(), anchor.read_bytes().rstrip(b"\0")
    with open_ledger(folder) as ledger:
        charged(ledger, request("more"))
    announced, committed = anchor.read_bytes().rstrip(b"\0").splitlines()[-2:]
    whole, torn = (announced + b"\n", committed) if kept else (b"", announced)
    anchor.write_bytes(before[1] + whole + bytes(len(torn) - left) + torn[-left:] + b"\n")
    if not kept:
        path.write_bytes(before[0])
    with open_ledger(folder) as ledger:
        assert ledger.frozen is None
        charged(ledger, request("and more"))
        ledger.verify()
    assert AnchorFile(anchor).lines()[1] is None


def test_the_anchor_is_on_the_disk_before_the_commit_and_before_the_return(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill cannot show it: the kernel keeps what a dead process wrote.

    Planted bugs: no fdatasync; a `_sync` that syncs nothing; a commit before the announcement.
    """
    steps: list[str] = []
    _, anchor = files(folder)
    sync = anchor_module._sync
    assert sync in (getattr(os, "fdatasync", None), os.fsync)

    def noted(file: int) -> None:
        lines = anchor.read_bytes().rstrip(b"\0").splitlines()
        steps.append("announced" if b"announced" in lines[-1] else "kept")
        sync(file)

    with open_ledger(folder) as ledger:
        ledger.charge(request("makes room"))
        monkeypatch.setattr(anchor_module, "_sync", noted)
        ledger._store._database.set_trace_callback(
            lambda sql: steps.append(sql) if sql == "COMMIT" else None
        )
        ledger.charge(request("more"))
    assert steps == ["announced", "COMMIT", "kept", "COMMIT"]


LOOSENED = [
    "UPDATE sqlite_schema SET sql = replace(sql, '[0-9a-f]*/', '*/') WHERE name = 'carried'",
    "CREATE TRIGGER more AFTER INSERT ON charges BEGIN SELECT 1; END",
    "CREATE INDEX more ON charges (epsilon)",
    "CREATE VIEW more AS SELECT * FROM totals",
    "DROP TRIGGER totals_no_update",
    "DROP INDEX newest_total",
]


def change_schema(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute(statement)
        database.commit()


@pytest.mark.parametrize("statement", LOOSENED)
def test_another_schema_is_refused_at_opening(folder: Path, statement: str) -> None:
    """Planted bug: no comparison; then a trigger writes rows that the program seals itself."""
    change_schema(files(folder)[0], statement)
    assert_refused(folder, "schema")


@pytest.mark.parametrize("statement", LOOSENED)
def test_another_schema_is_refused_before_every_act(folder: Path, statement: str) -> None:
    """Planted bug: once it was found as it should be, a look at new links alone."""
    with open_ledger(folder) as ledger:
        charged(ledger, request("first"))
        change_schema(files(folder)[0], statement)
        with pytest.raises(LedgerFrozen, match="schema"):
            ledger.charge(request("more"))


def test_a_repair_that_gives_back_is_refused_even_where_the_anchor_vouches_for_it(
    folder: Path,
) -> None:
    """Every sum fits. Planted bug: sums of any sign."""
    path, anchor = files(folder)
    add(path, a_repair_that_gives_back)
    anchor_again(path, anchor)
    with open_ledger(folder) as ledger:
        assert ledger.frozen is not None


@pytest.mark.parametrize(
    "text", ["-1/1", "1/-1", "-1/-1", "+1/1", " 1/1", "1_0/1", "1/0", "1", "/"]
)
def test_a_stored_number_is_never_negative_and_written_in_one_way(text: str) -> None:
    """Planted bug: whatever int() reads."""
    with pytest.raises(LedgerError, match="damaged"):
        rational_of(text)


def test_an_anchor_with_a_negative_sum_is_damaged(folder: Path) -> None:
    _, anchor = files(folder)
    kept, _ = AnchorFile(anchor).head()
    line = f'{{"sequence": {kept.sequence}, "hash": "{kept.hash.hex()}", "spent": {{"plays": '
    columns = '["-1/1", "0/1", "0/1", "0/1", "0/1"]'
    anchor.write_text(f"{line}{columns}}}}}\n")
    with open_ledger(folder) as ledger:
        assert "is damaged" in str(ledger.frozen)


def test_forging_as_the_tests_do_it_leaves_a_ledger_that_works(folder: Path) -> None:
    """Or every refusal above could have another reason."""
    path, anchor = files(folder)
    rewrite(path)
    reseal(path)
    anchor_again(path, anchor)
    with open_ledger(folder) as ledger:
        ledger.verify()
        charged(ledger, request("more", pure(Fraction(1, 2))))
