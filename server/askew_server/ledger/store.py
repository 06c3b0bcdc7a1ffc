"""The chained store: an act is a link of the chain, in a transaction and two lines of the anchor.

Acts that wait for their turn share these with those that arrived meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock
from typing import Any, Generic, TypeVar

from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger import repair
from askew_server.ledger.anchor import START, AnchorEntry, AnchorFile
from askew_server.ledger.chain import CheckedLedger, LedgerEntry, check, check_answers, last_link
from askew_server.ledger.storage import check_own, check_schema, connect, pragma, storage_errors

_STOPPED = "the program was stopped; what was being charged may be spent"
_Made = TypeVar("_Made")


class Store:
    """The database and its anchor, which names every link before it is there.

    The order is: announce in the anchor, commit, keep in the anchor, return. A crash before the
    commit leaves an announcement that the next one replaces. A crash after it leaves a link that is
    announced and not kept; whoever acts next keeps it before anything else, under the write lock.
    """

    def __init__(self, path: Path, anchor_path: Path, patience: float) -> None:
        self._path, self._anchor, self._lock = path, AnchorFile(anchor_path), Lock()
        self._waiting: list[Waiting[Any]] = []
        self._arrivals, self._busy = Condition(), False
        self._checked = CheckedLedger()
        self._version: object = None  # of the file, as SQLite counts others' commits, at that time
        self._fault: str | None = None
        with storage_errors(path):
            self._database = connect(path, patience)
        try:
            with self.transaction("BEGIN IMMEDIATE") as database:
                if last_link(database) == START.link and not self._anchor.path.exists():
                    self._anchor.create()
            with storage_errors(path):
                check_own(self._anchor.path, "anchor")
            self.check_file()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file, when no transaction is under way: SQLite crashes where one is."""
        with self._lock:
            self._database.close()

    @contextmanager
    def transaction(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """One transaction of this process and, if IMMEDIATE, the only writing one of all."""
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
        """What `find` finds, else what `act` makes.

        Checked, written, sealed, announced, committed, kept: in this order, and only then
        returned. Acts that arrive while others are under way go through this together, one link
        each, with the last of them announced: three syncs for all of them. One that is refused
        takes nothing of the others back. Raises what find and act raise, LedgerFrozen and
        LedgerError.
        """
        mine = Waiting(find, act)
        self._take_turn(mine)
        with storage_errors(self._path):
            return mine.outcome()

    def _take_turn(self, mine: Waiting[Any]) -> None:
        """Until it is settled: by this thread for all who have arrived, or by another."""
        with self._arrivals:
            self._waiting.append(mine)
            self._arrivals.wait_for(lambda: mine.settled or not self._busy)
            if mine.settled:
                return
            self._busy = True
            group, self._waiting = self._waiting, []
        try:
            self._settle(group)
        finally:
            with self._arrivals:
                for each in group:  # not before: who woke meanwhile would be told what is not kept
                    each.settled = True
                self._busy = False
                self._arrivals.notify_all()

    def _settle(self, group: Sequence[Waiting[Any]]) -> None:
        """What fails the transaction fails all that were to act in it, and nobody who was only to
        be told what is there.
        """
        acted = group
        try:
            with self.transaction("BEGIN IMMEDIATE") as database:
                acted = [each for each in group if each.wants_to_act(database)]
                if not acted:
                    return
                before = sealed = self._bring_anchor_up(database)
                for each in acted:
                    # Another act of the group may have done the same.
                    if sealed is before or each.wants_to_act(database):
                        sealed = each.act_in(database, sealed)
                if sealed is before:  # all were refused
                    return
                self._anchor.announce(AnchorEntry(*sealed.link, {}, kept=False), len(acted))
            self._checked = sealed
            with self.transaction("BEGIN IMMEDIATE") as database:
                self._bring_anchor_up(database)
        except Exception as error:
            for each in acted:
                each.fail(error)
        except BaseException:
            for each in acted:
                each.fail(LedgerError(_STOPPED))
            raise

    def _bring_anchor_up(self, database: sqlite3.Connection) -> CheckedLedger:
        """Check what others committed, and keep what is announced and committed; what is known
        then. Raises LedgerFrozen if chain and anchor differ by more than a crash explains.

        `data_version` changes with every commit of another connection: where it did not, schema,
        links and totals are those that were checked, or that this process made.
        """
        if self._fault is not None:
            raise LedgerFrozen(self._fault)
        end, version = last_link(database), pragma(database, "data_version")
        if (end, version) != (self._checked.link, self._version):
            check_schema(database)
            self._checked, self._version = check(database, self._checked), version
        kept = repair.unkept_since(database, self._anchor, end)
        if kept is not None:
            self._anchor.keep(self._checked.anchor_entry(kept))
        return self._checked

    def check_file(self) -> None:
        """The whole of the file again: pages, hashes, totals. A fault freezes this ledger."""
        try:
            with self.transaction() as database:
                found = pragma(database, "integrity_check")
                if found != "ok":
                    raise LedgerFrozen(f"the ledger {self._path} is damaged: {found}")
                self._checked = check(database, CheckedLedger())
                check_answers(database)
                check_schema(database)
        except LedgerError as error:
            self._fault = f"{error}; restore a backup of it, then unfreeze"
        else:
            self._fault = None

    def frozen(self) -> str | None:
        """Why nothing can be spent, or None. Takes the write lock: the two files are one state."""
        try:
            with self.transaction("BEGIN IMMEDIATE") as database:
                repair.unkept_since(database, self._anchor, last_link(database))
        except LedgerFrozen as frozen:
            return self._fault or str(frozen)
        return self._fault

    def unfreeze(self, reason: str, *, nothing_lost: bool) -> None:
        """Append a repair that starts from the anchor as it is. Raises LedgerError."""
        self.check_file()
        if self._fault is not None:
            raise LedgerFrozen(self._fault)
        with self.transaction("BEGIN IMMEDIATE") as database:
            before = check(database, self._checked)  # others may have committed since
            entry, unreadable = repair.record(database, self._anchor, before, reason, nothing_lost)
            repaired = entry.seal().anchor_entry(entry.sequence - 1)
            if not unreadable:
                self._anchor.announce(repaired, len(repaired.spent))
        with self.transaction("BEGIN IMMEDIATE") as database:
            if unreadable:  # only now: what its readable lines know is lost with them
                self._anchor.renew(repaired)
            self._bring_anchor_up(database)


_EVERYBODYS = (OSError, sqlite3.OperationalError, sqlite3.InternalError)


@dataclass(eq=False)
class Waiting(Generic[_Made]):
    """One act: what it would find, what it would do, and what came of it.

    settled: nothing more comes of it, since its group's transaction is kept, or failed. Its outcome
    is read only then.
    """

    find: Callable[[sqlite3.Connection], _Made | None]
    act: Callable[[LedgerEntry], _Made]
    _made: _Made | None = None
    _error: BaseException | None = None
    settled: bool = field(default=False)

    def wants_to_act(self, database: sqlite3.Connection) -> bool:
        """Whether what it wants is not there yet. A refusal, or another fault, is its own; an error
        of the disk or the file is everybody's, and raised.
        """
        try:
            self._made = self.find(database)
        except Exception as error:
            if _is_everybodys(error):
                raise
            self.fail(error)
        return self._made is None and self._error is None

    def act_in(self, database: sqlite3.Connection, after: CheckedLedger) -> CheckedLedger:
        """Do it and seal it as the link that follows; where that fails by its own fault, nothing of
        it is left. What is known then.
        """
        entry = LedgerEntry(database, after)
        database.execute("SAVEPOINT act")
        try:
            self._made = self.act(entry)
            after = entry.seal()
        except Exception as error:
            if _is_everybodys(error):
                raise
            database.execute("ROLLBACK TO act")
            self.fail(error)
        database.execute("RELEASE act")
        return after

    def fail(self, error: BaseException) -> None:
        """The act was refused, or the group's transaction failed: then what it was refused for may
        be taken back.
        """
        self._made, self._error = None, error

    def outcome(self) -> _Made:
        """What was found or made. Raises what kept it from that."""
        if self._error is not None:
            raise self._error
        if self._made is None:  # its turn never came: a fault of this module
            raise AssertionError
        return self._made


def _is_everybodys(error: Exception) -> bool:
    """Whether any other act would have met it: the disk is full, the file is damaged."""
    return isinstance(error, _EVERYBODYS) or type(error) is sqlite3.DatabaseError
