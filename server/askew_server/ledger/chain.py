"""The hash chain over all rows: what it covers, how an act adds to it, whether it is whole.

Nothing else is believed when something is spent: a process knows of the ledger what it checked
(every link, every total again from the rows) or wrote itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import msgspec

from askew.dp.composition import RunningLoss
from askew.errors import LedgerFrozen
from askew_server.ledger.anchor import START, AnchorEntry
from askew_server.ledger.reading import all_paid, analyst_budgets
from askew_server.ledger.records import Rule, StoredRelease, columns_of, spent_of
from askew_server.ledger.storage import TABLES

Link = tuple[int, bytes]
Row = tuple[object, ...]  # the name of its table, then its columns
_ORDER = {table: place for place, table in enumerate(TABLES)}
# Which tables have rows of a sequence: most acts write two, and a query of each table takes longer.
_WRITTEN = " UNION ALL ".join(
    f"SELECT '{table}' FROM {table} WHERE sequence = ?1"  # noqa: S608
    for table in TABLES
)
_ALL = " + ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)  # noqa: S608
_NEW = " + ".join(f"(SELECT count(*) FROM {table} WHERE sequence > ?1)" for table in TABLES)  # noqa: S608
_COUNT = f"SELECT {_ALL}, {_NEW}"


def last_link(database: sqlite3.Connection) -> Link:
    """Sequence and hash of the newest link."""
    row = database.execute("SELECT sequence, hash FROM chain ORDER BY sequence DESC LIMIT 1")
    return row.fetchone() or (START.sequence, START.hash)


def hash_over(rows: Iterable[Row], previous: bytes) -> bytes:
    """SHA-256 of the previous hash and the rows of one sequence, each column with its type."""
    ordered = sorted(rows, key=lambda row: (_ORDER[str(row[0])], str(row[2])))
    return sha256(previous + msgspec.msgpack.encode(ordered)).digest()


def stored_rows(database: sqlite3.Connection, sequence: int) -> list[Row]:
    """The rows of one sequence."""
    written = {table for (table,) in database.execute(_WRITTEN, (sequence,))}
    return [
        (table, *row)
        for table in written
        for row in database.execute(f"SELECT * FROM {table} WHERE sequence = ?", (sequence,))  # noqa: S608
    ]


def check_links(database: sqlite3.Connection, since: Link) -> Link:
    """Recompute every link after `since`; the newest. Raises LedgerFrozen at a rewritten row."""
    last, previous = since
    if last and _hash_at(database, last) != previous:
        raise LedgerFrozen(f"row {last} of the ledger is not the row that it was")
    links = database.execute(
        "SELECT sequence, hash FROM chain WHERE sequence > ? ORDER BY sequence", (last,)
    )
    for sequence, link in links:
        following = sequence == last + 1 or _skips_lost_rows(database, sequence)
        if not following or link != hash_over(stored_rows(database, sequence), previous):
            raise LedgerFrozen(f"row {last + 1} of the ledger is missing or was rewritten")
        last, previous = sequence, link
    return last, previous


def _skips_lost_rows(database: sqlite3.Connection, sequence: int) -> bool:
    """Whether this row is a repair that follows the last row its anchor knew: see `repair`."""
    repair = "SELECT 1 FROM repairs WHERE (sequence, anchor_sequence) = (?, ?)"
    return database.execute(repair, (sequence, sequence - 1)).fetchone() is not None


def check_no_strays(database: sqlite3.Connection, since: int, rows: int) -> int:
    """How many rows there are: each after row `since` has its link, and up to it there are still
    `rows`, so that nothing was put beside what its links cover. Raises LedgerFrozen.
    """
    for table in TABLES:
        unlinked = "sequence NOT IN (SELECT sequence FROM chain)"
        stray = f"SELECT 1 FROM {table} WHERE sequence > ? AND {unlinked}"  # noqa: S608
        if database.execute(stray, (since,)).fetchone():
            raise LedgerFrozen(f"the ledger has rows in {table} that no link of the chain covers")
    there, new = database.execute(_COUNT, (since,)).fetchone()
    if there - new != rows:
        raise LedgerFrozen(f"the ledger has not the rows that it had up to row {since}")
    return int(there)


def holds(database: sqlite3.Connection, mark: AnchorEntry) -> bool:
    """Whether the link that a line of the anchor names is in this chain."""
    return mark == START or _hash_at(database, mark.sequence) == mark.hash


def _hash_at(database: sqlite3.Connection, sequence: int) -> bytes | None:
    row = database.execute("SELECT hash FROM chain WHERE sequence = ?", (sequence,)).fetchone()
    return row[0] if row else None


class LedgerEntry:
    """The rows of one sequence, as they are written.

    Its link covers them as they were given. What somebody else put under this sequence is not among
    them, so it is found as what it is.
    """

    def __init__(
        self, database: sqlite3.Connection, after: CheckedLedger, sequence: int | None = None
    ) -> None:
        """The next row after what was checked, if no other `sequence` is named."""
        self.database, self._after = database, after
        self.sequence = after.link[0] + 1 if sequence is None else sequence
        self._rows: list[Row] = []
        self._totals: dict[str, Total] = {}

    def insert(self, table: str, *columns: str | bytes | int | None) -> None:
        """One row, of this sequence and these columns."""
        row = (self.sequence, *columns)
        places = ", ".join("?" * len(row))
        self.database.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608
        self._rows.append((table, *row))

    def spent_on(self, dataset: str) -> RunningLoss:
        """What was spent on a data set before this act."""
        return self._after.spent_on(dataset)

    def add_total(self, dataset: str, spent: RunningLoss) -> None:
        """The running total of a data set after this act."""
        self.insert("totals", dataset, *columns_of(spent))
        self._totals[dataset] = Total(self.sequence, spent)

    def seal(self) -> CheckedLedger:
        """Add the link over its rows; what is known then."""
        link = (self.sequence, hash_over(self._rows, self._after.link[1]))
        self.database.execute("INSERT INTO chain VALUES (?, ?)", link)
        rows = self._after.rows + len(self._rows)
        return CheckedLedger(link, rows, {**self._after.totals, **self._totals})


@dataclass(frozen=True)
class CheckedLedger:
    """The ledger up to a link.

    rows: how many its links cover. totals: of each data set that anything was spent on.
    """

    link: Link = START.link
    rows: int = 0
    totals: Mapping[str, Total] = field(default_factory=dict)

    def spent_on(self, dataset: str) -> RunningLoss:
        """The running total of all versions of a data set."""
        return self.totals[dataset].spent if dataset in self.totals else RunningLoss()

    def anchor_entry(self, since: int) -> AnchorEntry:
        """What the anchor remembers of the last link: the totals that changed after `since`."""
        spent = {name: each.spent for name, each in self.totals.items() if each.sequence > since}
        return AnchorEntry(*self.link, spent)


def check(database: sqlite3.Connection, since: CheckedLedger) -> CheckedLedger:
    """The ledger as it is now: links and totals after `since` recomputed, and no row beside them.

    What `since` covers is not read again, so a row of it that was rewritten, or put in the place of
    another, goes unseen; but no total of it is believed, and there are as many rows as it covers.
    Raises LedgerFrozen.
    """
    end = check_links(database, since.link)
    rows = check_no_strays(database, since.link[0], since.rows)
    return CheckedLedger(end, rows, check_totals(database, since.link[0], since.totals))


class Total(NamedTuple):
    """What was spent on a data set, and the row that changed it last."""

    sequence: int
    spent: RunningLoss


def check_totals(
    database: sqlite3.Connection, since: int, known: Mapping[str, Total]
) -> dict[str, Total]:
    """The totals, of which those up to row `since` are known: every stored one after it is the sum
    of the charges up to it. Raises LedgerFrozen.
    """
    changes, totals = _changes(database, since), dict(known)
    stored = database.execute(
        "SELECT * FROM totals WHERE sequence > ? ORDER BY sequence, dataset", (since,)
    )
    for sequence, dataset, *columns in stored:
        change = changes.pop((sequence, dataset), None)
        before = totals[dataset].spent if dataset in totals else RunningLoss()
        spent = before + (change or RunningLoss())
        if change is None or spent_of(columns) != spent:
            raise LedgerFrozen(f"the total at row {sequence} is not the sum of the charges")
        totals[dataset] = Total(sequence, spent)
    if changes:
        raise LedgerFrozen(f"the charge at row {min(changes)[0]} is in no total")
    return totals


def check_answers(database: sqlite3.Connection) -> None:
    """No answer is longer than its reservation, and no analyst had more than granted."""
    for paid in all_paid(database):
        given = paid.outputs if isinstance(paid, StoredRelease) else None
        if given is not None and given > getattr(paid.request.loss, "rounds", 0):
            raise LedgerFrozen(f"the answer to charge {paid.id} passes its reservation")
    for _, budget in analyst_budgets(database):
        had, terms = budget.answered, budget.terms
        if had.outputs > terms.k_star or had.calls > terms.l_star:
            raise LedgerFrozen(f"an analyst of {budget.dataset!r} had more than was granted")


def _changes(database: sqlite3.Connection, since: int) -> dict[tuple[int, str], RunningLoss]:
    """By row after `since` and data set: what the row spent."""
    changes = {
        (paid.id, paid.request.dataset): RunningLoss().plus(paid.request.loss)
        for paid in all_paid(database, since=since)
        if paid.request.rule is not Rule.GRANTED
    }
    for sequence, budget in analyst_budgets(database, since=since):
        changes[sequence, budget.dataset] = RunningLoss().plus(budget.terms.grant())
    carried = database.execute("SELECT * FROM carried WHERE sequence > ?", (since,))
    for sequence, dataset, *columns in carried:
        changes[sequence, dataset] = spent_of(columns)
    return changes
