"""Each act of the ledger: what it looks for, what it checks, and the rows that it writes."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from askew.dp.composition import RunningLoss
from askew.dp.privacy import BoundedRange, PureDP
from askew.errors import ChargePending, KeyReused, LedgerError, ParameterError
from askew_server.ledger import reading
from askew_server.ledger.records import (
    AnalystBudget,
    Charge,
    ChargeRequest,
    Dataset,
    StoredRelease,
    columns_of,
    text_of,
)


class LedgerEntry:
    """The rows of one act, under one sequence and one random id, as they are written."""

    def __init__(self, database: sqlite3.Connection, sequence: int, name: str) -> None:
        """Begin the act. name: its random id."""
        self.database, self.sequence = database, sequence
        self.insert("acts", name)

    def insert(self, table: str, *columns: str | bytes | int | None) -> None:
        """Add a row of this sequence and these columns."""
        row = (self.sequence, *columns)
        places = ", ".join("?" * len(row))
        self.database.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608

    def spent_on(self, dataset: str) -> RunningLoss:
        """Return what was spent on a data set before this act."""
        return reading.spent_on(self.database, dataset)

    def add_total(self, dataset: str, spent: RunningLoss) -> None:
        """Add the running total of a data set after this act."""
        self.insert("totals", dataset, *columns_of(spent))


def find_dataset(database: sqlite3.Connection, wanted: Dataset) -> Dataset | None:
    """The newest version, if it is the wanted one. Raises LedgerError for one that conflicts."""
    versions = reading.versions_of(database, wanted.name)
    if not versions or wanted.version not in [known.version for known in versions]:
        return None
    newest = versions[0]
    cap = replace(newest.cap, order=wanted.cap.order)
    if replace(newest, cap=cap, running=wanted.running) != wanted:
        text = f"version {wanted.version!r} of {wanted.name!r} was opened with other terms, or is"
        raise LedgerError(text + " no longer the newest: open a new version")
    return newest


def add_dataset(entry: LedgerEntry, wanted: Dataset) -> Dataset:
    """A first or a next version. Raises LedgerError."""
    versions, cap = reading.versions_of(entry.database, wanted.name), wanted.cap
    if versions:
        first = versions[-1]
        kept = (first.unit, first.neighbors, first.cap.slack)
        if kept != (wanted.unit, wanted.neighbors, cap.slack):
            text = (
                f"a new version of {wanted.name!r} keeps its unit, neighboring relation and slack"
            )
            raise LedgerError(text)
        cap = replace(cap, order=first.cap.order)  # a filter fixes the order of its conversion
    entry.insert(
        "datasets",
        *(wanted.name, wanted.version, wanted.unit, wanted.neighbors.name),
        *map(text_of, (cap.epsilon, cap.delta, cap.slack)),
        None if cap.order is None else text_of(cap.order),
    )
    return reading.newest_version(entry.database, wanted.name)


def find_grant(database: sqlite3.Connection, wanted: AnalystBudget) -> AnalystBudget | None:
    """What the analyst has, if granted on these terms. Raises LedgerError for other terms."""
    held = reading.newest_budget(database, wanted.dataset, wanted.principal)
    if held is None or held.closed:
        return None
    if held.terms != wanted.terms:
        raise LedgerError(
            f"{wanted.principal!r} has a budget for {wanted.dataset!r} on other terms: close it by "
            "`askew-server ledger revoke` before you grant another, which is charged anew"
        )
    return held


def add_grant(entry: LedgerEntry, wanted: AnalystBudget) -> AnalystBudget:
    """Charges all that the terms allow. Raises BudgetExceeded, LedgerError."""
    name, terms = wanted.dataset, wanted.terms
    held = reading.newest_terms(entry.database, name)
    if terms.neighbors is not held.neighbors:
        raise LedgerError(f"the budget of {name!r} is for {held.neighbors.name}")
    after = held.cap.after(entry.spent_on(name), terms.grant())
    rationals = map(text_of, (terms.epsilon, terms.delta, terms.slack))
    sizes = (terms.k_star, terms.l_star)
    entry.insert("grants", name, wanted.principal, *sizes, *rationals)
    entry.add_total(name, after)
    return wanted


def find_closed(database: sqlite3.Connection, dataset: str, principal: str) -> AnalystBudget | None:
    """An analyst's budget, if it is closed. Raises LedgerError where nothing was granted."""
    held = reading.newest_budget(database, dataset, principal)
    if held is None:
        raise LedgerError(f"{principal!r} has no budget for {dataset!r}")
    return held if held.closed else None


def add_revocation(entry: LedgerEntry, dataset: str, principal: str) -> AnalystBudget:
    """Closes what was granted; its loss stays charged."""
    entry.insert("revocations", dataset, principal)
    held = reading.newest_budget(entry.database, dataset, principal)
    if held is None or not held.closed:
        raise LedgerError("a revocation did not close the budget")
    return held


def find_release(database: sqlite3.Connection, request: ChargeRequest) -> StoredRelease | None:
    """What was released for this request. Raises KeyReused, ChargePending."""
    paid = reading.find_paid(database, request)
    if paid is None:
        return None
    if paid.request != request:
        raise KeyReused(f"the key {request.key!r} stands for another request")
    if isinstance(paid, Charge):
        raise ChargePending(
            f"charge {paid.id} paid for this request and has no release: it is"
            " still being made, or its program ended before it was stored, and what it spent stays"
            " spent. --again makes another, which is paid"
        )
    return replace(paid, is_repeat=True)


def add_charge(entry: LedgerEntry, request: ChargeRequest) -> Charge:
    """Spends. Raises BudgetExceeded, LedgerError, ParameterError."""
    before, loss = entry.spent_on(request.dataset), request.loss
    after = total_after(entry.database, request, before)
    if after is not None:
        entry.add_total(request.dataset, after)
    entry.insert(
        "charges",
        *(request.dataset, request.version, request.principal or "", request.key),
        *(request.digest, request.rule.value, text_of(loss.epsilon)),
        None if isinstance(loss, PureDP) else text_of(loss.delta),
        loss.rounds if isinstance(loss, BoundedRange) else None,
        *(request.place, request.day),
    )
    return Charge(entry.sequence, request)


def total_after(
    database: sqlite3.Connection, request: ChargeRequest, spent: RunningLoss
) -> RunningLoss | None:
    """What a data set that has `spent` so far has spent once this is charged; None for an analyst's
    question, which its grant has paid. Raises BudgetExceeded, LedgerError, ParameterError.
    """
    name, loss = request.dataset, request.loss
    held = reading.newest_terms(database, name)
    if request.version != held.version:
        text = f"{name!r} is at version {held.version!r}; {request.version!r} takes no"
        raise LedgerError(text + " new charges")
    if loss.neighbors is not held.neighbors:
        text = f"the budget of {name!r} is for {held.neighbors.name}, the loss for"
        raise LedgerError(f"{text} {loss.neighbors.name}")
    if request.principal is not None:
        _check_answer(reading.newest_budget(database, name, request.principal), request)
        return None
    return held.cap.after(spent, loss)


def _check_answer(budget: AnalystBudget | None, request: ChargeRequest) -> None:
    """Raises BudgetExceeded, LedgerError, ParameterError."""
    if budget is None or budget.closed:
        raise LedgerError(f"{request.principal!r} has no budget for {request.dataset!r}")
    loss = request.loss
    rounds = loss.rounds if isinstance(loss, BoundedRange) else 1
    if loss != budget.terms.answer(rounds):
        raise ParameterError("loss", loss, f"the analyst's, {budget.terms.answer(rounds)}")
    budget.terms.reserve(budget.answered, rounds)


def add_fulfilment(
    entry: LedgerEntry, charge_id: int, payload: bytes, outputs: int | None
) -> StoredRelease:
    """Stores the release of a charge, and settles it. Raises LedgerError, ParameterError."""
    paid = reading.paid_by_id(entry.database, charge_id)
    if isinstance(paid, StoredRelease):
        raise LedgerError(f"charge {charge_id} has its release already")
    request = paid.request
    if request.principal is not None and isinstance(request.loss, BoundedRange):
        budget = reading.newest_budget(entry.database, request.dataset, request.principal)
        if budget is not None:  # it was charged on one
            budget.terms.settle(budget.answered, request.loss.rounds, outputs)
    elif outputs is not None:
        raise ParameterError("outputs", outputs, "None: only an analyst's answer is settled")
    entry.insert("fulfilments", charge_id, payload, outputs)
    return StoredRelease(charge_id, request, payload, outputs)
