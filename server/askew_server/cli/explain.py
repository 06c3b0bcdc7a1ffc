"""`askew-server explain`: how far off a list could be, before there is a ledger or a log."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from askew.errors import ParameterError
from askew_server.cli.options import NEIGHBORS, RATIONAL, bound_option, format_option
from askew_server.release.tables import headed, rows_in

if TYPE_CHECKING:
    from askew_server.release.forecast import Forecast
    from askew_server.release.selectors import Wish

_SHOWN = ("mechanism", "returns", "people_below", "max_items_per_unit")


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
@format_option
def explain(
    k: int,
    epsilon: Fraction,
    delta: Fraction,
    items: int | None,
    mechanism: str | None,
    max_items_per_unit: int | None,
    neighbors: str,
    form: str,
) -> None:
    """Say how far off a released list can be, whatever the data are.

    Reads nothing and spends nothing: epsilon, k and how many items there are decide it. For every
    mechanism it names the smallest number of people such that, with a chance of at least 95 % and
    whatever the counts, no item listed is more than so many people below the true k-th.

    Without --items the domain is unknown, and a --delta is needed.

    \b
    Examples:
      askew-server explain --k 20 --epsilon 1 --items 5000
      askew-server explain --k 10 --epsilon 1 --delta 1e-8 \\
        --mechanism limited-domain
      askew-server explain --items 5000 --format json
    """
    from askew_server.release.forecast import COLUMNS
    from askew_server.release.selectors import Wish

    _check(k, epsilon, max_items_per_unit)
    wish = Wish(
        k=k,
        epsilon=epsilon,
        delta=delta,
        neighbors=NEIGHBORS[neighbors],
        max_items_per_unit=max_items_per_unit,
    )
    found = _forecasts(wish, items, mechanism)
    if form == "json":
        click.echo(json.dumps([each.named() for each in found]))
        return
    rows = [each.row() for each in found]
    if form == "csv":
        click.echo(rows_in(form, COLUMNS, rows))
        return
    click.echo(headed(_in_words(wish, items, found)) + "\n\n" + rows_in(form, _SHOWN, rows))


def _check(k: int, epsilon: Fraction, max_items_per_unit: int | None) -> None:
    """Raises ParameterError for numbers that no mechanism takes."""
    from askew.privacy import positive_rational
    from askew.release import MAX_ITEMS
    from askew_server.counting import ContributionBound

    if not 1 <= k <= MAX_ITEMS:
        raise ParameterError("k", k, f"from 1 to {MAX_ITEMS}")
    positive_rational("epsilon", epsilon)
    if max_items_per_unit is not None:
        ContributionBound(max_items_per_unit)


def _forecasts(wish: Wish, items: int | None, mechanism: str | None) -> list[Forecast]:
    """One, or all that there are. Raises ParameterError where there is none."""
    from askew_server.release.forecast import forecast, forecasts, with_default_bound
    from askew_server.release.selectors import default_mechanism

    found = [] if mechanism else forecasts(wish, items)
    if found:
        return found
    name = mechanism or default_mechanism(known_domain=items is not None)
    return [forecast(name, with_default_bound(name, wish), items)]


def _in_words(wish: Wish, items: int | None, found: list[Forecast]) -> list[tuple[str, str]]:
    from askew_server.release.forecast import with_default_bound
    from askew_server.release.numerals import losses
    from askew_server.release.selectors import kinds
    from askew_server.release.words import accuracy_in_words

    domain = "of an unknown domain" if items is None else f"of the {items:,} of a public catalog"
    lines = [
        ("selects", f"{wish.k} items {domain}"),
        ("spends", f"{losses(wish.epsilon, wish.delta)}; neighbors: {wish.neighbors.value}"),
    ]
    if len(found) > 1:
        return [*lines, ("accuracy", accuracy_in_words("so many", wish.k))]
    [only] = found
    own = with_default_bound(only.mechanism, wish)
    kind = kinds()[only.mechanism]
    noise = kind.noise(kind.build(own), own.max_items_per_unit)
    accuracy = accuracy_in_words(f"{only.people_below:,}", wish.k)
    return [*lines, ("noise", noise), ("accuracy", accuracy)]
