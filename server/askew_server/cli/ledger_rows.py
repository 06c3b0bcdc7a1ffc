"""The content of a ledger as rows for people and programs."""

from __future__ import annotations

import json

from askew_server.ledger import AnalystBudget, Charge, Dataset, Ledger, StoredRelease
from askew_server.published.reader import is_prior
from askew_server.release.numerals import losses
from askew_server.release.tables import Row, headed, rows_in

_CHARGES = (
    *("charge", "dataset", "version", "principal"),
    *("epsilon", "delta", "rounds", "rule", "released"),
)
_BUDGETS = ("dataset", "principal", "outcomes", "of", "questions", "at most", "epsilon", "state")


def ledger_in(form: str, book: Ledger, dataset: str | None) -> str:
    """Data sets, budgets and charges as a table or JSON; as CSV, the charges."""
    datasets = book.datasets() if dataset is None else (book.dataset(dataset),)
    budgets = [_budget_row(each) for each in book.budgets(dataset)]
    stored = {each.id: each for each in (*book.releases(dataset), *book.answers(dataset))}
    charges = [_charge_row(each, stored.get(each.id)) for each in book.charges(dataset)]
    if form == "csv":
        return rows_in("csv", _CHARGES, charges)
    if form == "json":
        rows = [_dataset_row(each) for each in datasets]
        parts = {"datasets": rows, "budgets": budgets, "charges": charges, "frozen": book.frozen}
        return json.dumps(parts, ensure_ascii=False)
    blocks = [headed([("frozen", book.frozen)])] if book.frozen else []
    blocks += [headed(standing(each)) for each in datasets]
    blocks += [rows_in("table", _BUDGETS, budgets)] if budgets else []
    blocks += [rows_in("table", _CHARGES, charges)] if charges else []
    return "\n\n".join(blocks)


def standing(dataset: Dataset) -> list[tuple[str, str]]:
    """What is spent of a data set's cap, for a person."""
    cap, spent = dataset.cap, dataset.spent
    return [
        ("data set", f"{dataset.name}, version {dataset.version}"),
        ("protects", f"{dataset.unit}; neighbors: {dataset.neighbors.value}"),
        ("spent", losses(spent.epsilon, spent.delta)),
        ("cap", losses(cap.epsilon, cap.delta)),
        ("left", losses(cap.epsilon - spent.epsilon, cap.delta - spent.delta)),
    ]


def _dataset_row(dataset: Dataset) -> Row:
    return {
        "dataset": dataset.name,
        "version": dataset.version,
        "unit": dataset.unit,
        "neighbors": dataset.neighbors.value,
        "spent_epsilon": str(dataset.spent.epsilon),
        "spent_delta": str(dataset.spent.delta),
        "cap_epsilon": str(dataset.cap.epsilon),
        "cap_delta": str(dataset.cap.delta),
    }


def _charge_row(charge: Charge, stored: StoredRelease | None) -> Row:
    request = charge.request
    return {
        "charge": charge.id,
        "dataset": request.dataset,
        "version": request.version,
        "principal": request.principal or "",
        "epsilon": str(request.loss.epsilon),
        "delta": str(getattr(request.loss, "delta", 0)),
        "rounds": getattr(request.loss, "rounds", 1),
        "rule": request.rule.value,
        "released": "nothing" if stored is None else _kind(stored),
    }


def _kind(stored: StoredRelease) -> str:
    """What was released: a list for everybody, a prior of a model, an answer to one analyst."""
    if stored.request.principal is not None:
        return "answer"
    return "prior" if is_prior(stored.payload) else "list"


def _budget_row(budget: AnalystBudget) -> Row:
    return {
        "dataset": budget.dataset,
        "principal": budget.principal,
        "outcomes": budget.answered.outcomes,
        "of": budget.terms.k_star,
        "questions": budget.answered.calls,
        "at most": budget.terms.l_star,
        "epsilon": str(budget.terms.epsilon),
        "state": "closed" if budget.closed else "open",
    }
