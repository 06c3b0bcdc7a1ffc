"""`askew-server analyst`: who may ask a service of analysts, and asking it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from askew.noise.randomness import SystemBits
from askew_server.cli.options import RELEASES_PORT, as_json
from askew_server.cli.releases import release_in_words
from askew_server.release.tables import headed, losses, number
from askew_server.serving.tokens import add_token, remove_tokens

if TYPE_CHECKING:
    from askew.dp.analyst import BudgetStatus
    from askew_server.serving.analyst_client import AnalystClient

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _asking_options(command: _Command) -> _Command:
    dataset = click.option("--dataset", required=True, help="The data set that you may ask about.")
    server = click.option(
        "--server",
        default=f"127.0.0.1:{RELEASES_PORT}",
        show_default=True,
        envvar="ASKEW_ANALYST_SERVER",
        help="host:port. TLS, unless it is this machine.",
    )
    token = click.option(
        "--token",
        required=True,
        type=click.File("r", encoding="ascii"),
        envvar="ASKEW_TOKEN_FILE",
        help="The file with your token, or - for standard input.",
    )
    return dataset(server(token(as_json(command))))


@click.group()
def analyst() -> None:
    """Ask for the most popular items, from a budget that an operator granted.

    An operator runs `askew-server serve-releases --tokens`, grants a budget (ledger grant) and
    makes your token (analyst add). For TLS, ASKEW_AUTHORITY names a file in PEM of certificates to
    trust in place of the public ones. `askew-server analyst` alone, without a command, prints this
    help on standard error, and exits with 2.
    """


@analyst.command("top-k")
@click.option("-k", required=True, type=click.IntRange(1), help="How many items at most.")
@click.option(
    "--key", required=True, help="A name of your own for the question: asked again, it is free."
)
@_asking_options
def top_k(k: int, key: str, dataset: str, as_json: bool, server: str, token: IO[str]) -> None:
    """Ask for up to K items, and pay for as many as come, the stop included.

    Asks no yes. Prints the release, a line an item below its head, then seven lines: what was paid
    and what is left. --json: one object, release and budget.
    Exit code 3: your budget does not allow it, and nothing was spent.

    \b
    Examples:
      askew-server analyst top-k --token ada.token --dataset films \\
        -k 10 --key first
      askew-server analyst top-k --token - --dataset films \\
        -k 10 --key first --json < ada.token
    """
    with _client(server, token) as client:
        answer = client.top_k(dataset, k, key)
    if as_json:
        release = json.loads(answer.document)
        parts = {"release": release, "budget": _budget(dataset, answer.budget)}
        click.echo(json.dumps(parts, ensure_ascii=False))
        return
    outputs = len(answer.release.items) + answer.release.stopped
    epsilon = answer.budget.terms.epsilon
    paid = f"{outputs} outputs of epsilon {number(epsilon)}: {number(outputs * epsilon)}"
    if outputs < k:
        paid += f"; the loss above is for all {k}"
    click.echo(release_in_words(answer.document))
    click.echo("\n" + headed([("paid", paid), *_standing(dataset, answer.budget)]))


@analyst.command()
@_asking_options
def budget(dataset: str, as_json: bool, server: str, token: IO[str]) -> None:
    """Show what you spent and what is left. Costs nothing.

    Prints six lines: data set, outputs ("3 of 100 spent, 97 left"), questions, may lose, that is,
    state ("open" or "closed: ..."). --json: one object. No such budget: exit 1.

    \b
    Example:
      askew-server analyst budget --token ada.token --dataset films
    """
    with _client(server, token) as client:
        left = client.budget(dataset)
    if as_json:
        click.echo(json.dumps(_budget(dataset, left), ensure_ascii=False))
    else:
        click.echo(headed(_standing(dataset, left)))


def _tokens_option(command: _Command) -> _Command:
    return click.option(
        "--tokens",
        required=True,
        type=click.Path(path_type=Path),
        help="The file of tokens, as in serve-releases.",
    )(command)


@analyst.command()
@click.argument("name")
@_tokens_option
def add(name: str, tokens: Path) -> None:
    """Write a new token for NAME to standard output; the file of tokens has its digest.

    For operators. Pass the token on as a file, never as an argument. A service that runs sees it at
    once. NAME may have several tokens; a budget is granted apart (ledger grant). The token is one
    line of 43 characters; the file of tokens is made if there is none.

    \b
    Example:
      askew-server analyst add ada --tokens analysts.tokens > ada.token
    """
    click.echo(add_token(tokens, name, SystemBits()))


@analyst.command()
@click.argument("name")
@_tokens_option
def remove(name: str, tokens: Path) -> None:
    """Remove every token of NAME. A service that runs sees it at once.

    For operators. To end a budget, see ledger revoke. Asks nothing, and prints one line on standard
    error, "2 tokens of ada removed, ...", also for 0, with exit 0. No file of tokens: exit 1.

    \b
    Example:
      askew-server analyst remove ada --tokens analysts.tokens
    """
    count = remove_tokens(tokens, name)
    number_of_tokens = "1 token" if count == 1 else f"{count} tokens"
    click.echo(f"{number_of_tokens} of {name} removed, which no service takes any more", err=True)


def _client(server: str, token: IO[str]) -> AnalystClient:
    from askew_server.serving.analyst_client import AnalystClient

    authority = os.environ.get("ASKEW_AUTHORITY")
    return AnalystClient(server, token.read(), authority=Path(authority) if authority else None)


def _budget(dataset: str, budget: BudgetStatus) -> dict[str, str | int]:
    terms = budget.terms
    return {
        "dataset": dataset,
        "outputs": budget.outputs,
        "outputs_granted": terms.k_star,
        "outputs_left": budget.outputs_left,
        "questions": budget.calls,
        "questions_granted": terms.l_star,
        "epsilon": str(terms.epsilon),
        "delta": str(terms.delta),
        "slack": str(terms.slack),
        "closed": budget.closed,
    }


def _standing(dataset: str, budget: BudgetStatus) -> list[tuple[str, str]]:
    terms, total = budget.terms, budget.terms.total_loss()
    rule = f"by zCDP at slack {number(terms.slack)}" if terms.slack else "added up"
    parts = f"{terms.k_star} outputs of epsilon {number(terms.epsilon)}, {rule}; "
    parts += f"{terms.l_star} questions of delta {number(terms.delta)}"
    left = f"{terms.k_star - budget.outputs} left"
    if terms.k_star > budget.outputs and not budget.outputs_left:
        why = "the budget is closed" if budget.closed else "no question is left"
        left += f" that may not be asked: {why}"
    state = "closed: nothing may be asked any more" if budget.closed else "open"
    return [
        ("data set", dataset),
        ("outputs", f"{budget.outputs} of {terms.k_star} spent, {left}"),
        ("questions", f"{budget.calls} of {terms.l_star} asked"),
        (
            "may lose",
            f"{losses(total.epsilon, total.delta)} in all, beside the data set's own slack",
        ),
        ("that is", parts),
        ("state", state),
    ]
