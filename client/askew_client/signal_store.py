"""The device's memory of what it sent and what that cost: one SQLite file, mode 0600.

A signal and its charge are written in one transaction, before anything is sent. So a crash loses
budget, never privacy, and a retry, a restart or a changed setting finds the stored signal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from askew.errors import BudgetExceeded, LedgerError, ParameterError
from askew.privacy import SignalCharge
from askew.signal import Signal
from askew_client.signal_record import decode_signal, encode_signal

_VERSION = 2
_PATIENCE = 10  # seconds to wait for another process
_APPLICATION = 0x41736B77  # marks the file as ours: "Askw"
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
CREATE TABLE charges (
    id INTEGER PRIMARY KEY,
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    numerator INTEGER NOT NULL CHECK (numerator > 0),
    denominator INTEGER NOT NULL CHECK (denominator > 0),
    per_distance TEXT
) STRICT;
CREATE TABLE signals (
    space_version TEXT NOT NULL,
    slot TEXT NOT NULL,
    charge INTEGER NOT NULL UNIQUE REFERENCES charges (id),
    record BLOB NOT NULL,
    PRIMARY KEY (space_version, slot)
) STRICT;
PRAGMA user_version = {_VERSION};
"""


@dataclass(frozen=True)
class Charge:
    """One fresh signal: when and where it was spent, and what: epsilon between any two people, and
    epsilon per unit distance where the mechanism has one.
    """

    space_version: str
    slot: str
    epsilon: Fraction
    epsilon_per_distance: Fraction | None


class SignalStore:
    """Signals and charges of one device. Safe for several processes at once.

    Every method raises LedgerError when the file cannot be read, trusted or written.
    """

    def __init__(self, path: Path, lifetime_cap: Fraction) -> None:
        self._path = path
        self._cap = lifetime_cap

    def remember(
        self, space_version: str, slot: str, charge: SignalCharge, draw: Callable[[], Signal]
    ) -> Signal:
        """The stored signal of (space version, slot), or a fresh one, charged and stored first.

        Raises BudgetExceeded, before drawing, if the charge would pass the lifetime cap, and
        ParameterError for a charge that is not positive.
        """
        if charge.epsilon <= 0:
            raise ParameterError("charge", str(charge.epsilon), "positive")
        with self._transaction() as database:
            stored = _find(database, space_version, slot)
            if stored is not None:
                return stored
            spent = _spent(database)
            if spent + charge.epsilon > self._cap:
                raise BudgetExceeded(charge.epsilon, spent, self._cap)
            signal = draw()
            _insert(database, slot, charge, signal)
        return signal

    def charges(self) -> tuple[Charge, ...]:
        """Every charge, oldest first."""
        with self._transaction() as database:
            return _charges(database)

    def spent(self) -> Fraction:
        """The sum of every charge, epsilon between any two people."""
        with self._transaction() as database:
            return _spent(database)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One immediate transaction: nobody else reads or writes until it ends."""
        try:
            database = self._open()
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(f"the ledger {self._path} cannot be opened: {error}") from None
        try:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {self._path} cannot be used: {error}") from None
        finally:
            database.close()  # rolls back what was not committed

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            self._path.touch(mode=0o600)
        if not self._path.is_file():
            raise LedgerError(f"the ledger {self._path} is no regular file")
        database = sqlite3.connect(self._path, isolation_level=None, timeout=_PATIENCE)
        try:
            _create_if_new(database, self._path)
            self._path.chmod(0o600)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
        except BaseException:
            database.close()
            raise
        return database


def _create_if_new(database: sqlite3.Connection, path: Path) -> None:
    """Make the tables in an empty file; refuse a file that is not ours, and leave it as it is."""
    database.execute("BEGIN IMMEDIATE")  # one of several processes makes them, the others wait
    version = _pragma(database, "user_version")
    if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in _SCHEMA.split(";"):
            database.execute(statement)
        version = _VERSION
    elif _pragma(database, "application_id") != _APPLICATION:
        raise LedgerError(f"{path} is not a ledger of this program")
    if version != _VERSION:
        raise LedgerError(f"the ledger {path} has version {version}, this program reads {_VERSION}")
    database.execute("COMMIT")


def _pragma(database: sqlite3.Connection, name: str) -> int:
    value: int = database.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _find(database: sqlite3.Connection, space_version: str, slot: str) -> Signal | None:
    row = database.execute(
        "SELECT record FROM signals WHERE space_version = ? AND slot = ?", (space_version, slot)
    ).fetchone()
    return decode_signal(space_version, row[0]) if row is not None else None


def _spent(database: sqlite3.Connection) -> Fraction:
    return sum((charge.epsilon for charge in _charges(database)), Fraction(0))


def _charges(database: sqlite3.Connection) -> tuple[Charge, ...]:
    rows = database.execute(
        "SELECT space_version, slot, numerator, denominator, per_distance FROM charges ORDER BY id"
    )
    return tuple(
        Charge(space, slot, Fraction(n, d), Fraction(per) if per is not None else None)
        for space, slot, n, d, per in rows
    )


def _insert(database: sqlite3.Connection, slot: str, charge: SignalCharge, signal: Signal) -> None:
    where = (signal.space_version, slot)
    epsilon, per_distance = charge.epsilon, charge.epsilon_per_distance
    cursor = database.execute(
        "INSERT INTO charges (space_version, slot, numerator, denominator, per_distance)"
        " VALUES (?, ?, ?, ?, ?)",
        (*where, epsilon.numerator, epsilon.denominator, per_distance and str(per_distance)),
    )
    database.execute(
        "INSERT INTO signals VALUES (?, ?, ?, ?)",
        (*where, cursor.lastrowid, encode_signal(signal)),
    )
