"""The hash chain over all rows: what it covers, how it grows, whether it is whole."""

from __future__ import annotations

import sqlite3
from hashlib import sha256

import msgspec

from askew.errors import LedgerFrozen
from askew.odometer import Spent
from askew_server.ledger.marks import START, Mark
from askew_server.ledger.rationals import spent_of
from askew_server.ledger.storage import TABLES

Link = tuple[int, bytes]
# Which tables have rows of a sequence: most acts write two, and a query of each table takes longer.
_WRITTEN = " UNION ALL ".join(
    f"SELECT '{table}' FROM {table} WHERE sequence = ?1"  # noqa: S608
    for table in TABLES
)


def last_link(database: sqlite3.Connection) -> Link:
    """Sequence and hash of the newest link."""
    row = database.execute("SELECT sequence, hash FROM chain ORDER BY sequence DESC LIMIT 1")
    return row.fetchone() or (START.sequence, START.hash)


def seal(database: sqlite3.Connection, sequence: int, after: Link) -> Link:
    """Add the link that follows `after`, over the rows of its sequence as they are stored."""
    link = (sequence, _hash(database, sequence, after[1]))
    database.execute("INSERT INTO chain VALUES (?, ?)", link)
    return link


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
        if not following or link != _hash(database, sequence, previous):
            raise LedgerFrozen(f"row {last + 1} of the ledger is missing or was rewritten")
        last, previous = sequence, link
    return last, previous


def _skips_lost_rows(database: sqlite3.Connection, sequence: int) -> bool:
    """Whether this row is a repair that follows the last row its anchor knew: see `repair`."""
    repair = "SELECT 1 FROM repairs WHERE (sequence, anchor_sequence) = (?, ?)"
    return database.execute(repair, (sequence, sequence - 1)).fetchone() is not None


def check_no_strays(database: sqlite3.Connection) -> None:
    """Every row has its link. Raises LedgerFrozen."""
    for table in TABLES:
        stray = f"SELECT 1 FROM {table} WHERE sequence NOT IN (SELECT sequence FROM chain)"  # noqa: S608
        if database.execute(stray).fetchone():
            raise LedgerFrozen(f"the ledger has rows in {table} that no link of the chain covers")


def mark_of(database: sqlite3.Connection, since: int, end: Link) -> Mark:
    """What the anchor has to remember of the last link: the totals of all after row `since`."""
    rows = database.execute("SELECT * FROM totals WHERE sequence > ? ORDER BY sequence", (since,))
    spent: dict[str, Spent] = {dataset: spent_of(columns) for _, dataset, *columns in rows}
    return Mark(*end, spent)


def holds(database: sqlite3.Connection, mark: Mark) -> bool:
    """Whether the link that a line of the anchor names is in this chain."""
    return mark == START or _hash_at(database, mark.sequence) == mark.hash


def _hash_at(database: sqlite3.Connection, sequence: int) -> bytes | None:
    row = database.execute("SELECT hash FROM chain WHERE sequence = ?", (sequence,)).fetchone()
    return row[0] if row else None


def _hash(database: sqlite3.Connection, sequence: int, previous: bytes) -> bytes:
    """SHA-256 of the previous hash and every row of the sequence, each column with its type."""
    written = {table for (table,) in database.execute(_WRITTEN, (sequence,))}
    rows = [
        (table, *row)
        for table in TABLES
        if table in written
        for row in database.execute(
            f"SELECT * FROM {table} WHERE sequence = ? ORDER BY 1, 2",  # noqa: S608
            (sequence,),
        )
    ]
    return sha256(previous + msgspec.msgpack.encode(rows)).digest()
