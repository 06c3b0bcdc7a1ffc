"""Queries: rows as records."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from functools import lru_cache

from askew.dp.analyst import AnalystUsage, PayWhatYouGet
from askew.dp.composition import Loss, PrivacyFilter, RunningLoss
from askew.dp.mark import START, Mark, Position
from askew.dp.privacy import ApproximateDP, BoundedRange, NeighboringRelation, PureDP
from askew.errors import LedgerError
from askew_server.ledger.records import (
    AnalystBudget,
    Charge,
    ChargeRequest,
    Dataset,
    StoredRelease,
    loss_of,
    rational_of,
    sums_of,
)

_CHARGES = """
SELECT c.sequence, c.dataset, c.version, nullif(c.principal, ''), c.key, c.digest, c.day,
    c.epsilon, c.delta, c.rounds, d.neighbors, f.payload, f.outputs
FROM charges c JOIN datasets d ON (d.name, d.version) = (c.dataset, c.version)
LEFT JOIN fulfilments f ON f.charge = c.sequence
"""
_NAMED = ("dataset", "version", "principal", "key", "digest", "day")
# Reservations count in full until they are settled. What was granted is closed by the operator's
# word, and by an acceptance: answers may have been lost.
_GRANTS = """
SELECT g.dataset, g.principal, g.k_star, g.l_star, g.epsilon, g.delta, g.slack,
    coalesce(sum(coalesce(f.outputs, c.rounds)), 0), count(c.sequence),
    EXISTS (SELECT 1 FROM acceptances WHERE sequence > g.sequence)
        OR EXISTS (SELECT 1 FROM revocations r
            WHERE (r.dataset, r.principal) = (g.dataset, g.principal) AND r.sequence > g.sequence)
FROM grants g
LEFT JOIN charges c ON (c.dataset, c.principal) = (g.dataset, g.principal) AND c.principal != ''
    AND c.sequence > g.sequence AND NOT EXISTS (
        SELECT 1 FROM grants n WHERE (n.dataset, n.principal) = (g.dataset, g.principal)
        AND n.sequence > g.sequence AND n.sequence < c.sequence)
LEFT JOIN fulfilments f ON f.charge = c.sequence
WHERE (?1 IS NULL OR g.dataset = ?1) AND (?2 IS NULL OR g.principal = ?2)
GROUP BY g.sequence ORDER BY g.sequence
"""


def charges_where(
    database: sqlite3.Connection, condition: str, *parameters: object
) -> list[Charge | StoredRelease]:
    """Return the charges, c in an SQL condition, for which the condition holds, the oldest first:
    a StoredRelease where there is a release, else a Charge.
    """
    query = f"{_CHARGES} WHERE {condition} ORDER BY c.sequence"
    charges: list[Charge | StoredRelease] = []
    for row in database.execute(query, parameters):
        identity, *named, epsilon, delta, rounds, relation, payload, outputs = row
        try:
            exact, neighbors = rational_of(epsilon), NeighboringRelation[relation]
            loss: Loss = PureDP(exact, neighbors)
            if delta is not None and rounds is None:
                loss = ApproximateDP(exact, rational_of(delta), neighbors)
            elif delta is not None:
                loss = BoundedRange(exact, rounds, rational_of(delta), neighbors)
            request = ChargeRequest(**dict(zip(_NAMED, named, strict=True)), loss=loss)
        except (ValueError, KeyError):
            raise LedgerError(f"charge {identity} is damaged") from None
        stored = None if payload is None else StoredRelease(identity, request, payload, outputs)
        charges.append(stored or Charge(identity, request))
    return charges


def spent_on(database: sqlite3.Connection, dataset: str) -> RunningLoss:
    """Return the running total of all versions of a data set; zero where nothing was spent."""
    newest = "SELECT * FROM totals WHERE dataset = ? ORDER BY sequence DESC LIMIT 1"
    row = database.execute(newest, (dataset,)).fetchone()
    return loss_of(map(rational_of, row[2:])) if row else RunningLoss()


def last_acts(database: sqlite3.Connection) -> tuple[Position, Position | None]:
    """Return the last act, (sequence, id), and the one before it, START, (0, ""), before the first;
    START and None where there is no act.
    """
    newest = "SELECT sequence, id FROM acts ORDER BY sequence DESC LIMIT 2"
    end, before, *_ = (*database.execute(newest), START, None)
    return end, before


def mark_of(database: sqlite3.Connection) -> Mark:
    """Return the Mark of the ledger as it is now: `position`, (sequence, id) of its last act, and
    `spent`, the five sums of `sums_of` by data set.
    """
    # A ledger that lost a data set has accepted what the mark knew of it. CROSS: or SQLite would
    # go through all totals, of which there is one for each charge.
    names = database.execute(
        "SELECT name FROM datasets UNION"
        " SELECT dataset FROM acceptances CROSS JOIN totals USING (sequence)"
    )
    spent = {name: sums_of(spent_on(database, name)) for (name,) in names.fetchall()}
    return Mark(last_acts(database)[0], spent)


def versions_of(database: sqlite3.Connection, name: str) -> list[Dataset]:
    """Return every version of a data set, newest first, as if nothing were spent; none where there
    is no such data set.
    """
    query = (
        "SELECT version, unit, neighbors, epsilon, delta, slack, conversion_order FROM datasets"
        " WHERE name = ? ORDER BY sequence DESC"
    )
    return [_opened(name, *row) for row in database.execute(query, (name,))]


def newest_version(database: sqlite3.Connection, name: str) -> Dataset:
    """Return the newest version of a data set, with what all versions have spent. Raises
    LedgerError where there is none.
    """
    versions = versions_of(database, name)
    if not versions:
        raise LedgerError(f"there is no data set {name!r} in the ledger: see ledger open --help")
    return replace(versions[0], running=spent_on(database, name))


def analyst_budgets(
    database: sqlite3.Connection, dataset: str | None = None, principal: str | None = None
) -> list[AnalystBudget]:
    """Return every grant, the oldest first, of a data set or of all, to a principal or to all."""
    budgets = []
    for row in database.execute(_GRANTS, (dataset, principal)):
        name, who, *terms, outputs, calls, closed = row
        usage = AnalystUsage(outputs, calls)
        budgets.append(AnalystBudget(name, who, _granted(*terms), usage, bool(closed)))
    return budgets


def newest_budget(
    database: sqlite3.Connection, dataset: str, principal: str
) -> AnalystBudget | None:
    """Return an analyst's newest grant for one data set, also if it is closed; None without one."""
    budgets = analyst_budgets(database, dataset, principal)
    return budgets[-1] if budgets else None


# Rows never change, and what is checked of their numbers takes longer than to read them.
@lru_cache(maxsize=256)
def _opened(name: str, version: str, unit: str, neighbors: str, *numbers: str | None) -> Dataset:
    epsilon, delta, slack, order = (rational_of(text) if text else None for text in numbers)
    if epsilon is None or delta is None or slack is None:
        raise LedgerError("a stored number is damaged")
    relation = NeighboringRelation[neighbors]
    cap = PrivacyFilter(epsilon=epsilon, delta=delta, slack=slack, order=order, neighbors=relation)
    return Dataset(name, version, cap, unit)


@lru_cache(maxsize=256)
def _granted(k_star: int, l_star: int, *numbers: str) -> PayWhatYouGet:
    epsilon, delta, slack = map(rational_of, numbers)
    return PayWhatYouGet(k_star=k_star, l_star=l_star, epsilon=epsilon, delta=delta, slack=slack)
