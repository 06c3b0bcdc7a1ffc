"""The recount: every running total and every answer again, from the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from askew.dp.odometer import RunningLoss
from askew.errors import LedgerFrozen
from askew_server.ledger.rationals import spent_of
from askew_server.ledger.reading import all_paid, analyst_budgets
from askew_server.ledger.records import Rule


class Total(NamedTuple):
    """What was spent on a data set, and the row that changed it last."""

    sequence: int
    spent: RunningLoss


def check_totals(
    database: sqlite3.Connection, since: int, known: Mapping[str, Total]
) -> dict[str, Total]:
    """The totals, of which those up to row `since` are known: every stored one after it is the sum
    of the charges up to it. Raises LedgerFrozen.
    """
    changes, totals = _changes(database, since), dict(known)
    stored = database.execute(
        "SELECT * FROM totals WHERE sequence > ? ORDER BY sequence, dataset", (since,)
    )
    for sequence, dataset, *columns in stored:
        change = changes.pop((sequence, dataset), None)
        before = totals[dataset].spent if dataset in totals else RunningLoss()
        spent = before + (change or RunningLoss())
        if change is None or spent_of(columns) != spent:
            raise LedgerFrozen(f"the total at row {sequence} is not the sum of the charges")
        totals[dataset] = Total(sequence, spent)
    if changes:
        raise LedgerFrozen(f"the charge at row {min(changes)[0]} is in no total")
    return totals


def check_answers(database: sqlite3.Connection) -> None:
    """No answer is longer than its reservation, and no analyst had more than granted."""
    for paid in all_paid(database):
        if paid.release is not None and paid.release.outcomes is not None:
            reserved = getattr(paid.charge.request.loss, "rounds", 0)
            if paid.release.outcomes > reserved:
                raise LedgerFrozen(f"the answer to charge {paid.charge.id} passes its reservation")
    for _, budget in analyst_budgets(database):
        had, terms = budget.answered, budget.terms
        if had.outcomes > terms.k_star or had.calls > terms.l_star:
            raise LedgerFrozen(f"an analyst of {budget.dataset!r} had more than was granted")


def _changes(database: sqlite3.Connection, since: int) -> dict[tuple[int, str], RunningLoss]:
    """By row after `since` and data set: what the row spent."""
    changes = {
        (paid.charge.id, paid.charge.request.dataset): RunningLoss().plus(paid.charge.request.loss)
        for paid in all_paid(database, since=since)
        if paid.charge.request.rule is not Rule.GRANTED
    }
    for sequence, budget in analyst_budgets(database, since=since):
        changes[sequence, budget.dataset] = RunningLoss().plus(budget.terms.grant())
    carried = database.execute("SELECT * FROM carried WHERE sequence > ?", (since,))
    for sequence, dataset, *columns in carried:
        changes[sequence, dataset] = spent_of(columns)
    return changes
