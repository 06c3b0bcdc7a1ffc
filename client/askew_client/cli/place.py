"""`askew place`: named places, and what every server gets of them.

Where a place is comes from standard input or a prompt: an argument or a variable of the
environment would be seen by other programs on the machine. A town may be an argument all the same,
since many type it so; degrees may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options
from askew_client.cli.options import tell

if TYPE_CHECKING:
    from askew_client.near.places import PlaceService
    from askew_client.profile.document import Spot
    from askew_client.views.answers import PlaceView
    from askew_client.views.cost import Cost


_take = click.option(
    "--take/--anew",
    default=None,
    help="Where a place is at this very position: take it, for nothing, or draw and charge another."
    "  [default: it is refused]",
)


@click.group()
def place() -> None:
    """Name places: home, work. Each gets one noisy position, which every server gets.

    Where a place is comes from standard input or a prompt: a town, a latitude and a longitude in
    degrees, "48.86, 2.35", or lines "axis = number". A town may also follow the name; other
    programs can read a command line, and a shell keeps it in its history.

    \b
    Examples:
      askew place add home --region DE
      askew place add work Berlin
      askew place list
      askew place move home
      askew near pharmacies --place home
    """


@place.command("add")
@click.argument("name")
@click.argument("town", nargs=-1)
@options.all_of(_take, options.region, options.level, options.data)
@click.pass_context
def add(
    context: click.Context,
    name: str,
    town: tuple[str, ...],
    take: bool | None,
    region: str | None,
    level: str | None,
    data: Path | None,
) -> None:
    """Name a place. Its noisy position is charged and drawn once, for good.

    Without TOWN, where it is comes from standard input or a prompt, and stays out of the shell's
    history and of what other programs on the machine see. Degrees always do.

    What it costs is said first. No other setting, server or month draws it again. At level town the
    caps allow 15 positions for life and 5 a month, with each one that `askew near --unnamed` draws;
    the settings place_lifetime_cap and place_monthly_cap change that. A second name for the very
    position of a place is refused: `--take` is one more name of it for nothing, `--anew` pays.

    \b
    Examples:
      askew place add home --region DE --level town
      askew place add work Berlin
      askew place add work < work.txt
    """
    called = _town(town)
    region = options.region_first(context, region, called)
    desk = _desk(context, data=data, region=region, level=level)
    desk.check_name(name, known=False)
    spot, cost = _typed(context, desk, region, called, take)
    _say_drawn(desk.add(name, spot, cost, take=take), "is kept", taken=take is True)
    options.keep_region(context, region)


@place.command("move")
@click.argument("name")
@click.argument("town", nargs=-1)
@options.all_of(_take, options.region, options.level, options.data)
@click.pass_context
def move(
    context: click.Context,
    name: str,
    town: tuple[str, ...],
    take: bool | None,
    region: str | None,
    level: str | None,
    data: Path | None,
) -> None:
    """The place is elsewhere now: a fresh noisy position, charged like the first.

    Without TOWN, where it is comes from standard input or a prompt, as for `askew place add`.
    """
    called = _town(town)
    region = options.region_first(context, region, called)
    desk = _desk(context, data=data, region=region, level=level)
    desk.check_name(name, known=True)
    spot, cost = _typed(context, desk, region, called, take)
    _say_drawn(desk.move(name, spot, cost, take=take), "has moved", taken=take is True)
    options.keep_region(context, region)


@place.command("list")
@options.all_of(options.data, options.as_json)
@click.pass_context
def list_places(context: click.Context, data: Path | None, as_json: bool) -> None:
    """List the places: where they are, and what every server gets."""
    places = _desk(context, data=data).list()
    if as_json:
        options.print_json([_as_json(view) for view in places])
        return
    if not places:
        tell("no place is named yet; `askew place add` adds one")
    for view in places:
        click.echo(f"{view.name}: {_numbers(view.axes, view.true)}")
        if view.cost is not None:
            click.echo(f"  every server gets {_numbers(view.axes, view.sent)}")
            from askew_client.views.cost import ODDS

            far = view.cost.hidden_km
            click.echo(f"  {far:.3g} km apart: odds change at most {ODDS:g} times")


@place.command("forget")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.data
@click.pass_context
def forget(context: click.Context, name: str, yes: bool, data: Path | None) -> None:
    """Erase a place from the profile. What it cost stays spent: servers know its signal."""
    desk = _desk(context, data=data)
    if not yes and name in {view.name for view in desk.list()}:
        click.confirm("Forget this place? Nothing is refunded.", abort=True, err=True)
    desk.forget(name)
    tell("forgotten here; servers keep the noisy position that they got, and its cost stays spent")


def _desk(context: click.Context, **flags: object) -> PlaceService:
    from askew.noise.randomness import SystemBits
    from askew_client.near.places import PlaceService
    from askew_client.settings.paths import places
    from askew_client.signals.store import SignalStore

    config = options.load(context, **flags)
    where = places(config.data)
    return PlaceService(
        config.settings,
        profile=options.open_profile(config.data),
        signals=SignalStore(where.ledger, config.settings.caps, where.mark),
        bits=SystemBits(),
    )


def _typed(
    context: click.Context, desk: PlaceService, region: str | None, town: str, take: bool | None
) -> tuple[Spot, Cost | None]:
    # The price is said before anything is drawn; of a place that is there already, its name is
    # said.
    from askew_client.settings.regions import region_words

    plane = options.load(context, region=region).settings.region
    spot = options.typed_place(plane, town)
    name = desk.named_at(spot)
    if name is not None and take is not False:
        tell(f"{name} is at this very position")
        return spot, None  # nothing will be drawn
    for line in region_words(plane):
        click.echo(line, err=True)
    cost = desk.price_of(spot)
    for line in () if cost is None else (*cost.words, desk.allowance()):
        click.echo(line, err=True)
    return spot, cost


def _town(words: tuple[str, ...]) -> str:
    """Return the town of a command line. Raises UsageError for degrees, which are not repeated."""
    town = " ".join(words)
    if town and ("=" in town or not any(letter.isalpha() for letter in town)):
        raise click.UsageError("an argument is a town; degrees go to the prompt or standard input")
    return town


def _say_drawn(view: PlaceView, done: str, *, taken: bool) -> None:
    if taken:
        tell(f"{view.name} {done}: one more name of this place, and nothing is charged")
        return
    if view.cost is None:
        tell(f"{view.name} {done}; a signal on axes is drawn, and charged, when a server is asked")
        return
    cost = view.cost
    tell(f"{view.name} {done}, and its noisy position was drawn and charged")
    tell(f"spent on places: {float(cost.spent):.4g} of {float(cost.cap):g} per km")


def _numbers(axes: tuple[str, ...], values: tuple[float, ...]) -> str:
    return ", ".join(f"{axis} {value:g}" for axis, value in zip(axes, values, strict=True))


def _as_json(view: PlaceView) -> dict[str, object]:
    return {
        "name": view.name,
        "axes": view.axes,
        "true": view.true,
        "sent": view.sent,
        "epsilon_per_km": view.cost and view.cost.charge.epsilon_per_km,
    }
