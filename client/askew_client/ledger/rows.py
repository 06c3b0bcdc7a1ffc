"""The rows of the ledger's file: signals and entries, to and from SQL."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import replace
from fractions import Fraction

from askew.errors import LedgerError
from askew.signal import Signal
from askew_client.ledger.chain import Entry, Head, heads
from askew_client.ledger.record import decode_signal, encode_signal

SCHEMA = """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'unfreeze')),
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    epsilon TEXT NOT NULL CHECK (epsilon GLOB '[1-9]*' OR (kind = 'unfreeze' AND epsilon = '0')),
    per_distance TEXT CHECK (per_distance GLOB '[1-9]*'),
    link TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE signals (
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    charge INTEGER NOT NULL UNIQUE REFERENCES charges (id),
    record BLOB NOT NULL,
    PRIMARY KEY (space_version, slot)
) STRICT
"""


def find(database: sqlite3.Connection, space_version: str, slot: str) -> Signal | None:
    """The stored signal of (space version, slot). Raises LedgerError if it is damaged."""
    row = database.execute(
        "SELECT record FROM signals WHERE space_version = ? AND slot = ?", (space_version, slot)
    ).fetchone()
    return None if row is None else decode_signal(space_version, row[0])


def entries(database: sqlite3.Connection) -> list[Entry]:
    """Every entry, oldest first. Raises LedgerError when the chain does not hold."""
    rows = database.execute(
        "SELECT c.kind, c.space_version, c.slot, c.epsilon, c.per_distance, s.record, c.link"
        " FROM charges AS c LEFT JOIN signals AS s ON s.charge = c.id ORDER BY c.id"
    ).fetchall()
    try:
        found = [
            Entry(kind, space, slot, Fraction(epsilon), _optional(near), _digest(record))
            for kind, space, slot, epsilon, near, record, _ in rows
        ]
    except (ValueError, TypeError, ZeroDivisionError):
        raise LedgerError("the ledger is damaged; it is not used") from None
    if [head.link for head in heads(found)[1:]] != [row[-1] for row in rows]:
        raise LedgerError("the ledger was altered: its chain does not hold; it is not used")
    return found


def append(
    database: sqlite3.Connection, head: Head, entry: Entry, signal: Signal | None = None
) -> None:
    """Write one entry behind `head`, with its signal if it has one."""
    record = None if signal is None else encode_signal(signal)
    entry = replace(entry, signal=_digest(record))
    near = None if entry.per_distance is None else str(entry.per_distance)
    where = (entry.space_version, entry.slot)
    cursor = database.execute(
        "INSERT INTO charges (kind, space_version, slot, epsilon, per_distance, link)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (entry.kind, *where, str(entry.epsilon), near, head.extended(entry).link),
    )
    if record is not None:
        database.execute(
            "INSERT INTO signals VALUES (?, ?, ?, ?)", (*where, cursor.lastrowid, record)
        )


def _digest(record: bytes | None) -> str:
    return "" if record is None else hashlib.sha256(record).hexdigest()


def _optional(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
