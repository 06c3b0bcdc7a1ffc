"""The ledger's file and its mark: an act is committed, then marked, then returned."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from askew.dp.mark import ID_BYTES, MESSAGES, Mark, Standing, compare, encode, larger
from askew.errors import LedgerError, LedgerRefused
from askew.noise.randomness import SystemBits
from askew_server.folders import replace_file
from askew_server.ledger import reading
from askew_server.ledger.acts import LedgerEntry
from askew_server.ledger.records import NOTIONS, loss_of
from askew_server.ledger.storage import check_own, connect, storage_errors

_Made = TypeVar("_Made")


class Store:
    """The database and its mark. SQLite's write lock is the lock of both: whoever has it finds the
    mark at the last act, or one behind after a crash, and catches it up before anything else.
    """

    def __init__(self, path: Path, mark_path: Path, patience: float) -> None:
        # A link leads to another disk: what it names is replaced, not the link.
        self._path, self._mark = path, Path(os.path.realpath(mark_path))
        self._lock, self._bits = Lock(), SystemBits()
        with storage_errors(path):
            self._database = connect(path, patience)
        try:
            with self.transaction("BEGIN IMMEDIATE") as database:
                self._catch_up(database)  # a new one gets its mark before its first act
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file, when no transaction is under way: SQLite crashes where one is."""
        with self._lock:
            self._database.close()

    @contextmanager
    def transaction(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """Open one transaction of this process and, if IMMEDIATE, the only writing one of all."""
        with self._lock, storage_errors(self._path):
            self._database.execute(begin)
            try:
                yield self._database
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    def append(
        self,
        find: Callable[[sqlite3.Connection], _Made | None],
        act: Callable[[LedgerEntry], _Made],
    ) -> _Made:
        """Return what `find` finds, else what `act` makes, once it is committed and marked.

        Raises what find and act raise, LedgerRefused where ledger and mark differ, LedgerError.
        """
        with self.transaction("BEGIN IMMEDIATE") as database:
            found, refused = find(database), self._catch_up(database)
            if found is not None:
                return found
            if refused is not None:
                raise LedgerRefused(refused)
            (last, _), _ = reading.last_acts(database)
            made = act(self._entry(database, last + 1))
            mark = reading.mark_of(database)
        with self.transaction("BEGIN IMMEDIATE") as database:  # before anything comes of it
            if reading.last_acts(database)[0] == mark.position:
                replace_file(self._mark, encode(mark))
            else:  # a rival came first, and caught the mark up
                refused = self._catch_up(database)
        if refused is not None:
            raise LedgerRefused(refused)
        return made

    def refused(self) -> str | None:
        """Return why nothing can be spent, or None. Takes the write lock: the two are one state."""
        with self.transaction("BEGIN IMMEDIATE") as database:
            standing, _ = self._compare(database)
        return None if standing.may_spend else _refusal(standing)

    def accept(self) -> None:
        """Append an acceptance, with the larger losses of ledger and mark. Raises LedgerError."""
        with self.transaction("BEGIN IMMEDIATE") as database:
            standing, known = self._compare(database)
            if standing.may_spend:
                raise LedgerError("the ledger and its mark agree: there is nothing to accept")
            here = reading.mark_of(database)
            # After the last that either of the two knows: the number of a lost charge, by which its
            # release is known, is not given to another.
            entry = self._entry(database, max(here.position[0], known.position[0]) + 1)
            entry.insert("acceptances", standing.name)
            for name, sums in larger(here.spent, known.spent).items():
                entry.add_total(name, loss_of(sums))
        with self.transaction("BEGIN IMMEDIATE") as database:
            self._write_mark(database)

    def _entry(self, database: sqlite3.Connection, sequence: int) -> LedgerEntry:
        return LedgerEntry(database, sequence, self._bits.read(ID_BYTES).hex())

    def _compare(self, database: sqlite3.Connection) -> tuple[Standing, Mark]:
        check_own(self._mark, "mark")
        try:
            content = self._mark.read_bytes()
        except FileNotFoundError:
            content = None
        except OSError:
            content = b""  # what cannot be read is damaged
        return compare(content, NOTIONS, *reading.last_acts(database))

    def _catch_up(self, database: sqlite3.Connection) -> str | None:
        """Write the mark where it is one act behind. Return why nothing can be spent, or None."""
        standing, _ = self._compare(database)
        if not standing.may_spend:
            return _refusal(standing)
        if standing is not Standing.OK:
            self._write_mark(database)
        return None

    def _write_mark(self, database: sqlite3.Connection) -> None:
        replace_file(self._mark, encode(reading.mark_of(database)))


def _refusal(standing: Standing) -> str:
    return (
        f"{MESSAGES[standing]}. Nothing is spent until the newest copies of both are back, or an "
        "operator runs `askew-server ledger accept`, which books the larger losses"
    )
