"""The ledger's SQLite file: its tables, who may write it, how it is opened, what its failures
mean.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from askew.errors import LedgerError, storage_reason
from askew_server.ledger.records import SUMS

VERSION = 1
APPLICATION = 0x41736B4C  # marks the file as ours: "AskL"

# Rationals are "numerator/denominator" in hexadecimal: exact, and free of the limit that Python
# sets to the decimal digits of an int. Every row belongs to one act, by `sequence`.
_RATIONAL = "TEXT NOT NULL CHECK ({0} GLOB '[0-9a-f]*/[1-9a-f]*')"
_SPENT_COLUMNS = ", ".join(f"{name} {_RATIONAL.format(name)}" for name in SUMS)
_SEQUENCE = "sequence INTEGER PRIMARY KEY REFERENCES acts (sequence)"
_NAME = "TEXT NOT NULL CHECK (length({0}) BETWEEN 1 AND 200)"

TABLES = {
    "acts": """
        sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
        id TEXT NOT NULL CHECK (length(id) = 32)
    """,
    "datasets": f"""
        {_SEQUENCE},
        name {_NAME.format("name")},
        version {_NAME.format("version")},
        unit {_NAME.format("unit")},
        neighbors TEXT NOT NULL CHECK (neighbors IN ('ADD_OR_REMOVE_ONE', 'REPLACE_ONE')),
        epsilon {_RATIONAL.format("epsilon")},
        delta {_RATIONAL.format("delta")},
        slack {_RATIONAL.format("slack")},
        conversion_order TEXT,
        UNIQUE (name, version)
    """,
    "grants": f"""
        {_SEQUENCE},
        dataset {_NAME.format("dataset")},
        principal {_NAME.format("principal")},
        k_star INTEGER NOT NULL CHECK (k_star > 0),
        l_star INTEGER NOT NULL CHECK (l_star > 0),
        epsilon {_RATIONAL.format("epsilon")},
        delta {_RATIONAL.format("delta")},
        slack {_RATIONAL.format("slack")}
    """,
    "revocations": f"""
        {_SEQUENCE},
        dataset {_NAME.format("dataset")},
        principal {_NAME.format("principal")}
    """,
    "charges": f"""
        {_SEQUENCE},
        dataset TEXT NOT NULL,
        version TEXT NOT NULL,
        principal TEXT NOT NULL CHECK (length(principal) <= 200),
        key {_NAME.format("key")},
        digest BLOB NOT NULL CHECK (length(digest) = 32),
        rule TEXT NOT NULL CHECK (rule IN ('basic', 'zcdp', 'granted')),
        epsilon {_RATIONAL.format("epsilon")},
        delta TEXT CHECK (delta GLOB '[0-9a-f]*/[1-9a-f]*'),
        rounds INTEGER CHECK (rounds > 0),
        place BLOB CHECK (length(place) = 32),
        day TEXT CHECK (length(day) = 10),
        UNIQUE (dataset, principal, key),
        FOREIGN KEY (dataset, version) REFERENCES datasets (name, version),
        CHECK ((rule = 'granted') = (principal != '')),
        CHECK ((rule = 'basic') = (rounds IS NULL)),
        CHECK (delta IS NOT NULL OR rounds IS NULL)
    """,
    "fulfilments": f"""
        {_SEQUENCE},
        charge INTEGER NOT NULL UNIQUE REFERENCES charges (sequence),
        payload BLOB NOT NULL,
        outputs INTEGER CHECK (outputs > 0)
    """,
    "acceptances": f"""
        {_SEQUENCE},
        standing TEXT NOT NULL
    """,
    "totals": f"""
        sequence INTEGER NOT NULL REFERENCES acts (sequence),
        dataset TEXT NOT NULL,
        {_SPENT_COLUMNS},
        PRIMARY KEY (sequence, dataset)
    """,
}
_INDEXES = (
    "CREATE INDEX newest_total ON totals (dataset, sequence)",
    "CREATE INDEX by_principal ON charges (dataset, principal, sequence) WHERE principal != ''",
)
_TRIES = 100  # of rivals that make the file at the same moment


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise whatever the disk or SQLite reports in the body of a `with` as a LedgerError that says
    what it means.
    """
    try:
        yield
    except (OSError, UnicodeDecodeError, sqlite3.Error) as error:
        raise LedgerError(f"the ledger {path} cannot be used: {storage_reason(error)}") from None


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Return a connection to the file, which is made if it is not there; a file that is not ours is
    refused and left as it is. patience: seconds to wait for another process.

    A new one is the account's alone. Whether others may read it is the operator's decision, which
    is kept; that they may write it, or its journal, is refused. Raises LedgerError.
    """
    if path.exists() and not path.is_file():
        raise LedgerError(f"the ledger {path} is no regular file")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    real = path.resolve()  # SQLite keeps its journal beside the file that a link names
    for journal in ("", "-wal", "-shm"):
        check_own(real.with_name(real.name + journal), "ledger")
    database = sqlite3.connect(
        path, isolation_level=None, timeout=patience, check_same_thread=False
    )
    try:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("PRAGMA recursive_triggers = ON")  # REPLACE is a deletion, too
        database.execute("PRAGMA trusted_schema = OFF")
        _create_if_new(database, path)
        check_file(database, path)
        write_ahead(database)
        database.execute("PRAGMA synchronous = FULL")
    except BaseException:
        database.close()
        raise
    return database


def check_file(database: sqlite3.Connection, path: Path) -> None:
    """Raise LedgerError where pages are damaged, or tables, checks and triggers are not as this
    program makes them: without a trigger, rows could be rewritten.
    """
    report = pragma(database, "quick_check")
    if report != "ok":
        raise LedgerError(f"the ledger {path} is damaged: {report}. Restore a backup")
    foreign = _objects(database) ^ _own_objects()
    if foreign:
        names = ", ".join(sorted({f"{name}" for _, name, _, _ in foreign}))  # bytes, if damaged
        text = f"the ledger {path} has a schema that this program does not make: {names}"
        raise LedgerError(f"{text}. Restore a backup")


def _objects(database: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _own_objects() -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in _schema():
            database.execute(statement)
        return _objects(database)


def pragma(database: sqlite3.Connection, name: str) -> object:
    """Return the value that SQLite has for a pragma of this name."""
    value: object = database.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def write_ahead(database: sqlite3.Connection) -> None:
    """Turn write-ahead logging on, unless it is. SQLite does not wait for others there: wait, and
    try again.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            if pragma(database, "journal_mode") != "wal":
                database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not tries_left or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")


def _create_if_new(database: sqlite3.Connection, path: Path) -> None:
    database.execute("BEGIN IMMEDIATE")  # one of several processes makes them, the others wait
    version = pragma(database, "user_version")
    if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in _schema():
            database.execute(statement)
        version = VERSION
    elif pragma(database, "application_id") != APPLICATION:
        raise LedgerError(f"{path} is not a ledger of this program")
    if version != VERSION:
        raise LedgerError(f"the ledger {path} has version {version}, this program reads {VERSION}")
    database.execute("COMMIT")


def _schema() -> Iterator[str]:
    yield f"PRAGMA application_id = {APPLICATION}"
    for table, columns in TABLES.items():
        options = "STRICT, WITHOUT ROWID" if table == "totals" else "STRICT"
        yield f"CREATE TABLE {table} ({columns}) {options}"
    for table in TABLES:
        for verb in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
            )
    yield from _INDEXES
    yield f"PRAGMA user_version = {VERSION}"


_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def check_own(path: Path, name: str) -> None:
    """Raise LedgerError unless a file, if it is there, is this account's and written by no other.

    Others may read it. Who can write the directory can still replace it. Raises OSError.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        text = f"the {name} {path} cannot be used: others may write it. It must be yours, and"
        raise LedgerError(f"{text} writable by you alone (chmod go-w)")
