"""The ledger's entries as rows of SQL, their signals as bytes, and which one is sent again.

A signal is kept as

kind (1 byte: 1 lattice, 2 map), parameters, then the values; little-endian
lattice   step_exponent, inverse_rate (4 bytes each)
map       step_exponent, inverse_rate, cosine (4 bytes each)
values    4 bytes each, signed

A signal of tastes or axes is found by its space, the handle of a named value or "", and its month.
A place's is of no space and of every month: its random handle alone finds it, so no server, space,
region or month draws a second one.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from typing import Any

from askew.dp.mark import START, Position
from askew.dp.privacy import SignalCharge
from askew.errors import AskewError, LedgerError, ParameterError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Mechanism, Signal
from askew.spaces.map import MapNoise
from askew_client.signals.account import Entry, check_month, clock, rational_of

_LATTICE, _MAP = struct.Struct("<BII"), struct.Struct("<BIII")


def encode_signal(signal: Signal) -> bytes:
    """Return a signal as bytes: its kind, the mechanism's parameters, then four bytes for each
    value, little-endian; everything but the space's version.
    """
    mechanism = signal.mechanism
    match mechanism:
        case LatticeLaplace():
            head = _LATTICE.pack(1, mechanism.step_exponent, mechanism.inverse_rate)
        case MapNoise():
            lattice = mechanism.lattice
            head = _MAP.pack(2, lattice.step_exponent, lattice.inverse_rate, mechanism.cosine)
    return head + struct.pack(f"<{len(signal.values)}i", *signal.values)


def decode_signal(space_version: str, record: bytes) -> Signal:
    """Return the signal that `encode_signal` made this record of, in this space. Raises LedgerError
    for any other bytes.
    """
    try:
        mechanism, values = _parts(record)
        return Signal(space_version, mechanism, struct.unpack(f"<{len(values) // 4}i", values))
    except (struct.error, AskewError):
        raise LedgerError("a stored signal is damaged; it is not sent and not redrawn") from None


def entry_of(kind: str, signal: Signal, month: str, charge: SignalCharge, handle: str) -> Entry:
    """Return the ledger's entry of a signal, with its charge, before it is written."""
    return Entry(
        kind,
        signal.space_version,
        month,
        charge.epsilon_per_rating,
        encode_signal(signal),
        handle,
        charge.epsilon_per_km,
    )


def _parts(record: bytes) -> tuple[Mechanism, bytes]:
    match record[:1]:
        case b"\x01":
            _, step_exponent, inverse_rate = _LATTICE.unpack_from(record)
            return LatticeLaplace(step_exponent, inverse_rate), record[_LATTICE.size :]
        case b"\x02":
            _, step_exponent, inverse_rate, cosine = _MAP.unpack_from(record)
            lattice = HexagonalLattice(step_exponent, inverse_rate)
            return MapNoise(lattice, cosine), record[_MAP.size :]
        case _:
            raise struct.error  # as for bytes that are too few


VERSION = 6
# `PrivateDatabase` splits at ";\n": a ";" elsewhere, as a trigger's, must not end a line.
SCHEMA = """
CREATE TABLE charges (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    id TEXT NOT NULL CHECK (length(id) = 32),
    kind TEXT NOT NULL CHECK (kind IN ('signal', 'accept')),
    space_version TEXT NOT NULL,
    handle TEXT NOT NULL,
    month TEXT NOT NULL,
    epsilon_per_rating TEXT NOT NULL
        CHECK (epsilon_per_rating GLOB '[1-9]*' OR epsilon_per_rating = '0'),
    epsilon_per_km TEXT NOT NULL CHECK (epsilon_per_km GLOB '[1-9]*' OR epsilon_per_km = '0'),
    CHECK (
        kind = 'accept'
        OR (kind = 'signal' AND (epsilon_per_rating = '0') <> (epsilon_per_km = '0'))
    )
) STRICT;
CREATE UNIQUE INDEX one_signal ON charges (space_version, handle, month) WHERE kind <> 'accept';
CREATE UNIQUE INDEX one_place ON charges (handle)
    WHERE kind <> 'accept' AND space_version = '';
CREATE TABLE signals (
    charge INTEGER PRIMARY KEY REFERENCES charges (sequence),
    record BLOB NOT NULL
) STRICT;
""" + ";\n".join(
    f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for table in ("charges", "signals")
    for verb in ("UPDATE", "DELETE")
)
_COLUMNS = "kind, space_version, month, epsilon_per_rating, handle, epsilon_per_km"


def read_entries(database: sqlite3.Connection) -> list[Entry]:
    """Return every entry of the ledger, oldest first; [] for a new one. Raises LedgerError for what
    this program never writes.
    """
    rows = database.execute(
        f"SELECT record, {_COLUMNS} FROM charges"  # noqa: S608  # a constant
        " LEFT JOIN signals ON charge = sequence ORDER BY sequence"
    )
    try:
        return [_entry(row[0], row[1:]) for row in rows]
    except (ValueError, TypeError, ParameterError):
        raise LedgerError("the ledger is damaged; it is not used") from None


def last_entries(database: sqlite3.Connection) -> tuple[Position, Position | None]:
    """Return the positions (sequence, id) of the last entry and of the one before it, as
    `askew.dp.mark.compare` takes them: START where there is no entry, None before START.
    """
    newest = "SELECT sequence, id FROM charges ORDER BY sequence DESC LIMIT 2"
    # No entry: START, None; one: it, START; more: the last two.
    end, before, *_ = (*database.execute(newest), START, None)
    return end, before


def append_entry(database: sqlite3.Connection, position: Position, entry: Entry) -> None:
    """Write one entry at this position (sequence, id), with its signal if it has one; the caller
    commits.
    """
    database.execute(
        f"INSERT INTO charges (sequence, id, {_COLUMNS})"  # noqa: S608  # a constant
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *position,
            *(entry.kind, entry.space_version, entry.month),
            *(str(entry.epsilon_per_rating), entry.handle, str(entry.epsilon_per_km)),
        ),
    )
    if entry.signal is not None:
        database.execute("INSERT INTO signals VALUES (?, ?)", (position[0], entry.signal))


def _entry(record: bytes | None, row: Sequence[Any]) -> Entry:
    """Return the entry of a row. Raises ValueError, TypeError and ParameterError for what this
    program never writes.
    """
    kind, space_version, month, per_rating, handle, per_km = row
    check_month(month)
    spent = rational_of(per_rating)
    return Entry(kind, space_version, month, spent, record, handle, rational_of(per_km))


def find(
    entries: Sequence[Entry], space_version: str, month: str, handle: str
) -> tuple[str, Entry | None]:
    """Return the month that counts, and the entry whose signal is sent again in it, or None.

    The told month comes first, though the clock be past it: what was sent then is free. Where it
    has no signal, the later of it and of the clock counts: the clock never runs back.
    """
    entry = stored(entries, space_version, handle, month)
    if entry is None:
        month = max(month, clock(entries))
        entry = stored(entries, space_version, handle, month)
    return month, entry


def stored(entries: Sequence[Entry], space_version: str, handle: str, month: str) -> Entry | None:
    """Return the first entry with a signal of this space, handle and month, a place's of any month;
    None where there is none.
    """
    for entry in entries:
        key, is_of_month = (entry.space_version, entry.handle), entry.lasts or entry.month == month
        if key == (space_version, handle) and is_of_month and entry.signal is not None:
            return entry
    return None


def signal_of(entry: Entry) -> Signal:
    """Return the signal of an entry. Raises LedgerError for a record that is damaged."""
    return decode_signal(entry.space_version, entry.signal or b"")
