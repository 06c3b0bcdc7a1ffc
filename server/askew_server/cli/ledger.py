"""`askew-server ledger`: budgets, what was spent of them, and what only an operator may do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.dp.odometer import PayWhatYouGet, PrivacyFilter
from askew.dp.release import PRIVACY_UNIT
from askew_server.cli.options import (
    NEIGHBORS,
    POSITIVE,
    RATIONAL,
    anchor_of,
    existing,
    format_option,
    ledger_options,
)
from askew_server.release.tables import headed

if TYPE_CHECKING:
    from askew_server.ledger import Ledger


@click.group()
def ledger() -> None:
    """Budgets: open them, look at them, give some to analysts.

    A budget is a cap on the privacy loss of everything that is ever released of a data set, also in
    its later versions. Spends are durable, append-only and chained; an anchor file shows that
    a backup was restored, and spending is then frozen until `ledger unfreeze`.
    """


@ledger.command("open")
@click.option("--dataset", required=True, help="A name of your own for the data set.")
@click.option("--version", "edition", default="1", show_default=True, help="Its version.")
@click.option("--epsilon", required=True, type=POSITIVE, help="Cap on the total epsilon.")
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
      askew-server ledger open --dataset films --version 2 \\
        --epsilon 10 --delta 1e-6
    """
    from askew_server.cli.ledger_rows import standing

    with _opened(ledger, anchor) as book:
        cap = PrivacyFilter(epsilon=epsilon, delta=delta, slack=slack)
        opened = book.open_dataset(dataset, edition, cap, PRIVACY_UNIT, NEIGHBORS[neighbors])
        click.echo(headed(standing(opened)))


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
    from askew_server.cli.ledger_rows import ledger_in

    with _opened(existing(ledger), anchor) as book:
        click.echo(ledger_in(form, book, dataset))


@ledger.command()
@click.option("--dataset", required=True, help="The data set.")
@click.option("--principal", required=True, help="Who may ask.")
@click.option("--outcomes", required=True, type=int, help="k*: items and stops, in all.")
@click.option("--questions", required=True, type=int, help="l*: questions, in all.")
@click.option("--epsilon", required=True, type=POSITIVE, help="Epsilon of one outcome.")
@click.option("--delta", required=True, type=RATIONAL, help="Delta of one question.")
@click.option(
    "--slack",
    default="0",
    show_default=True,
    type=RATIONAL,
    help="Delta of a composition of their own; 0 composes them with all else of the data set.",
)
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

    In a data set that was opened with a --slack, all analysts' outcomes and all releases compose by
    zCDP. In one that was not, epsilons add up, unless a --slack here composes this analyst's own.

    \b
    Examples:
      askew-server ledger grant --dataset films --principal ada --outcomes 100 \\
        --questions 10 --epsilon 0.1 --delta 1e-9
      askew-server ledger grant --dataset films --principal bob --outcomes 100 \\
        --questions 10 --epsilon 0.1 --delta 1e-9 --slack 1e-8
    """
    from askew_server.cli.ledger_rows import standing
    from askew_server.release.numerals import losses

    terms = PayWhatYouGet(
        k_star=outcomes, l_star=questions, epsilon=epsilon, delta=delta, slack=slack
    )
    with _opened(existing(ledger), anchor) as book:
        before = book.dataset(dataset).spent
        book.grant(dataset, principal, terms)
        after = book.dataset(dataset)
        more = losses(after.spent.epsilon - before.epsilon, after.spent.delta - before.delta)
        granted = [("principal", principal), ("charged", f"{more} more, for all that it allows")]
        click.echo(headed([*granted, *standing(after)]))


@ledger.command()
@click.option("--dataset", required=True, help="The data set.")
@click.option("--principal", required=True, help="Who may not ask any more.")
@ledger_options
def revoke(dataset: str, principal: str, ledger: Path, anchor: Path | None) -> None:
    """Close an analyst's budget. A service that runs refuses the next question.

    What was charged for the budget stays charged: its answers are known. Granting again is a new
    budget, charged anew.

    \b
    Example:
      askew-server ledger revoke --dataset films --principal ada
    """
    with _opened(existing(ledger), anchor) as book:
        held = book.revoke(dataset, principal)
        had = f"{held.answered.outcomes} of {held.terms.k_star} outcomes were spent"
        click.echo(f"{principal} may not ask about {dataset} any more; {had}")


@ledger.command()
@click.option("--reason", required=True, help="Why it is right to go on; recorded for good.")
@click.option(
    "--nothing-lost",
    is_flag=True,
    help="You state that ledger and anchor together hold every charge ever made, and the ledger no"
    " row that somebody forged. Needed where the anchor cannot tell: it is missing, damaged, old,"
    " or does not know the ledger's end.",
)
@ledger_options
def unfreeze(reason: str, nothing_lost: bool, ledger: Path, anchor: Path | None) -> None:
    """Let a frozen ledger spend again, after you have found out why it froze.

    Whatever the anchor remembers as spent stays spent, and where rows were lost, budgets of
    analysts are closed.

    \b
    Example:
      askew-server ledger unfreeze --reason "restored from the backup of 3 May"
    """
    from askew_server.release.numerals import losses

    with _opened(existing(ledger), anchor) as book:
        happened = book.frozen
        book.unfreeze(reason, nothing_lost=nothing_lost)
        click.echo(f"it was frozen: {happened}")
        click.echo("Spending goes on. Spent of each data set, with what was carried over:")
        for each in book.datasets():
            click.echo(f"  {each.name}: {losses(each.spent.epsilon, each.spent.delta)}")


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
