"""The rows of the ledger's file: entries and their signals, to and from SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from askew.errors import LedgerError, ParameterError
from askew_client.ledger.chain import Entry, Head, heads
from askew_client.ledger.rationals import rational_of
from askew_client.ledger.slots import check_slot

VERSION = 3
# A signal's space and slot are its entry's alone: what no link covers could be changed.
SCHEMA = """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'unfreeze')),
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    epsilon TEXT NOT NULL CHECK (epsilon GLOB '[1-9]*' OR (kind = 'unfreeze' AND epsilon = '0')),
    epsilon_per_distance TEXT CHECK (epsilon_per_distance GLOB '[1-9]*'),
    salt TEXT NOT NULL,
    link TEXT NOT NULL UNIQUE
) STRICT;
CREATE UNIQUE INDEX one_signal ON charges (space_version, slot) WHERE kind = 'signal';
CREATE TABLE signals (
    charge INTEGER PRIMARY KEY REFERENCES charges (id),
    record BLOB NOT NULL
) STRICT
"""


def entries(database: sqlite3.Connection) -> list[Entry]:
    """Every entry, oldest first. Raises LedgerError when the chain does not hold, and for what this
    program never writes: an entry that gives budget back, a signal for nothing, other text.
    """
    rows = database.execute(
        "SELECT c.link, c.kind, c.space_version, c.slot, c.epsilon, c.epsilon_per_distance, c.salt,"
        " s.record FROM charges AS c LEFT JOIN signals AS s ON s.charge = c.id ORDER BY c.id"
    ).fetchall()
    try:
        found = [_entry(row[1:]) for row in rows]
    except (ValueError, TypeError, ParameterError):
        raise LedgerError("the ledger is damaged; it is not used") from None
    if [head.link for head in heads(found)[1:]] != [row[0] for row in rows]:
        raise LedgerError("the ledger was altered: its chain does not hold; it is not used")
    return found


def append(database: sqlite3.Connection, head: Head, entry: Entry) -> Head:
    """Write one entry behind `head`, with its signal if it has one. Where the chain then ends."""
    epsilon_per_distance = (
        None if entry.epsilon_per_distance is None else str(entry.epsilon_per_distance)
    )
    following = head.extended(entry)
    cursor = database.execute(
        "INSERT INTO charges (kind, space_version, slot, epsilon, epsilon_per_distance, salt, link)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(entry.kind, entry.space_version, entry.slot),
            *(str(entry.epsilon), epsilon_per_distance, entry.salt, following.link),
        ),
    )
    if entry.signal is not None:
        row = (cursor.lastrowid, entry.signal)
        database.execute("INSERT INTO signals VALUES (?, ?)", row)
    return following


def _entry(row: Sequence[Any]) -> Entry:
    """Raises ValueError, TypeError and ParameterError for what this program never writes."""
    kind, space_version, slot, epsilon, epsilon_per_distance, salt, record = row
    check_slot(slot)
    epsilon_per_distance = (
        None if epsilon_per_distance is None else rational_of(epsilon_per_distance)
    )
    entry = Entry(
        kind, space_version, slot, rational_of(epsilon), epsilon_per_distance, salt, record
    )
    if epsilon_per_distance == 0 or (entry.epsilon == 0 and kind != "unfreeze"):
        raise ValueError
    return entry
