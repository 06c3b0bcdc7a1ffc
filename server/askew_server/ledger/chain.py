"""The hash chain over all rows: what it covers, how it grows, whether it is whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from hashlib import sha256

import msgspec

from askew.errors import LedgerFrozen
from askew_server.ledger.marks import START, Mark
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


def holds(database: sqlite3.Connection, mark: Mark) -> bool:
    """Whether the link that a line of the anchor names is in this chain."""
    return mark == START or _hash_at(database, mark.sequence) == mark.hash


def _hash_at(database: sqlite3.Connection, sequence: int) -> bytes | None:
    row = database.execute("SELECT hash FROM chain WHERE sequence = ?", (sequence,)).fetchone()
    return row[0] if row else None
