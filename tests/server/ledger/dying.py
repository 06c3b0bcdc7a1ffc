"""A process that dies at one step, without a process."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from askew_server.ledger.chain import last_link
from askew_server.ledger.store import Store

Transaction = Callable[..., AbstractContextManager[sqlite3.Connection]]


class Killed(BaseException):
    """In place of a kill: nothing catches it."""


def dying_before_the_commit(transaction: Transaction) -> Transaction:
    """Store.transaction, whose first one with a new row in it ends before its commit."""

    @contextmanager
    def doomed(self: Store, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        with transaction(self, begin) as database:
            before = last_link(database)
            yield database
            if last_link(database) != before:
                raise Killed

    return doomed
