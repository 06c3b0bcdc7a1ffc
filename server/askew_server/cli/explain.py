"""`askew-server explain`: how good a list could be, before there is a ledger or a log."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from askew.errors import ParameterError
from askew_server.cli.options import NEIGHBORS, RATIONAL, bound_option, expect_option, format_option
from askew_server.release.tables import headed, rows_in

if TYPE_CHECKING:
    from askew_server.release.forecast import Expectation, Forecast
    from askew_server.release.selectors import Wish

_SHOWN = ("mechanism", "returns", "delta", "users_needed")
_EXPECTED = ("expected_hits", "hits_if_half", "hits_if_twice")
_LAST = ("people_below", "max_items_per_unit")


@click.command()
@click.option("--k", default=20, show_default=True, help="How many items.")
@click.option("--epsilon", type=RATIONAL, default="1", show_default=True, help="Of the whole list.")
@click.option("--delta", type=RATIONAL, default="0", show_default=True, help="Its delta.")
@click.option("--items", type=int, help="How many the catalog has.  [default: there is no catalog]")
@click.option("--mechanism", help="This one alone.  [default: all that the numbers allow]")
@bound_option
@click.option(
    "--neighbors",
    type=click.Choice([*NEIGHBORS]),
    default="add-or-remove",
    show_default=True,
    help="What two data sets that must look alike differ by.",
)
@expect_option
@format_option
def explain(
    k: int,
    epsilon: Fraction,
    delta: Fraction,
    items: int | None,
    mechanism: str | None,
    max_items_per_unit: int | None,
    neighbors: str,
    expect: str | None,
    form: str,
) -> None:
    """Say how good a released list will be, the best mechanism first.

    Reads no log and spends nothing. users_needed is about how many users place k must have for 19
    of 20 items to be right. With --expect it says how many of the k are expected to be right, also
    if half or twice as many users are there, and proposes a mechanism; the more counts of first
    places --expect has, the surer. people_below holds whatever the counts are, with a chance of at
    least 95 %: no item listed is more than so many people below the true k-th.

    Without --items the domain is unknown, and a --delta is needed.

    \b
    Examples:
      askew-server explain --k 20 --epsilon 1 --items 5000
      askew-server explain --epsilon 0.1 --items 5000 --expect 1200
      askew-server explain --k 10 --epsilon 1 --delta 1e-8 \\
        --mechanism limited-domain
      askew-server explain --items 5000 --format json
    """
    from askew_server.release.forecast import COLUMNS, Expectation
    from askew_server.release.selectors import Wish

    _check(k, epsilon, max_items_per_unit)
    wish = Wish(
        k=k,
        epsilon=epsilon,
        delta=delta,
        neighbors=NEIGHBORS[neighbors],
        max_items_per_unit=max_items_per_unit,
    )
    expectation = None if expect is None else Expectation.of(expect, k)
    found = _forecasts(wish, items, mechanism, expectation)
    if form == "json":
        click.echo(json.dumps([each.named() for each in found]))
        return
    rows = [each.row() for each in found]
    if form == "csv":
        click.echo(rows_in(form, COLUMNS, rows))
        return
    shown = (*_SHOWN, *(_EXPECTED if expect else ()), *_LAST)
    click.echo(headed(_in_words(wish, items, found)) + "\n\n" + rows_in(form, shown, rows))


def _check(k: int, epsilon: Fraction, max_items_per_unit: int | None) -> None:
    """Raises ParameterError for numbers that no mechanism takes."""
    from askew.dp.privacy import positive_rational
    from askew.dp.release import MAX_ITEMS
    from askew_server.counting import ContributionBound

    if not 1 <= k <= MAX_ITEMS:
        raise ParameterError("k", k, f"from 1 to {MAX_ITEMS}")
    positive_rational("epsilon", epsilon)
    if max_items_per_unit is not None:
        ContributionBound(max_items_per_unit)


def _forecasts(
    wish: Wish, items: int | None, mechanism: str | None, expectation: Expectation | None
) -> list[Forecast]:
    """One, or all that there are. Raises ParameterError where there is none."""
    from askew_server.release.forecast import forecast, forecasts, with_default_bound
    from askew_server.release.selectors import default_mechanism

    found = [] if mechanism else forecasts(wish, items, expectation)
    if found:
        return found
    name = mechanism or default_mechanism(known_domain=items is not None)
    return [forecast(name, with_default_bound(name, wish), items, expectation)]


def _in_words(wish: Wish, items: int | None, found: list[Forecast]) -> list[tuple[str, str]]:
    from askew_server.release.forecast import best_of, with_default_bound
    from askew_server.release.selectors import kinds
    from askew_server.release.tables import losses
    from askew_server.release.words import accuracy_in_words, proposal_in_words

    domain = "of an unknown domain" if items is None else f"of the {items:,} of a public catalog"
    lines = [
        ("selects", f"{wish.k} items {domain}"),
        ("spends", f"{losses(wish.epsilon, wish.delta)}; neighbors: {wish.neighbors.value}"),
    ]
    best = best_of(found, wish)
    if best is not None:
        lines.append(("proposed", proposal_in_words(best)))
    if len(found) > 1:
        return [*lines, ("accuracy", accuracy_in_words("so many", wish.k))]
    [only] = found
    own = with_default_bound(only.mechanism, wish)
    kind = kinds()[only.mechanism]
    noise = kind.noise(kind.build(own), own.max_items_per_unit)
    accuracy = accuracy_in_words(f"{only.people_below:,}", wish.k)
    return [*lines, ("noise", noise), ("accuracy", accuracy)]
