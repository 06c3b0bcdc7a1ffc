"""The full recount: every running total and every answer again, from the rows."""

from __future__ import annotations

import sqlite3

from askew.errors import LedgerFrozen
from askew.odometer import Spent
from askew_server.ledger.rationals import spent_of
from askew_server.ledger.reading import all_paid, analyst_budgets
from askew_server.ledger.records import Rule


def check_totals(database: sqlite3.Connection) -> None:
    """Every stored total is the sum of the charges up to it. Raises LedgerFrozen."""
    changes = _changes(database)
    running: dict[str, Spent] = {}
    stored = database.execute("SELECT * FROM totals ORDER BY sequence, dataset")
    for sequence, dataset, *columns in stored:
        change = changes.pop((sequence, dataset), None)
        running[dataset] = running.get(dataset, Spent()) + (change or Spent())
        if change is None or spent_of(columns) != running[dataset]:
            raise LedgerFrozen(f"the total at row {sequence} is not the sum of the charges")
    if changes:
        raise LedgerFrozen(f"the charge at row {min(changes)[0]} is in no total")


def check_answers(database: sqlite3.Connection) -> None:
    """No answer is longer than its reservation, and no analyst had more than granted."""
    for paid in all_paid(database, None):
        if paid.release is not None and paid.release.outcomes is not None:
            reserved = getattr(paid.charge.request.loss, "rounds", 0)
            if paid.release.outcomes > reserved:
                raise LedgerFrozen(f"the answer to charge {paid.charge.id} passes its reservation")
    for _, budget in analyst_budgets(database):
        had, terms = budget.answered, budget.terms
        if had.outcomes > terms.k_star or had.calls > terms.l_star:
            raise LedgerFrozen(f"an analyst of {budget.dataset!r} had more than was granted")


def _changes(database: sqlite3.Connection) -> dict[tuple[int, str], Spent]:
    """By row and data set: what the row spent."""
    changes = {
        (paid.charge.id, paid.charge.request.dataset): Spent().plus(paid.charge.request.loss)
        for paid in all_paid(database, None)
        if paid.charge.request.rule is not Rule.DURFEE_ROGERS
    }
    for sequence, budget in analyst_budgets(database):
        changes[sequence, budget.dataset] = Spent().plus(budget.terms.total_loss())
    for sequence, dataset, *columns in database.execute("SELECT * FROM carried"):
        changes[sequence, dataset] = spent_of(columns)
    return changes
