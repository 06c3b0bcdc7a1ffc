"""Acts that wait for their turn, and share one transaction with those that arrived meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from askew_server.ledger.checked import Checked
from askew_server.ledger.entry import Entry

_Made = TypeVar("_Made")
_EVERYBODYS = (OSError, sqlite3.OperationalError, sqlite3.InternalError)


@dataclass(eq=False)
class Waiting(Generic[_Made]):
    """One act: what it would find, what it would do, and what came of it.

    settled: nothing more comes of it, since its group's transaction is kept, or failed. Its outcome
    is read only then.
    """

    find: Callable[[sqlite3.Connection], _Made | None]
    act: Callable[[Entry], _Made]
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

    def act_in(self, database: sqlite3.Connection, after: Checked) -> Checked:
        """Do it and seal it as the link that follows; where that fails by its own fault, nothing of
        it is left. What is known then.
        """
        entry = Entry(database, after)
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
