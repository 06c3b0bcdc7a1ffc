"""`askew place`: named places, and what every server gets of them.

Where a place is comes from standard input or a prompt: an argument or a variable of the
environment would be seen by other programs on the machine. A town may be an argument all the same,
since many type it so; degrees may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askew_client.cli import options
from askew_client.cli.options import tell

if TYPE_CHECKING:
    from askew_client.near.places import PlaceService
    from askew_client.views.answers import PlaceView


_NEAR = 15.0  # kilometers from a town's middle, within which a place is in or near it
_take = click.option(
    "--take/--anew",
    default=None,
    help="Where one of your places is at this very position: share its noisy position, at no cost, "
    "or draw and charge another.  [default: it is refused]",
)
_place = options.all_of(
    click.argument("name"),
    click.argument("town", nargs=-1),
    *(_take, options.region, options.level, options.data),
)


@click.group()
def place() -> None:
    """Name places: home, work. Each gets one noisy position, which every server gets.

    Where a place is comes from standard input or a prompt: a town, a latitude and a longitude in
    degrees, "48.86, 2.35", or lines "axis = number". A town may also follow the name; other
    programs can read a command line, and a shell keeps it in its history. Without a command, this
    help goes to standard error, and the exit code is 2.

    \b
    Examples:
      askew place add home --region DE
      askew place add work Berlin
      askew place list
      askew place move home
      askew near pharmacies --place home
    """


@place.command("add")
@_place
@click.pass_context
def add(context: click.Context, /, **typed: Any) -> None:
    """Name a place. Its noisy position is charged and drawn once, for good.

    Without TOWN, where it is comes from standard input or a prompt, and stays out of the shell's
    history and of what other programs on the machine see. Degrees always do.

    Three lines say what it costs, and a terminal asks for a yes; elsewhere it is charged at once.
    Two more say that it "is kept" and what is spent, and one where a first --region is kept; all
    are on standard error. On axes it is one line, no question and no charge. Nothing draws it
    again. At level town the caps allow 15 positions for life and 5 a month, with those of
    `askew near --unnamed`; beyond, the exit code is 3. The settings place_lifetime_cap and
    place_monthly_cap change that. A second name for the very position of a place is refused, exit
    1: `--take` names it again for nothing, `--anew` pays.

    \b
    Examples:
      askew place add home --region DE --level town
      askew place add work Berlin
      askew place add work < work.txt
    """
    _draw(context, moves=False, **typed)


@place.command("move")
@_place
@click.pass_context
def move(context: click.Context, /, **typed: Any) -> None:
    """Move a place elsewhere: draw a fresh noisy position, charged like the first.

    Where it is, what is asked and printed, and the exit codes are as for `askew place add`, with
    "home has moved". A NAME without a place is an error, exit 1.
    """
    _draw(context, moves=True, **typed)


@place.command("list")
@options.all_of(options.data, options.as_json)
@click.pass_context
def list_places(context: click.Context, data: Path | None, as_json: bool) -> None:
    """List the places: where they are, and what every server gets.

    Three lines a place, "home: latitude 52.52, longitude 13.405", what every server gets, and how
    many km apart odds change 4 times; the first alone on axes. Without any place, one line on
    standard error. With --json: one array of objects.
    """
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
@options.data
@click.pass_context
def forget(context: click.Context, name: str, data: Path | None) -> None:
    """Erase a place from the profile. What it cost stays spent: servers know its signal.

    Asks for a yes; a no, or no answer, erases nothing: "stopped", exit 130. Then one line on
    standard error. A NAME without a place is an error, exit 1, and nothing is asked.
    """
    desk = _desk(context, data=data)
    if name in {view.name for view in desk.list()}:
        click.confirm("Forget this place? Nothing is refunded.", abort=True, err=True)
    desk.forget(name)
    tell("forgotten here; servers keep the noisy position that they got, and its cost stays spent")


def _desk(context: click.Context, **flags: object) -> PlaceService:
    from askew.noise.randomness import SystemBits
    from askew_client.near.places import PlaceService
    from askew_client.settings.config import places
    from askew_client.signals.store import SignalStore

    config = options.load(context, **flags)
    where = places(config.data)
    return PlaceService(
        config.settings,
        profile=options.open_profile(config.data),
        signals=SignalStore(where.ledger, config.settings.caps, where.mark),
        bits=SystemBits(),
    )


def _draw(
    context: click.Context,
    *,
    moves: bool,
    name: str,
    town: tuple[str, ...],
    take: bool | None,
    region: str | None,
    level: str | None,
    data: Path | None,
) -> None:
    from askew.spaces.map import Position
    from askew_client.near.gazetteer import nearest_town
    from askew_client.settings.regions import country_called, region_words

    called = _town(town)
    region = options.region_first(context, region, called)
    desk = _desk(context, data=data, region=region, level=level)
    desk.check_name(name, known=moves)
    plane = options.load(context, region=region).settings.region
    spot = options.typed_place(plane, called)
    if isinstance(spot, Position):
        nearest, km = nearest_town(spot)
        country = country_called(nearest.country)
        where = f"{nearest.name}, {country.name if country else nearest.country}"
        # On a terminal alone: a file of messages must not learn it.
        options.note(f"this is in or near {where}" if km < _NEAR else f"{km:.0f} km from {where}")
    there, cost = desk.named_at(spot), None
    if there is not None and take is not False:
        tell(f"{there} is at this very position")  # and nothing will be drawn
    elif not take:
        cost = desk.price_of(spot)
        price = () if cost is None else (*cost.words, desk.allowance())
        for line in (*region_words(plane), *price):
            tell(line)
        if cost is not None:
            cost = options.agreed(cost)
    view = (desk.move if moves else desk.add)(name, spot, cost, take=take)
    done = f"{view.name} {'has moved' if moves else 'is kept'}"
    if take:
        tell(f"{done}: one more name of this place, and nothing is charged")
    elif view.cost is None:
        tell(f"{done}; a signal on axes is drawn, and charged, when a server is asked")
    else:
        tell(f"{done}, and its noisy position was drawn and charged")
        tell(f"spent on places: {float(view.cost.spent):.4g} of {float(view.cost.cap):g} per km")
    options.keep_region(context, region)


def _town(words: tuple[str, ...]) -> str:
    town = " ".join(words)
    if town and ("=" in town or not any(letter.isalpha() for letter in town)):
        raise click.UsageError(
            "the argument must be a town: degrees go to the prompt or standard input"
        )
    return town


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
