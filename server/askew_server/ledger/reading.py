"""Queries: rows as records."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from functools import lru_cache
from typing import Any

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
SELECT c.sequence, c.dataset, c.version, c.principal, c.key, c.digest, c.epsilon, c.delta, c.rounds,
    d.neighbors, c.day, f.payload, f.outputs
FROM charges c JOIN datasets d ON (d.name, d.version) = (c.dataset, c.version)
LEFT JOIN fulfilments f ON f.charge = c.sequence
"""
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
_VERSIONS = (
    "SELECT version, unit, neighbors, epsilon, delta, slack, conversion_order FROM datasets"
    " WHERE name = ? ORDER BY sequence DESC"
)
_BEYOND = 1 << 63  # of what SQLite can count


def find_paid(
    database: sqlite3.Connection, request: ChargeRequest
) -> Charge | StoredRelease | None:
    """Return the charge that has this request's key, with its release if there is one; None where
    there is no such charge.
    """
    where = "WHERE (c.dataset, c.principal, c.key) = (?, ?, ?)"
    names = (request.dataset, request.principal or "", request.key)
    row = database.execute(_CHARGES + where, names).fetchone()
    return _paid(row) if row else None


def paid_by_id(database: sqlite3.Connection, charge_id: int) -> Charge | StoredRelease:
    """Return the charge of this number, with its release if there is one. Raises LedgerError where
    there is none.
    """
    row = None
    if type(charge_id) is int and 0 < charge_id < _BEYOND:  # 2.0 would be stored as 2
        row = database.execute(_CHARGES + "WHERE c.sequence = ?", (charge_id,)).fetchone()
    if row is None:
        raise LedgerError(f"there is no charge {charge_id}")
    return _paid(row)


def all_paid(
    database: sqlite3.Connection, dataset: str | None = None
) -> list[Charge | StoredRelease]:
    """Return every charge of a data set, or of all, the oldest first, with its release if there is
    one.
    """
    where = "WHERE (?1 IS NULL OR c.dataset = ?1) ORDER BY c.sequence"
    return [_paid(row) for row in database.execute(_CHARGES + where, (dataset,))]


def count_charges(database: sqlite3.Connection, request: ChargeRequest) -> int:
    """Return how many charges of no analyst have the data set and the digest of a request."""
    query = "SELECT count(*) FROM charges WHERE (dataset, principal, digest) = (?, '', ?)"
    [number] = database.execute(query, (request.dataset, request.digest)).fetchone()
    return int(number)


def sharers_of(database: sqlite3.Connection, dataset: str, place: bytes) -> tuple[str, ...]:
    """Return the names, sorted, of the other data sets that were charged for events of this
    place.
    """
    query = "SELECT DISTINCT dataset FROM charges WHERE dataset != ? AND place = ? ORDER BY 1"
    return tuple(str(name) for (name,) in database.execute(query, (dataset, place)))


def spent_on(database: sqlite3.Connection, dataset: str) -> RunningLoss:
    """Return the running total of all versions of a data set; zero where nothing was spent."""
    newest = "SELECT * FROM totals WHERE dataset = ? ORDER BY sequence DESC LIMIT 1"
    row = database.execute(newest, (dataset,)).fetchone()
    return loss_of(map(rational_of, row[2:])) if row else RunningLoss()


def last_acts(database: sqlite3.Connection) -> tuple[Position, Position | None]:
    """Return the number and id of the last act and of the one before it, as `askew.dp.mark.compare`
    takes them: START for none, and None before that.
    """
    newest = "SELECT sequence, id FROM acts ORDER BY sequence DESC LIMIT 2"
    end, before, *_ = (*database.execute(newest), START, None)
    return end, before


def mark_of(database: sqlite3.Connection) -> Mark:
    """Return the mark of the ledger as it is now: number and id of its last act, and by data set
    the five sums that are spent (`sums_of`).
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
    """Return every version of a data set, newest first, each with what all have spent together;
    none where the data set is unknown.
    """
    spent = spent_on(database, name)
    rows = database.execute(_VERSIONS, (name,))
    return [replace(_opened(name, *row), running=spent) for row in rows]


def newest_terms(database: sqlite3.Connection, name: str) -> Dataset:
    """Return the newest version of a data set, with the terms that a new charge must keep to, and
    not what was spent. Raises LedgerError where there is none.
    """
    row = database.execute(_VERSIONS + " LIMIT 1", (name,)).fetchone()
    if row is None:
        raise LedgerError(f"there is no data set {name!r} in the ledger: see ledger open --help")
    return _opened(name, *row)


def newest_version(database: sqlite3.Connection, name: str) -> Dataset:
    """Return the newest version of a data set, which takes new charges, with what all have spent.
    Raises LedgerError where there is none.
    """
    return replace(newest_terms(database, name), running=spent_on(database, name))


def analyst_budgets(
    database: sqlite3.Connection, dataset: str | None = None, principal: str | None = None
) -> list[AnalystBudget]:
    """Return every grant, the oldest first, of a data set or of all, to a principal or to all; the
    newest of a data set and a principal counts.
    """
    budgets = []
    for row in database.execute(_GRANTS, (dataset, principal)):
        name, who, k_star, l_star, epsilon, delta, slack, outputs, calls, closed = row
        terms = _granted(k_star, l_star, epsilon, delta, slack)
        budgets.append(AnalystBudget(name, who, terms, AnalystUsage(outputs, calls), bool(closed)))
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


def _paid(row: tuple[Any, ...]) -> Charge | StoredRelease:
    identity, dataset, version, principal, key, digest, *numbers, day, payload, outputs = row
    epsilon, delta, rounds, relation = numbers
    try:
        exact, neighbors = rational_of(epsilon), NeighboringRelation[relation]
        loss: Loss
        if delta is None:
            loss = PureDP(exact, neighbors)
        elif rounds is None:
            loss = ApproximateDP(exact, rational_of(delta), neighbors)
        else:
            loss = BoundedRange(exact, rounds, rational_of(delta), neighbors)
        request = ChargeRequest(
            dataset=dataset,
            version=version,
            key=key,
            digest=digest,
            loss=loss,
            principal=principal or None,
            day=day,
        )
    except (ValueError, KeyError):
        raise LedgerError(f"charge {identity} is damaged") from None
    if payload is None:
        return Charge(identity, request)
    return StoredRelease(identity, request, payload, outputs)
