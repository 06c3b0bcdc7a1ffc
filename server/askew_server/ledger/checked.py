"""What a process knows of the ledger because it checked it, or wrote it: nothing else is believed
when something is spent.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from askew.dp.odometer import RunningLoss
from askew_server.ledger.chain import Link, check_links, check_no_strays
from askew_server.ledger.marks import START, Mark
from askew_server.ledger.recount import Total, check_totals


@dataclass(frozen=True)
class Checked:
    """The ledger up to a link.

    rows: how many its links cover. totals: of each data set that anything was spent on.
    """

    link: Link = START.link
    rows: int = 0
    totals: Mapping[str, Total] = field(default_factory=dict)

    def spent_on(self, dataset: str) -> RunningLoss:
        """The running total of all versions of a data set."""
        return self.totals[dataset].spent if dataset in self.totals else RunningLoss()

    def mark(self, since: int) -> Mark:
        """What the anchor remembers of the last link: the totals that changed after `since`."""
        spent = {name: each.spent for name, each in self.totals.items() if each.sequence > since}
        return Mark(*self.link, spent)


def check(database: sqlite3.Connection, since: Checked) -> Checked:
    """The ledger as it is now: links and totals after `since` recomputed, and no row beside them.

    What `since` covers is not read again, so a row of it that was rewritten, or put in the place of
    another, goes unseen; but no total of it is believed, and there are as many rows as it covers.
    Raises LedgerFrozen.
    """
    end = check_links(database, since.link)
    rows = check_no_strays(database, since.link[0], since.rows)
    return Checked(end, rows, check_totals(database, since.link[0], since.totals))
