"""`askew-server ledger`: budgets, what was spent of them, and what only an operator may do."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.odometer import PayWhatYouGet, PrivacyBudget
from askew.release import PRIVACY_UNIT
from askew_server.command_options import (
    NEIGHBORS,
    RATIONAL,
    anchor_of,
    existing,
    format_option,
    ledger_options,
)
from askew_server.tables import Row, headed, rows_in

if TYPE_CHECKING:
    from askew_server.ledger import AnalystBudget, Charge, Dataset, Ledger

_CHARGES = (
    "charge",
    "dataset",
    "version",
    "principal",
    "epsilon",
    "delta",
    "rounds",
    "rule",
    "list",
)
_BUDGETS = ("dataset", "principal", "outcomes", "of", "questions", "at most", "epsilon", "state")


@click.group()
def ledger() -> None:
    """Budgets: open them, look at them, give some to analysts.

    A budget is a cap on the privacy loss of everything that is ever released of a data set, also in
    its later versions. Spends are durable, append-only and chained; an anchor file tells a restored
    backup, and freezes spending until `ledger unfreeze`.
    """


@ledger.command("open")
@click.option("--dataset", required=True, help="A name of your own for the data set.")
@click.option("--version", "edition", default="1", show_default=True, help="Its version.")
@click.option("--epsilon", required=True, type=RATIONAL, help="Cap on the total epsilon.")
@click.option("--delta", default="0", show_default=True, type=RATIONAL, help="Cap on the delta.")
@click.option(
    "--slack",
    default="0",
    show_default=True,
    type=RATIONAL,
    help="Part of delta for composition by zCDP; 0 adds epsilons up.",
)
@click.option(
    "--neighbors",
    type=click.Choice(sorted(NEIGHBORS)),
    default="add-or-remove",
    show_default=True,
    help="Which two data sets must look alike.",
)
@ledger_options
def open_dataset(
    dataset: str,
    edition: str,
    epsilon: Fraction,
    delta: Fraction,
    slack: Fraction,
    neighbors: str,
    ledger: Path,
    anchor: Path | None,
) -> None:
    """Open a data set's budget, or a new version of the data set.

    A new version inherits all that was spent.

    \b
    Examples:
      askew-server ledger open --dataset films --epsilon 10 --delta 1e-6
      askew-server ledger open --dataset films --version 2 --epsilon 10 --delta 1e-6
    """
    with _opened(ledger, anchor) as book:
        cap = PrivacyBudget(epsilon=epsilon, delta=delta, slack=slack)
        opened = book.open_dataset(dataset, edition, cap, PRIVACY_UNIT, NEIGHBORS[neighbors])
        click.echo(headed(_standing(opened)))


@ledger.command()
@click.option("--dataset", help="Only this data set.")
@format_option
@ledger_options
def show(dataset: str | None, form: str, ledger: Path, anchor: Path | None) -> None:
    """What is spent, what is left, and every charge.

    \b
    Examples:
      askew-server ledger show
      askew-server ledger show --dataset films --format csv > charges.csv
    """
    with _opened(existing(ledger), anchor) as book:
        datasets = book.datasets() if dataset is None else (book.dataset(dataset),)
        budgets = [_budget_row(each) for each in book.budgets(dataset)]
        public = {each.id for each in book.releases(dataset)}
        charges = [_charge_row(each, each.id in public) for each in book.charges(dataset)]
        frozen = book.frozen
    if form == "csv":
        click.echo(rows_in("csv", _CHARGES, charges))
    elif form == "json":
        everything = {
            "datasets": [*map(_dataset_row, datasets)],
            "budgets": budgets,
            "charges": charges,
        }
        click.echo(json.dumps(everything | {"frozen": frozen}, ensure_ascii=False))
    else:
        frozen_line = [[("frozen", frozen)]] if frozen else []
        parts = [headed(lines) for lines in (*frozen_line, *map(_standing, datasets))]
        parts += [rows_in("table", _BUDGETS, budgets)] if budgets else []
        parts += [rows_in("table", _CHARGES, charges)] if charges else []
        click.echo("\n\n".join(parts))


@ledger.command()
@click.option("--dataset", required=True, help="The data set.")
@click.option("--principal", required=True, help="Who may ask.")
@click.option("--outcomes", required=True, type=int, help="k*: items and stops, in all.")
@click.option("--questions", required=True, type=int, help="l*: questions, in all.")
@click.option("--epsilon", required=True, type=RATIONAL, help="Epsilon of one outcome.")
@click.option("--delta", required=True, type=RATIONAL, help="Delta of one question.")
@click.option("--slack", required=True, type=RATIONAL, help="Delta of their composition.")
@ledger_options
def grant(
    dataset: str,
    principal: str,
    outcomes: int,
    questions: int,
    epsilon: Fraction,
    delta: Fraction,
    slack: Fraction,
    ledger: Path,
    anchor: Path | None,
) -> None:
    """Give an analyst a budget, and charge its whole loss to the data set now.

    \b
    Example:
      askew-server ledger grant --dataset films --principal ada --outcomes 100 \\
        --questions 10 --epsilon 0.1 --delta 1e-9 --slack 1e-8
    """
    terms = PayWhatYouGet(
        k_star=outcomes, l_star=questions, epsilon=epsilon, delta=delta, slack=slack
    )
    with _opened(existing(ledger), anchor) as book:
        book.grant(dataset, principal, terms)
        total = terms.total_loss()
        click.echo(
            headed(
                [
                    ("principal", principal),
                    ("may cost", _loss(total.epsilon, total.delta) + ", charged now, in full"),
                ]
            )
        )
        click.echo(headed(_standing(book.dataset(dataset))))


@ledger.command()
@click.option("--reason", required=True, help="Why it is right to go on; recorded for good.")
@click.option(
    "--nothing-lost",
    is_flag=True,
    help="The anchor is gone, and you state that the ledger holds every charge ever made.",
)
@ledger_options
def unfreeze(reason: str, nothing_lost: bool, ledger: Path, anchor: Path | None) -> None:
    """Let a frozen ledger spend again, after you have found out why it froze.

    Whatever the anchor remembers as spent stays spent, and budgets of analysts are closed.

    \b
    Example:
      askew-server ledger unfreeze --reason "restored from the backup of 3 May"
    """
    with _opened(existing(ledger), anchor) as book:
        book.unfreeze(reason, nothing_lost=nothing_lost)
        click.echo("spending goes on")


@ledger.command()
@ledger_options
def verify(ledger: Path, anchor: Path | None) -> None:
    """Check every row, hash and total from the first one on, and the anchor.

    \b
    Example:
      askew-server ledger verify
    """
    with _opened(existing(ledger), anchor) as book:
        book.verify()
        click.echo("whole: every row, hash and total is as it was written")


def _opened(path: Path, anchor: Path | None) -> Ledger:
    from askew_server.ledger import Ledger

    return Ledger(path, anchor_of(path, anchor))


def _standing(dataset: Dataset) -> list[tuple[str, str]]:
    cap, spent = dataset.cap, dataset.spent
    return [
        ("data set", f"{dataset.name}, version {dataset.version}"),
        ("protects", f"{dataset.unit}; neighbors: {dataset.neighbors.value}"),
        ("spent", _loss(spent.epsilon, spent.delta)),
        ("cap", _loss(cap.epsilon, cap.delta)),
        ("left", _loss(cap.epsilon - spent.epsilon, cap.delta - spent.delta)),
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


def _charge_row(charge: Charge, public: bool) -> Row:
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
        "list": "public" if public else "none",
    }


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


def _loss(epsilon: Fraction, delta: Fraction) -> str:
    from askew_server.release.words import losses

    return losses(epsilon, delta)
