"""`askew budget`: the ledger, for a person or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from askew_client.device.budget import Budget
    from askew_client.profile.document import NamedPlace

_ACCEPT = (
    "Continue here, with the ledger as it is and the date as it is? What its mark knows beyond it "
    "is booked as spent; what was drawn elsewhere is not counted. It is written down."
)


@click.command()
@options.all_of(options.data, options.as_json)
@click.option("--accept", is_flag=True, help="Continue with this ledger, after a question.")
@click.pass_context
def budget(
    context: click.Context,
    data: Path | None,
    as_json: bool,
    accept: bool,
) -> None:
    """Show what was spent: when, on which space, and what that means.

    Prints a line for each charge, "2026-11  home: one noisy position, ...", oldest first, an empty
    line, what is spent and left, when the next month begins, and the mode. --json: one object.

    Nothing more is spent where the ledger differs from its mark, as an older copy does, or the
    clock jumped more than a year ahead. `--accept` continues here, after a yes (else exit 130):
    what the mark knows is booked; what was drawn elsewhere is not counted.

    \b
    Examples:
      askew budget
      askew budget --json
      askew budget --accept
    """
    import datetime

    from askew.errors import AskewError
    from askew_client.device.budget import budget_of
    from askew_client.profile.store import ProfileStore
    from askew_client.settings.config import places
    from askew_client.settings.settings import month_of
    from askew_client.signals.store import SignalStore

    config = options.load(context, data=data)
    where = places(config.data)
    store = SignalStore(where.ledger, config.settings.caps, where.mark)
    today = datetime.date.today()
    if accept:
        click.confirm(_ACCEPT, abort=True, err=True)
        store.accept(month_of(today))
    named: Mapping[str, NamedPlace] = {}
    with suppress(AskewError):  # without a profile that can be read, places have no names
        named = ProfileStore(where.profile).read().places
    status, mode = budget_of(store, today, named), config.settings.mode
    if as_json:
        options.print_json({**_as_json(status, month_of(today)), "mode": mode})
        return
    for entry, words in status.lines:
        space = f"  on space {entry.space_version[:8]}" if entry.space_version else ""
        click.echo(f"{entry.month}{space}  {words}")
    if status.lines:
        click.echo()
    for words in status.words:
        click.echo(words)
    click.echo(f"The next month begins on {status.next_month}.")
    if status.account.refused:
        click.echo(
            f"NOTHING MORE CAN BE SPENT: {status.account.refused} (`askew budget --accept`)."
        )
    click.echo(f"The mode is {mode}; `askew ask` says what that comes to at a server, and why.")


def _as_json(status: Budget, month: str) -> dict[str, object]:
    account = status.account
    ratings, axes, places = account.drawn_in(month)
    return {
        "spent_per_rating": account.spent,
        "lifetime_cap_per_rating": account.caps.lifetime,
        "this_month_per_rating": ratings,
        "monthly_cap_per_rating": account.caps.monthly,
        "next_month": status.next_month,
        "refused": account.refused,
        "axes": {
            "spent": account.spent_on_axes,
            "lifetime_cap": account.caps.axes_lifetime,
            "this_month": axes,
            "monthly_cap": account.caps.axes_monthly,
        },
        "places": {
            "spent_per_km": account.spent_per_km,
            "lifetime_cap_per_km": account.caps.places_lifetime,
            "this_month_per_km": places,
            "monthly_cap_per_km": account.caps.places_monthly,
        },
        "entries": [
            {
                "month": entry.month,
                "space_version": entry.space_version,
                "kind": entry.kind,
                "epsilon_per_rating": entry.epsilon_per_rating,
                "epsilon_per_km": entry.epsilon_per_km,
            }
            for entry in account.entries
        ],
        "words": status.words,
    }
