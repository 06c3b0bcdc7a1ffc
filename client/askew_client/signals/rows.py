"""The rows of the ledger's file: entries and their signals, to and from SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from askew.errors import LedgerError, ParameterError
from askew_client.signals.chain import Entry, Head, heads
from askew_client.signals.rationals import rational_of
from askew_client.signals.slots import check_slot

VERSION = 4
# A signal's space, handle and slot are its entry's alone: what no link covers could be changed.
SCHEMA = """
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'copy', 'unfreeze')),
    space_version TEXT NOT NULL,
    handle TEXT NOT NULL,
    slot TEXT NOT NULL,
    epsilon TEXT NOT NULL CHECK (epsilon GLOB '[1-9]*' OR epsilon = '0'),
    epsilon_per_distance TEXT CHECK (epsilon_per_distance GLOB '[1-9]*'),
    epsilon_per_km TEXT NOT NULL CHECK (epsilon_per_km GLOB '[1-9]*' OR epsilon_per_km = '0'),
    salt TEXT NOT NULL,
    link TEXT NOT NULL UNIQUE,
    CHECK (
        kind = 'unfreeze'
        OR (kind = 'copy' AND epsilon = '0' AND epsilon_per_km = '0')
        OR (kind = 'signal' AND (epsilon = '0') <> (epsilon_per_km = '0'))
    )
) STRICT;
CREATE UNIQUE INDEX one_signal ON charges (space_version, handle, slot) WHERE kind <> 'unfreeze';
CREATE UNIQUE INDEX one_place ON charges (handle)
    WHERE kind <> 'unfreeze' AND space_version = '';
CREATE TABLE signals (
    charge INTEGER PRIMARY KEY REFERENCES charges (id),
    record BLOB NOT NULL
) STRICT
"""
_COLUMNS = "kind, space_version, slot, epsilon, epsilon_per_distance, salt, handle, epsilon_per_km"


def entries(database: sqlite3.Connection) -> list[Entry]:
    """Every entry, oldest first. Raises LedgerError when the chain does not hold, and for what this
    program never writes: an entry that gives budget back, a signal for nothing, other text.
    """
    rows = database.execute(
        f"SELECT link, record, {_COLUMNS} FROM charges"  # noqa: S608  # a constant
        " LEFT JOIN signals ON charge = id ORDER BY id"
    ).fetchall()
    try:
        found = [_entry(row[1], row[2:]) for row in rows]
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
        f"INSERT INTO charges ({_COLUMNS}, link)"  # noqa: S608  # a constant
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(entry.kind, entry.space_version, entry.slot),
            *(str(entry.epsilon), epsilon_per_distance, entry.salt),
            *(entry.handle, str(entry.epsilon_per_km), following.link),
        ),
    )
    if entry.signal is not None:
        row = (cursor.lastrowid, entry.signal)
        database.execute("INSERT INTO signals VALUES (?, ?)", row)
    return following


def _entry(record: bytes | None, row: Sequence[Any]) -> Entry:
    """Raises ValueError, TypeError and ParameterError for what this program never writes."""
    kind, space_version, slot, epsilon, epsilon_per_distance, salt, handle, per_km = row
    check_slot(slot)
    epsilon_per_distance = (
        None if epsilon_per_distance is None else rational_of(epsilon_per_distance)
    )
    numbers = rational_of(epsilon), epsilon_per_distance
    entry = Entry(kind, space_version, slot, *numbers, salt, record, handle, rational_of(per_km))
    if epsilon_per_distance == 0 or not _is_written(entry):
        raise ValueError
    return entry


def _is_written(entry: Entry) -> bool:
    """Whether this program writes such an entry: a signal costs in one account, in a place's where
    it lasts; a copy costs nothing; and who accepts a ledger draws nothing.
    """
    costs = entry.epsilon > 0, entry.epsilon_per_km > 0
    match entry.kind:
        case "signal":
            return costs == ((False, True) if entry.lasts else (True, False))
        case "copy":
            return costs == (False, False) and entry.handle != "" and entry.signal is not None
        case "unfreeze":
            return entry.signal is None and entry.handle == ""
        case _:
            return False
