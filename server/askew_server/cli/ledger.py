"""`askew-server ledger`: budgets, what was spent of them, and what only an operator may do."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import click

from askew.dp.analyst import PayWhatYouGet
from askew.dp.composition import PrivacyFilter, concentrated_epsilon
from askew.dp.release import PRIVACY_UNIT
from askew_server.cli.options import (
    NEIGHBORS,
    POSITIVE,
    RATIONAL,
    as_json,
    existing,
    ledger_options,
    mark_file,
)
from askew_server.ledger import Charge, Dataset, Ledger, StoredRelease
from askew_server.published.reader import part_of_model
from askew_server.release.tables import Row, aligned, headed, losses, number


@click.group()
def ledger() -> None:
    """Budgets: open them, look at them, give some to analysts.

    A budget is a cap on the privacy loss of everything that is ever released of a data set, also in
    its later versions. Spends are durable and append-only. A mark, a small file best on
    another disk, shows that an old copy was put back; nothing is spent then until `ledger accept`.
    Without a command, this help goes to standard error, and the exit code is 2.
    """


@ledger.command("open")
@click.option("--dataset", required=True, help="A name of your own for the data set.")
@click.option("--version", default="1", show_default=True, help="Its version.")
@click.option("--epsilon", required=True, type=POSITIVE, help="Cap on the total epsilon.")
@click.option("--delta", default="0", show_default=True, type=RATIONAL, help="Cap on the delta.")
@click.option(
    "--slack",
    type=RATIONAL,
    help="Part of delta by which many releases compose (zCDP); 0 adds their epsilons up. It is "
    "fixed for good.  [default: a tenth of delta; of a new version, that of the first]",
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
    version: str,
    epsilon: Fraction,
    delta: Fraction,
    slack: Fraction | None,
    neighbors: str,
    ledger: Path,
    mark: Path | None,
) -> None:
    """Open a data set's budget, or a new version of the data set.

    A new version inherits all that was spent. Without a delta there is no slack: epsilons then add
    up, for good, and the same cap may pay for far fewer lists. Asks nothing, makes the ledger if
    there is none, and prints six lines: data set, protects, spent, cap, left, composes. The same
    terms again change nothing and print these; other terms for this version are exit 1.

    \b
    Examples:
      askew-server ledger open --dataset films --epsilon 10 --delta 1e-6
      askew-server ledger open --dataset books --epsilon 10 --delta 1e-6 \\
        --slack 5e-7
      askew-server ledger open --dataset films --version 2 \\
        --epsilon 10 --delta 1e-6
    """
    if mark_file(ledger, mark).exists():
        existing(ledger, mark)
    with Ledger(ledger, mark_file(ledger, mark)) as book:
        if slack is None:
            slacks = [data.cap.slack for data in book.datasets() if data.name == dataset]
            slack = slacks[0] if slacks else delta / 10
        cap = PrivacyFilter(epsilon=epsilon, delta=delta, slack=slack)
        opened = book.open_dataset(dataset, version, cap, PRIVACY_UNIT, NEIGHBORS[neighbors])
        click.echo(headed(_standing(opened)))


@ledger.command()
@click.option("--dataset", help="Only this data set.")
@as_json
@ledger_options
def show(dataset: str | None, as_json: bool, ledger: Path, mark: Path | None) -> None:
    """Show what is spent, what is left, and every charge.

    Prints six lines a data set, data set to composes, then a table of analysts' budgets and one of
    charges, if there are any. --json: one object of datasets, budgets, charges and refused.

    \b
    Examples:
      askew-server ledger show
      askew-server ledger show --dataset films --json
    """
    with _opened(ledger, mark) as book:
        refused = book.refused
        datasets = book.datasets() if dataset is None else (book.dataset(dataset),)
        charges = [_charge_row(charge) for charge in book.charges(dataset)]
        budgets: list[Row] = [
            {
                "dataset": budget.dataset,
                "principal": budget.principal,
                "outputs": budget.answered.outputs,
                "of": budget.terms.k_star,
                "questions": budget.answered.calls,
                "at most": budget.terms.l_star,
                "epsilon": str(budget.terms.epsilon),
                "state": "closed" if budget.closed else "open",
            }
            for budget in book.budgets(dataset)
        ]
    if as_json:
        rows = [
            {
                "dataset": data.name,
                "version": data.version,
                "unit": data.unit,
                "neighbors": data.neighbors.value,
                "spent_epsilon": str(data.spent.epsilon),
                "spent_delta": str(data.spent.delta),
                "cap_epsilon": str(data.cap.epsilon),
                "cap_delta": str(data.cap.delta),
            }
            for data in datasets
        ]
        parts = {"datasets": rows, "budgets": budgets, "charges": charges, "refused": refused}
        click.echo(json.dumps(parts, ensure_ascii=False))
        return
    blocks = [headed([("refused", refused)])] if refused else []
    blocks += [headed(_standing(data)) for data in datasets]
    blocks += [aligned(tuple(rows[0]), rows) for rows in (budgets, charges) if rows]
    click.echo("\n\n".join(blocks))


@ledger.command()
@click.argument("principal")
@click.option("--dataset", required=True, help="The data set.")
@click.option("--outputs", required=True, type=click.IntRange(1), help="Items and stops, in all.")
@click.option("--questions", required=True, type=click.IntRange(1), help="Questions, in all.")
@click.option("--epsilon", required=True, type=RATIONAL, help="Of all outputs, added up.")
@click.option("--delta", required=True, type=RATIONAL, help="Of all questions, added up.")
@click.option(
    "--slack",
    default="0",
    show_default=True,
    type=RATIONAL,
    help="Delta of a composition of their own; 0 composes them with all else of the data set.",
)
@ledger_options
def grant(
    principal: str,
    dataset: str,
    outputs: int,
    questions: int,
    epsilon: Fraction,
    delta: Fraction,
    slack: Fraction,
    ledger: Path,
    mark: Path | None,
) -> None:
    """Give PRINCIPAL a budget, and charge its whole loss to the data set now.

    Each output costs its part of epsilon, and each question its part of delta. In a data set with a
    slack (ledger open), all analysts' outputs and all releases compose by zCDP where that is less:
    a grant may cost far less than its --epsilon. In one without, epsilons add up, unless a --slack
    here composes this analyst's own. Asks nothing, and prints nine lines: principal, charged, why,
    and the six of ledger open. Exit code 3: the cap does not allow it, and nothing is charged.

    \b
    Examples:
      askew-server ledger grant ada --dataset films --outputs 100 \\
        --questions 10 --epsilon 10 --delta 1e-8
      askew-server ledger grant bob --dataset films --outputs 100 \\
        --questions 10 --epsilon 10 --delta 1e-8 --slack 1e-8
    """
    terms = PayWhatYouGet(
        k_star=outputs,
        l_star=questions,
        epsilon=epsilon / outputs,
        delta=delta / questions,
        slack=slack,
    )
    with _opened(ledger, mark) as book:
        before = book.dataset(dataset).spent
        book.grant(dataset, principal, terms)
        after = book.dataset(dataset)
        more = losses(after.spent.epsilon - before.epsilon, after.spent.delta - before.delta)
        lines = [
            ("principal", principal),
            ("charged", f"{more} more, for all that it allows"),
            ("why", _why(terms, after.cap)),
        ]
        click.echo(headed([*lines, *_standing(after)]))


def _why(terms: PayWhatYouGet, cap: PrivacyFilter) -> str:
    # What the epsilon of a grant follows from, by the formula of `concentrated_epsilon`.
    outputs, epsilon = terms.k_star, terms.epsilon
    added = f"{outputs} outputs of epsilon {number(epsilon)} add up to {number(outputs * epsilon)}"
    slack = terms.slack or cap.slack
    if not slack:
        return f"{added}; there is no slack to compose them by zCDP"
    rho, order = outputs * epsilon**2 / 8, None if terms.slack else cap.order
    ranged = number(concentrated_epsilon(rho, slack, order))
    at = f"slack {number(slack)}, {f'order {number(order)}' if order else 'the best order'}"
    pooled = "" if terms.slack else ", with all that the data set composes"
    return f"{added}, and by zCDP (rho {number(rho)}, {at}) to {ranged}; the less counts{pooled}"


@ledger.command()
@click.argument("principal")
@click.option("--dataset", required=True, help="The data set.")
@ledger_options
def revoke(principal: str, dataset: str, ledger: Path, mark: Path | None) -> None:
    """Close the budget of PRINCIPAL. A service that runs refuses the next question.

    What was charged for the budget stays charged: its answers are known. Granting again is a new
    budget, charged anew. Asks nothing, and prints one line, "ada may not ask about films any more;
    3 of 100 outputs were spent", also if it was closed already. Never granted: exit 1.

    \b
    Example:
      askew-server ledger revoke ada --dataset films
    """
    with _opened(ledger, mark) as book:
        budget = book.revoke(dataset, principal)
        spent = f"{budget.answered.outputs} of {budget.terms.k_star} outputs were spent"
        click.echo(f"{principal} may not ask about {dataset} any more; {spent}")


@ledger.command()
@ledger_options
def accept(ledger: Path, mark: Path | None) -> None:
    """Go on with a ledger that differs from its mark, or is gone, after you have found out why.

    First look for the newest copy of both: only they know all charges. Each data set has then spent
    the larger of what the two say, and budgets of analysts are closed: grant again. Keys of lost
    charges are free, and a retry pays again. Where the ledger is gone, this begins a new one: open
    each data set again, with the terms that it had. Asks nothing, and prints "accepted: ..." and a
    line a data set, "films has spent epsilon 3, delta 1e-07". Nothing to accept: exit 1.

    \b
    Example:
      askew-server ledger accept
    """
    if not mark_file(ledger, mark).exists():
        existing(ledger)
    with Ledger(ledger, mark_file(ledger, mark)) as book:
        happened = book.refused
        book.accept()
        click.echo(f"accepted: {str(happened).partition('. ')[0]}")
        for data in book.datasets():
            click.echo(f"{data.name} has spent {losses(data.spent.epsilon, data.spent.delta)}")


def _opened(path: Path, mark: Path | None) -> Ledger:
    return Ledger(existing(path, mark), mark_file(path, mark))


def _standing(dataset: Dataset) -> list[tuple[str, str]]:
    cap, spent = dataset.cap, dataset.spent
    composes = "by adding up, for good: it has no slack, by which it would pay for more releases"
    if cap.slack:
        composes = (
            f"by zCDP where that is less, for a slack of {number(cap.slack)} of delta, for good"
        )
    return [
        ("data set", f"{dataset.name}, version {dataset.version}"),
        ("protects", f"{dataset.unit}; neighbors: {dataset.neighbors.value}"),
        ("spent", losses(spent.epsilon, spent.delta)),
        ("cap", losses(cap.epsilon, cap.delta)),
        ("left", losses(cap.epsilon - spent.epsilon, cap.delta - spent.delta)),
        ("composes", composes),
    ]


def _charge_row(charge: Charge | StoredRelease) -> Row:
    request = charge.request
    released = "nothing"
    if isinstance(charge, StoredRelease):
        released = "answer" if request.principal else part_of_model(charge.payload) or "list"
    return {
        "charge": charge.id,
        "dataset": request.dataset,
        "version": request.version,
        "principal": request.principal or "",
        "epsilon": str(request.loss.epsilon),
        "delta": str(getattr(request.loss, "delta", 0)),
        "rounds": getattr(request.loss, "rounds", 1),
        "released": released,
    }
