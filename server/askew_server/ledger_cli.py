"""`askew-server ledger`: budgets, what was spent of them, and what only an operator may do."""

from __future__ import annotations

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
    from askew_server.ledger import Charge, Dataset, Ledger

_COLUMNS = ("charge", "dataset", "version", "principal", "loss", "rule", "released")


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
        if form == "table":
            if book.frozen:
                click.echo(headed([("frozen", book.frozen)]) + "\n")
            for each in datasets:
                click.echo(headed(_standing(each)) + "\n")
        click.echo(rows_in(form, _COLUMNS, _charge_rows(book, dataset)))


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
@ledger_options
def unfreeze(reason: str, ledger: Path, anchor: Path | None) -> None:
    """Let a frozen ledger spend again, after you have found out why it froze.

    Whatever the anchor remembers as spent stays spent.

    \b
    Example:
      askew-server ledger unfreeze --reason "restored from the backup of 3 May"
    """
    with _opened(existing(ledger), anchor) as book:
        book.unfreeze(reason)
        click.echo("spending goes on")


@ledger.command()
@ledger_options
def verify(ledger: Path, anchor: Path | None) -> None:
    """Check every row, hash and total from the first one on.

    \b
    Example:
      askew-server ledger verify
    """
    with _opened(existing(ledger), anchor) as book:
        book.verify()
        click.echo(f"frozen: {book.frozen}" if book.frozen else "whole")


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


def _charge_rows(book: Ledger, dataset: str | None) -> list[Row]:
    released = {each.id for each in book.releases(dataset)}
    return [_charge_row(charge, charge.id in released) for charge in book.charges(dataset)]


def _charge_row(charge: Charge, released: bool) -> Row:
    request = charge.request
    return {
        "charge": charge.id,
        "dataset": request.dataset,
        "version": request.version,
        "principal": request.principal or "",
        "loss": str(request.loss),
        "rule": request.rule.value,
        "released": "yes" if released else "no",
    }


def _loss(epsilon: Fraction, delta: Fraction) -> str:
    from askew_server.release.words import losses

    return losses(epsilon, delta)
