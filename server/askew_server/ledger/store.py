"""The ledger's file and its mark, and the one way to add to both.

    open -> look -> (stored already: roll on)   nothing is written
                 -> begin -> insert ... -> commit -> mark -> return
                             any error: rollback, and nothing was spent

A crash between commit and mark leaves a mark that is one act behind; whoever writes next catches it
up before anything else.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from askew.dp.composition import RunningLoss
from askew.dp.mark import ID_BYTES, MESSAGES, Mark, Standing, compare, encode, larger
from askew.errors import LedgerError, LedgerRefused
from askew.noise.randomness import SystemBits
from askew_server.folders import replace_file
from askew_server.ledger import reading
from askew_server.ledger.records import NOTIONS, loss_of, sums_of, text_of
from askew_server.ledger.storage import check_own, connect, storage_errors


class Act:
    """The rows of one act, under one number and one random id.

    refused: why nothing can be spent, or None. sequence: the number of the act, once it has begun.
    """

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
    """The database and its mark. SQLite's write lock is the lock of both: whoever has it finds the
    mark at the last act, or one behind after a crash.
    """

    def __init__(self, path: Path, mark_path: Path, patience: float) -> None:
        # A link leads to another disk: what it names is replaced, not the link.
        self._path, self._mark = path, Path(os.path.realpath(mark_path))
        self._lock = Lock()
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
        """Run the body of a `with` in one transaction of this process and, if IMMEDIATE, the only
        writing one of all; it is undone where the body raises.
        """
        with self._lock, storage_errors(self._path):
            self._database.execute(begin)
            try:
                yield self._database
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    @contextmanager
    def appending(self) -> Iterator[Act]:
        """Yield an act that the caller may begin; at the end of the body it is committed and
        marked.

        Raises LedgerRefused where ledger and mark differ by then, LedgerError.
        """
        with self.transaction("BEGIN IMMEDIATE") as database:
            act = Act(database, self._catch_up(database))
            yield act
            if act.sequence is None:
                return
            mark = reading.mark_of(database)
        refused = None
        with self.transaction("BEGIN IMMEDIATE") as database:  # before anything comes of it
            if reading.last_acts(database)[0] == mark.position:
                replace_file(self._mark, encode(mark))
            else:  # a rival came first, and caught the mark up
                refused = self._catch_up(database)
        if refused is not None:
            raise LedgerRefused(refused)

    def refused(self) -> str | None:
        """Return why nothing can be spent, in words, or None where ledger and mark agree. Takes the
        write lock: the two are one state.
        """
        with self.transaction("BEGIN IMMEDIATE") as database:
            standing, _ = self._compare(database)
        return None if standing.may_spend else _refusal(standing)

    def accept(self) -> None:
        """Append an acceptance, with the larger losses of ledger and mark, and renew the mark.
        Raises LedgerError where the two agree.
        """
        with self.transaction("BEGIN IMMEDIATE") as database:
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
        with self.transaction("BEGIN IMMEDIATE") as database:
            replace_file(self._mark, encode(reading.mark_of(database)))

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
        # Returns why nothing can be spent.
        standing, _ = self._compare(database)
        if not standing.may_spend:
            return _refusal(standing)
        if standing is not Standing.OK:
            replace_file(self._mark, encode(reading.mark_of(database)))
        return None


def _refusal(standing: Standing) -> str:
    return (
        f"{MESSAGES[standing]}. Nothing is spent until the newest copies of both are back, or an "
        "operator runs `askew-server ledger accept`, which books the larger losses"
    )
