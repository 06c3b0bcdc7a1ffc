"""The rows of the ledger's file: signals and entries, to and from SQL."""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from fractions import Fraction

from askew.errors import AskewError, LedgerError
from askew.lattice import Lattice
from askew.signal import Signal
from askew_client.chain import Entry, Head, heads

SCHEMA = """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'unfreeze')),
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    epsilon TEXT NOT NULL CHECK (epsilon GLOB '[1-9]*' OR (kind = 'unfreeze' AND epsilon = '0')),
    link TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE signals (
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    charge INTEGER NOT NULL UNIQUE REFERENCES charges (id),
    step_exponent INTEGER NOT NULL,
    inverse_rate INTEGER NOT NULL,
    coordinates BLOB NOT NULL,
    PRIMARY KEY (space_version, slot)
) STRICT
"""
_SIGNAL = "step_exponent, inverse_rate, coordinates"
_Packed = tuple[int, int, bytes]


def find(database: sqlite3.Connection, space_version: str, slot: str) -> Signal | None:
    """The stored signal of (space version, slot). Raises LedgerError if it is damaged."""
    row: _Packed | None = database.execute(
        f"SELECT {_SIGNAL} FROM signals WHERE space_version = ? AND slot = ?",  # noqa: S608
        (space_version, slot),
    ).fetchone()
    return None if row is None else _unpacked(space_version, row)


def entries(database: sqlite3.Connection) -> list[Entry]:
    """Every entry, oldest first. Raises LedgerError when the chain does not hold."""
    rows = database.execute(
        "SELECT c.kind, c.space_version, c.slot, c.epsilon, c.link, s.step_exponent,"
        " s.inverse_rate, s.coordinates"
        " FROM charges AS c LEFT JOIN signals AS s ON s.charge = c.id ORDER BY c.id"
    ).fetchall()
    try:
        found = [_entry(row[0], row[1], row[2], row[3], row[5:]) for row in rows]
    except (ValueError, TypeError, ZeroDivisionError):
        raise LedgerError("the ledger is damaged; it is not used") from None
    if [head.link for head in heads(found)[1:]] != [row[4] for row in rows]:
        raise LedgerError("the ledger was altered: its chain does not hold; it is not used")
    return found


def append(
    database: sqlite3.Connection, head: Head, entry: Entry, signal: Signal | None = None
) -> Head:
    """Write one entry behind `head`, with its signal if it has one; the new head."""
    packed = None if signal is None else _packed(signal)
    entry = _entry(entry.kind, entry.space_version, entry.slot, str(entry.epsilon), packed)
    after = head.extended(entry)
    where = (entry.space_version, entry.slot)
    cursor = database.execute(
        "INSERT INTO charges (kind, space_version, slot, epsilon, link) VALUES (?, ?, ?, ?, ?)",
        (entry.kind, *where, str(entry.epsilon), after.link),
    )
    if packed is not None:
        database.execute(
            "INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?)", (*where, cursor.lastrowid, *packed)
        )
    return after


def _entry(kind: str, space_version: str, slot: str, epsilon: str, packed: _Packed | None) -> Entry:
    digest = ""
    if packed is not None and packed[2] is not None:  # an entry without a signal joins to nulls
        digest = hashlib.sha256(repr(packed).encode()).hexdigest()
    return Entry(kind, space_version, slot, Fraction(epsilon), digest)


def _packed(signal: Signal) -> _Packed:
    coordinates = struct.pack(f"<{len(signal.coordinates)}i", *signal.coordinates)
    return signal.lattice.step_exponent, signal.lattice.inverse_rate, coordinates


def _unpacked(space_version: str, packed: _Packed) -> Signal:
    step_exponent, inverse_rate, coordinates = packed
    try:
        values = struct.unpack(f"<{len(coordinates) // 4}i", coordinates)
        return Signal(space_version, Lattice(step_exponent, inverse_rate), values)
    except (struct.error, AskewError):
        raise LedgerError("a stored signal is damaged; it is not sent and not redrawn") from None
