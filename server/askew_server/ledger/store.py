"""The ledger's SQLite file and its mark: how they are opened, and the one way to add to both.

An append passes these states; an error or a crash before COMMITTED undoes it, and nothing was
spent.

    OPEN ---begin, insert ...---> BEGUN ---end of the body---> COMMITTED ---mark---> MARKED
      |                                                            |
      +---end of the body---> nothing was written                  +---crash---> BEHIND

BEHIND is a mark that names the act before the last: whoever writes next renews it before anything
else. What is appended may be used when it is MARKED.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Self

from askew.dp.composition import RunningLoss
from askew.dp.mark import ID_BYTES, MESSAGES, Mark, Standing, compare, encode, larger
from askew.errors import LedgerError, LedgerRefused, storage_reason
from askew.noise.randomness import SystemBits
from askew_server.folders import replace_file
from askew_server.ledger import reading
from askew_server.ledger.records import SUMS, loss_of, sums_of, text_of

VERSION = 1
APPLICATION = 0x41736B4C  # marks the file as ours: "AskL"

# Rationals are "numerator/denominator" in hexadecimal: exact, and free of the limit that Python
# sets to the decimal digits of an int. Every row belongs to one act, by `sequence`. How a charge
# composes follows from it: granted with a principal, zCDP with rounds, else added.
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
        epsilon {_RATIONAL.format("epsilon")},
        delta TEXT CHECK (delta GLOB '[0-9a-f]*/[1-9a-f]*'),
        rounds INTEGER CHECK (rounds > 0),
        place BLOB CHECK (length(place) = 32),
        day TEXT CHECK (length(day) = 10),
        UNIQUE (dataset, principal, key),
        FOREIGN KEY (dataset, version) REFERENCES datasets (name, version),
        CHECK (principal = '' OR rounds IS NOT NULL),
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


class Act:
    """The rows of one act, under one number, which is None before `begin`, and one random id."""

    def __init__(self, database: sqlite3.Connection, refused: str | None = None) -> None:
        self.database, self.refused = database, refused
        self.sequence: int | None = None

    def begin(self, after: int | None = None) -> int:
        """Number the act one above the last one of the ledger, or above `after`; return its number.
        Raises LedgerRefused where nothing can be spent.
        """
        if self.refused is not None:
            raise LedgerRefused(self.refused)
        last = reading.last_acts(self.database)[0][0] if after is None else after
        self.sequence = last + 1
        self.insert("acts", SystemBits().read(ID_BYTES).hex())
        return self.sequence

    def insert(self, table: str, *columns: str | bytes | int | None) -> None:
        """Add a row to a table: the act's number, then these columns."""
        row = (self.sequence, *columns)
        places = ", ".join("?" * len(row))
        self.database.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608

    def add_total(self, dataset: str, spent: RunningLoss) -> None:
        """Add what a data set has spent in all, this act included."""
        self.insert("totals", dataset, *map(text_of, sums_of(spent)))


class Store:
    """A ledger's database and its mark. SQLite's write lock is the lock of both."""

    def __init__(self, path: Path, mark_path: Path, *, patience: float = 10) -> None:
        """Open the ledger's file, or make it; the same for its mark. A ledger that differs from its
        mark opens, for reading. patience: seconds to wait for another process.
        """
        # A link leads to another disk: what it names is replaced, not the link.
        self._path, self._mark = path, Path(os.path.realpath(mark_path))
        self._lock = Lock()
        with storage_errors(path):
            self._database = connect(path, patience)
        try:
            with self._transaction("BEGIN IMMEDIATE") as database:
                self._catch_up(database)  # a new one gets its mark before its first act
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, when no transaction is under way; what is asked afterwards raises
        LedgerError, but a second call does nothing.
        """
        with self._lock:  # SQLite crashes where a transaction is
            self._database.close()

    @contextmanager
    def _transaction(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        # Undone where the body raises; "BEGIN IMMEDIATE" is the only one of all processes.
        with self._lock, storage_errors(self._path):
            self._database.execute(begin)
            try:
                yield self._database
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    @contextmanager
    def _appending(self) -> Iterator[Act]:
        # Commits and marks the act at the end of the body, if the caller began it. Raises
        # LedgerRefused where ledger and mark differ by then.
        with self._transaction("BEGIN IMMEDIATE") as database:
            act = Act(database, self._catch_up(database))
            yield act
            if act.sequence is None:
                return
            mark = reading.mark_of(database)
        refused = None
        with self._transaction("BEGIN IMMEDIATE") as database:  # before anything comes of it
            if reading.last_acts(database)[0] == mark.position:
                replace_file(self._mark, encode(mark))
            else:  # a rival came first, and caught the mark up
                refused = self._catch_up(database)
        if refused is not None:
            raise LedgerRefused(refused)

    @property
    def refused(self) -> str | None:
        """Return why nothing can be spent, in words, or None where the ledger agrees with its mark.
        Renew a mark that a crash left one act behind.
        """
        with self._transaction("BEGIN IMMEDIATE") as database:  # file and mark at one moment
            return self._catch_up(database)

    def accept(self) -> None:
        """Let a ledger that differs from its mark spend again: the operator's act, recorded.

        Each data set has then spent the larger of what the ledger and the mark say, and the budgets
        of analysts are closed. Raises LedgerError where there is nothing to accept: ledger and mark
        agree, the mark is one act behind, or an empty ledger has none yet.
        """
        with self._transaction("BEGIN IMMEDIATE") as database:
            standing, marked = self._compare(database)
            if standing.may_spend:
                raise LedgerError("the ledger and its mark agree: there is nothing to accept")
            here = reading.mark_of(database)
            act = Act(database)
            # After the last that either of the two knows: the number of a lost charge, by which its
            # release is known, is not given to another.
            act.begin(max(here.position[0], marked.position[0]))
            act.insert("acceptances", standing.name)
            for name, sums in larger(here.spent, marked.spent).items():
                act.add_total(name, loss_of(sums))
        with self._transaction("BEGIN IMMEDIATE") as database:
            replace_file(self._mark, encode(reading.mark_of(database)))

    def _compare(self, database: sqlite3.Connection) -> tuple[Standing, Mark]:
        _require_own(self._mark, "mark")
        try:
            content = self._mark.read_bytes()
        except FileNotFoundError:
            content = None
        except OSError:
            content = b""  # what cannot be read is damaged
        return compare(content, len(SUMS), *reading.last_acts(database))

    def _catch_up(self, database: sqlite3.Connection) -> str | None:
        # Returns why nothing can be spent.
        standing, _ = self._compare(database)
        if not standing.may_spend:
            return (
                f"{MESSAGES[standing]}. Nothing is spent until the newest copies of both are back,"
                " or an operator runs `askew-server ledger accept`, which books the larger losses"
            )
        if standing is not Standing.OK:
            replace_file(self._mark, encode(reading.mark_of(database)))
        return None


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise an OSError, UnicodeDecodeError or sqlite3.Error of the body of a `with` as a
    LedgerError, "the ledger PATH cannot be used: ...", that says what it means.
    """
    try:
        yield
    except (OSError, UnicodeDecodeError, sqlite3.Error) as error:
        raise LedgerError(f"the ledger {path} cannot be used: {storage_reason(error)}") from None


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Return a connection to a ledger's file, which is made, for this account alone, if it is not
    there. patience: seconds to wait for another process.

    Raises LedgerError, and leaves the file as it is, where it is another program's database, is
    damaged, has other tables, checks or triggers, or can be written by others, as its journal must
    not be; and sqlite3.DatabaseError, OSError as they come, as for a file that is no database.
    """
    if path.exists() and not path.is_file():
        raise LedgerError(f"the ledger {path} is no regular file")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    real = path.resolve()  # SQLite keeps its journal beside the file that a link names
    for journal in ("", "-wal", "-shm"):
        _require_own(real.with_name(real.name + journal), "ledger")
    database = sqlite3.connect(
        path, isolation_level=None, timeout=patience, check_same_thread=False
    )
    try:
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("PRAGMA recursive_triggers = ON")  # REPLACE is a deletion, too
        database.execute("PRAGMA trusted_schema = OFF")
        _create_if_new(database, path)
        report = _pragma(database, "quick_check")
        if report != "ok":
            raise LedgerError(f"the ledger {path} is damaged: {report}. Restore a backup")
        foreign = _objects(database) ^ _own_objects()  # without a trigger, rows could be rewritten
        if foreign:
            names = ", ".join(sorted({f"{name}" for _, name, _, _ in foreign}))  # bytes, if damaged
            text = f"the ledger {path} has a schema that this program does not make: {names}"
            raise LedgerError(f"{text}. Restore a backup")
        _write_ahead(database)
        database.execute("PRAGMA synchronous = FULL")
    except BaseException:
        database.close()
        raise
    return database


def _create_if_new(database: sqlite3.Connection, path: Path) -> None:
    database.execute("BEGIN IMMEDIATE")  # one of several processes makes them, the others wait
    version = _pragma(database, "user_version")
    if version == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in _schema():
            database.execute(statement)
        version = VERSION
    elif _pragma(database, "application_id") != APPLICATION:
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


def _objects(database: sqlite3.Connection) -> frozenset[tuple[object, ...]]:
    return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


@cache
def _own_objects() -> frozenset[tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in _schema():
            database.execute(statement)
        return _objects(database)


def _pragma(database: sqlite3.Connection, name: str) -> object:
    value: object = database.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _write_ahead(database: sqlite3.Connection) -> None:
    # Waits where another process has the file, since SQLite does not.
    for tries_left in reversed(range(_TRIES)):
        try:
            if _pragma(database, "journal_mode") != "wal":
                database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not tries_left or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")


def _require_own(path: Path, name: str) -> None:
    # Others may read it. Who can write the directory can still replace it.
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        text = f"the {name} {path} cannot be used: it is not yours alone. It must be owned by you"
        raise LedgerError(f"{text} (chown), and writable by nobody else (chmod go-w)")
