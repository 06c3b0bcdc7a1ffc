"""The chained store: one act is one transaction, one link of the chain, two lines of the anchor."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

from askew.errors import LedgerError, LedgerFrozen
from askew_server.ledger import repair
from askew_server.ledger.anchor import START, Anchor
from askew_server.ledger.chain import check_links, check_no_strays, last_link, mark_of, seal
from askew_server.ledger.ownership import check_own
from askew_server.ledger.recount import check_answers, check_totals
from askew_server.ledger.storage import check_schema, connect, pragma, storage_errors

_START = (START.sequence, START.hash)
_Made = TypeVar("_Made")


class Store:
    """The database and its anchor, which names every link before it is there.

    The order is: announce in the anchor, commit, keep in the anchor, return. A crash before the
    commit leaves an announcement that the next one replaces. A crash after it leaves a link that is
    announced and not kept; whoever acts next keeps it before anything else, under the write lock.
    """

    def __init__(self, path: Path, anchor_path: Path, patience: float) -> None:
        self._path, self._anchor, self._lock = path, Anchor(anchor_path), Lock()
        self._checked = _START  # the link up to which this process has checked the chain
        self._fault: str | None = None
        with storage_errors(path):
            self._database = connect(path, patience)
        try:
            with self.transaction("BEGIN IMMEDIATE") as database:
                if last_link(database) == _START and not anchor_path.exists():
                    self._anchor.create()
            with storage_errors(path):
                check_own(anchor_path, "anchor")
            self.check_file()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
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
        act: Callable[[sqlite3.Connection, int], _Made],
    ) -> _Made:
        """What `find` finds, else what `act` makes.

        Checked, written, sealed, announced, committed, kept: in this order. Raises what they
        raise, LedgerFrozen and LedgerError.
        """
        with self.transaction("BEGIN IMMEDIATE") as database:
            found = find(database)
            if found is not None:
                return found
            self._bring_anchor_up(database)
            sequence = last_link(database)[0] + 1
            made = act(database, sequence)
            seal(database, sequence)
            self._anchor.make_room()
            self._anchor.announce(mark_of(database))
        with self.transaction("BEGIN IMMEDIATE") as database:
            self._bring_anchor_up(database)
        return made

    def _bring_anchor_up(self, database: sqlite3.Connection) -> None:
        """Raises LedgerFrozen if chain and anchor differ by more than a crash explains."""
        if self._fault is not None:
            raise LedgerFrozen(self._fault)
        check_schema(database)
        self._checked = check_links(database, self._checked)
        if not repair.is_anchored(database, self._anchor):
            self._anchor.keep(mark_of(database))

    def check_file(self) -> None:
        """The whole of the file again: pages, hashes, totals. A fault freezes this ledger."""
        self._fault = None
        try:
            with self.transaction() as database:
                found = pragma(database, "integrity_check")
                if found != "ok":
                    raise LedgerFrozen(f"the ledger {self._path} is damaged: {found}")
                self._checked = check_links(database, _START)
                check_no_strays(database)
                check_totals(database)
                check_answers(database)
                check_schema(database)
        except LedgerError as error:
            self._fault = f"{error}; restore a backup of it, then unfreeze"

    def frozen(self) -> str | None:
        """Why nothing can be spent, or None. Takes the write lock: the two files are one state."""
        try:
            with self.transaction("BEGIN IMMEDIATE") as database:
                repair.is_anchored(database, self._anchor)
        except LedgerFrozen as frozen:
            return self._fault or str(frozen)
        return self._fault

    def unfreeze(self, reason: str, *, nothing_lost: bool) -> None:
        """Append a repair that starts from the anchor as it is. Raises LedgerError."""
        self.check_file()
        if self._fault is not None:
            raise LedgerFrozen(self._fault)
        with self.transaction("BEGIN IMMEDIATE") as database:
            sequence, unreadable = repair.record(database, self._anchor, reason, nothing_lost)
            seal(database, sequence)
            repaired = mark_of(database)
            if not unreadable:
                self._anchor.make_room()
                self._anchor.announce(repaired)
        with self.transaction("BEGIN IMMEDIATE") as database:
            if unreadable:  # only now: what its readable lines know is lost with them
                self._anchor.renew(repaired)
            self._bring_anchor_up(database)
