"""`askew near`: what is near a named place, asked in private and picked on this device."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from fractions import Fraction

    from askew.listing import Value
    from askew_client.places.wishes import Wishes
    from askew_client.profile.named_place import Spot
    from askew_client.profile.store import ProfileStore
    from askew_client.settings.sources import Config
    from askew_client.views.near import NearAnswer, NearQuote, NearResult

_SECOND_SPACE = (
    "This month has a signal for another space already, and a second one tells more about you. "
    "Ask all the same?"
)


@click.command()
@click.argument("collection")
@click.option("--place", "name", help="A named place.  [default: home]")
@click.option(
    "--unnamed",
    is_flag=True,
    help="From a place without a name, typed or on standard input: charged each time.",
)
@click.option(
    "--wishes",
    "wishes_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A TOML file of wishes and filters; they stay on this device.",
)
@options.all_of(
    options.server,
    options.near_k,
    options.region,
    options.level,
    options.epsilon,
    options.data,
    options.as_json,
)
@click.option(
    "--second-space",
    is_flag=True,
    help="Yes to a signal for a second space within one month, on axes.",
)
@click.pass_context
def near(
    context: click.Context,
    collection: str,
    name: str | None,
    unnamed: bool,
    wishes_file: Path | None,
    server: str | None,
    near_k: int | None,
    region: str | None,
    level: str | None,
    epsilon: Fraction | None,
    data: Path | None,
    as_json: bool,
    second_space: bool,
) -> None:
    """Ask what COLLECTION of a server has near a place, and pick in private.

    The noisy position of a named place is sent, the same to every server and for nothing
    (`askew place add` pays). What you wish besides, such as open now, stays on this device: it
    comes from a file, since other programs can read the command line.

    \b
    Examples:
      askew near pharmacies --place home
      askew near restaurants --place work --wishes my-wishes.toml -k 30
      askew near departures --unnamed --json < here.txt
    """
    config = options.load(
        context,
        server=server,
        near_k=near_k,
        region=region,
        level=level,
        epsilon=epsilon,
        data=data,
    )
    wishes = _wishes(wishes_file)
    if unnamed and name is not None:
        raise click.UsageError("--unnamed asks from a place without a name, not from --place")
    spot = _unnamed() if unnamed else name or "home"
    options.note(f"asking {config.server} ...")
    profile = options.open_profile(config.data)
    found = options.run(
        _asked(config, profile, collection, spot, wishes, second_space=second_space)
    )
    if as_json:
        options.print_json(_as_json(found))
        return
    for line in _as_lines(found):
        click.echo(line)


async def _asked(  # what is asked, and from where
    config: Config,
    profile: ProfileStore,
    collection: str,
    spot: str | Spot,
    wishes: Wishes,
    *,
    second_space: bool,
) -> NearAnswer:
    """Say what the question costs, and ask it."""
    from askew_client.opening import open_companion
    from askew_client.views.problems import value_of

    opened = open_companion(
        config.settings, server=config.server, directory=config.data, profile=profile
    )
    async with opened as companion:
        nearby = companion.nearby
        quote = value_of(await nearby.quote(collection, spot))
        for line in _quote_lines(quote):
            click.echo(line, err=True)
        if quote.second_space and not second_space and sys.stdin.isatty():
            click.confirm(_SECOND_SPACE, abort=True, err=True)
            second_space = True
        asked = nearby.near(collection, spot, wishes=wishes, second_space=second_space)
        return value_of(await asked)


def _wishes(source: Path | None) -> Wishes:
    from askew_client.places.wishes import NO_WISHES, Wishes

    if source is None:
        return NO_WISHES
    return Wishes.from_toml(source.read_text("utf-8", errors="replace"))


def _unnamed() -> Spot:
    from askew_client.places.reading import spot_of

    return spot_of(options.typed_place(None))


def _quote_lines(quote: NearQuote) -> Iterator[str]:
    """What a fresh signal will cost; one that is sent again costs nothing, and needs no words."""
    if quote.cost.fresh:
        yield "this question draws a fresh signal:"
        yield from quote.cost.words


def _as_lines(found: NearAnswer) -> Iterator[str]:
    for result in found.results:
        mark = "*" if result.picked else " " if result.passes else "-"
        told = ", ".join(f"{name} {_shown(value)}" for name, value in result.values)
        yield f"{mark} {result.title}  {result.distance:.1f} {found.unit}  {told}".rstrip()
    yield f"({found.source}; * is your pick, chosen on this device; - does not pass your filters)"
    if found.none_passes:
        yield "(no result passes your filters; the server is not asked again for that)"
    if found.missing:
        yield f"(this collection does not have: {', '.join(found.missing)})"
    sent = ", ".join(f"{value:g}" for value in found.sent)
    yield f"(sent: {sent}; {'drawn and charged now' if found.cost.fresh else 'as before'})"


def _shown(value: Value) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _as_json(found: NearAnswer) -> dict[str, object]:
    return {
        "collection": found.collection,
        "source": found.source,
        "simulated": found.simulated,
        "pick": None if found.pick is None else found.pick.title,
        "none_passes": found.none_passes,
        "missing": found.missing,
        "unit": found.unit,
        "axes": found.axes,
        "sent": found.sent,
        "fresh": found.cost.fresh,
        "results": [_result(each) for each in found.results],
    }


def _result(result: NearResult) -> dict[str, object]:
    return {
        "title": result.title,
        "coordinates": result.coordinates,
        "distance": result.distance,
        "passes": result.passes,
        "values": dict(result.values),
    }
