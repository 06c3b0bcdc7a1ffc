"""An act in the making: its rows, and the link that will cover them."""

from __future__ import annotations

import sqlite3

from askew.dp.odometer import RunningLoss
from askew_server.ledger.chain import Row, hash_over
from askew_server.ledger.checked import Checked
from askew_server.ledger.rationals import columns_of
from askew_server.ledger.recount import Total


class Entry:
    """The rows of one sequence, as they are written.

    Its link covers them as they were given. What somebody else put under this sequence is not among
    them, so it is found as what it is.
    """

    def __init__(
        self, database: sqlite3.Connection, after: Checked, sequence: int | None = None
    ) -> None:
        """The next row after what was checked, if no other `sequence` is named."""
        self.database, self._after = database, after
        self.sequence = after.link[0] + 1 if sequence is None else sequence
        self._rows: list[Row] = []
        self._totals: dict[str, Total] = {}

    def insert(self, table: str, *columns: str | bytes | int | None) -> None:
        """One row, of this sequence and these columns."""
        row = (self.sequence, *columns)
        places = ", ".join("?" * len(row))
        self.database.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608
        self._rows.append((table, *row))

    def spent_on(self, dataset: str) -> RunningLoss:
        """What was spent on a data set before this act."""
        return self._after.spent_on(dataset)

    def add_total(self, dataset: str, spent: RunningLoss) -> None:
        """The running total of a data set after this act."""
        self.insert("totals", dataset, *columns_of(spent))
        self._totals[dataset] = Total(self.sequence, spent)

    def seal(self) -> Checked:
        """Add the link over its rows; what is known then."""
        link = (self.sequence, hash_over(self._rows, self._after.link[1]))
        self.database.execute("INSERT INTO chain VALUES (?, ?)", link)
        rows = self._after.rows + len(self._rows)
        return Checked(link, rows, {**self._after.totals, **self._totals})
