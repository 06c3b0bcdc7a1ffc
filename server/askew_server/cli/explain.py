"""`askew-server explain`: how good a list could be, before there is a ledger or a log."""

from __future__ import annotations

import json
from typing import Any

import click

from askew_server.cli.options import (
    NEIGHBORS,
    RATIONAL,
    as_json,
    bound_option,
    counts_option,
    expect_option,
    k_option,
)
from askew_server.release.tables import aligned, headed

_SHOWN = ("mechanism", "returns", "delta", "users_needed")
_EXPECTED = ("expected_hits", "hits_if_half", "hits_if_twice")
_LAST = ("error_bound", "max_items_per_unit")


@click.command()
@k_option
@click.option("--epsilon", type=RATIONAL, default="1", show_default=True, help="Of the whole list.")
@click.option("--delta", type=RATIONAL, default="0", show_default=True, help="Its delta.")
@click.option(
    "--catalog-size",
    type=int,
    help="How many items the public catalog has.  [default: there is no catalog]",
)
@click.option("--mechanism", help="This one alone.  [default: all that the numbers allow]")
@counts_option
@bound_option
@click.option(
    "--neighbors",
    type=click.Choice([*NEIGHBORS]),
    default="add-or-remove",
    show_default=True,
    help="What two data sets that must look alike differ by.",
)
@expect_option
@click.option("--lists", type=int, default=1, help="How many lists pay with --epsilon and --delta.")
@as_json
def explain(
    k: int,
    catalog_size: int | None,
    mechanism: str | None,
    neighbors: str,
    expect: str | None,
    lists: int,
    as_json: bool,
    **numbers: Any,
) -> None:
    """Say how good a released list will be, the best mechanism first.

    Reads no log and spends nothing. users_needed is about how many users place k must have for 19
    of 20 items to be right. With --expect it says how many of the k are expected to be right, also
    if half or twice as many users are there, and proposes a mechanism; the more counts of first
    places --expect has, the surer. error_bound holds whatever the counts are, with a chance of at
    least 95 %: no item listed is more than so many users below the true k-th.

    With --lists 52 it says what each of 52 lists may cost of one budget, and what is left of it.

    Prints some lines, such as "selects    20 items ...", an empty line and a table, a row a
    mechanism. --json: one array, an object a mechanism. Without --catalog-size the domain is
    unknown, and without a --delta that is wrong usage, exit 2.

    \b
    Examples:
      askew-server explain -k 20 --epsilon 1 --catalog-size 5000
      askew-server explain --epsilon 0.1 --catalog-size 5000 --expect 1200
      askew-server explain -k 10 --epsilon 1 --delta 1e-8 \\
        --mechanism limited-domain
      askew-server explain --catalog-size 5000 --json
    """
    from askew_server.release.forecast import (
        best_of,
        expected_counts,
        explained_in_words,
        forecast,
        forecasts,
        lists_in_words,
        one_of_many,
    )
    from askew_server.release.plan import (
        MechanismRequest,
        default_mechanism,
        with_default_bound,
    )

    asked = MechanismRequest(k=k, neighbors=NEIGHBORS[neighbors], **numbers)
    counts = None if expect is None else expected_counts(expect, k)[0]
    budget = asked
    rows = [] if mechanism else forecasts(asked, catalog_size, counts, lists=lists)
    if not rows:  # then its error says what is missing
        name = mechanism or default_mechanism(known_domain=catalog_size is not None)
        asked = with_default_bound(name, asked)
        if lists != 1:
            asked, _, _ = one_of_many(lists, budget, name, catalog_size)
        rows = [forecast(name, asked, catalog_size, counts)]
    if as_json:
        click.echo(json.dumps([row.named() for row in rows]))
        return
    of_list = () if lists == 1 else ("epsilon",)
    shown = (*_SHOWN, *of_list, *(_EXPECTED if expect else ()), *_LAST)
    words = explained_in_words(asked, catalog_size, rows)
    if lists != 1:
        words += lists_in_words(lists, budget, best_of(rows, asked) or rows[0])
    click.echo(headed(words) + "\n\n" + aligned(shown, [row.row() for row in rows]))
