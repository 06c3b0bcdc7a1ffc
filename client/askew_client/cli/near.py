"""`askew near`: what is near a named place, asked in private and picked on this device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from askew.catalog.item import Attribute, Value
    from askew.protocol.cards import MetricCard
    from askew_client.near.pick import Preferences
    from askew_client.profile.document import Spot
    from askew_client.profile.store import ProfileStore
    from askew_client.settings.config import Config
    from askew_client.views.answers import NearAnswer

_NO_HOME = (
    "without --place a question is from home, and no place is called so; `askew place list` lists "
    "yours, and `askew place add` adds one"
)
_MOST_LINES = 20  # of results, so that the pick stays on the screen
_RESULT = ("title", "coordinates", "distance", "passes", "values")


@click.command()
@click.argument("collection", required=False)
@click.option("--all", "every", is_flag=True, help="Every collection, by one question.")
@click.option("--place", "name", help="A named place.  [default: home]")
@click.option(
    "--unnamed",
    is_flag=True,
    help="From a place without a name, typed or on standard input: charged each time.",
)
@click.option(
    "--again",
    is_flag=True,
    help="With --unnamed: send again, at no new charge, what was charged for this very place and "
    "got no answer; the server sees that it is the same.",
)
@click.option(
    "--preferences",
    "preferences_file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of preferences and filters, written as in the app; they stay on this device.",
)
@options.all_of(
    options.server,
    options.near_k,
    options.region,
    options.level,
    options.data,
    options.as_json,
)
@click.pass_context
def near(
    context: click.Context,
    /,
    collection: str | None,
    every: bool,
    name: str | None,
    unnamed: bool,
    again: bool,
    preferences_file: Path | None,
    as_json: bool,
    **flags: object,
) -> None:
    """Ask what COLLECTION of a server has near a place, and pick in private.

    Without COLLECTION: list the collections, a line each, "pharmacies: 1,200 items, SOURCE", and a
    line for each thing that preferences can name. With --all: ask all of them at once, with the
    same noisy position, at no further cost.

    Prints at most 20 results, best first, "* Adler  0.4 km, at 52.52, 13.405  on_duty yes", "*"
    before the pick, and below them in parentheses the source and what was sent. --json prints JSON.

    The noisy position of a named place was charged by `askew place add`, and nothing is asked. With
    --unnamed a terminal asks for a yes (a no: exit 130). Axes are charged once a month; a second
    time a terminal asks, elsewhere it is exit 3. A COLLECTION that is not there: exit 1.
    Preferences stay on this device.

    \b
    Examples:
      askew near
      askew near pharmacies --place home
      askew near --all
      askew near restaurants --place work --preferences my-preferences.txt -k 30
      askew near departures --unnamed --json < here.txt
    """
    for refused, why in (
        (
            every and collection is not None,
            "--all asks every collection: leave out either --all or the collection",
        ),
        (
            collection is None and not every and bool(name or unnamed or preferences_file),
            "a question needs the name of a collection, or --all",
        ),
        (
            unnamed and name is not None,
            "--unnamed asks from a place without a name: leave out either --unnamed or --place",
        ),
        (
            again and not unnamed,
            "--again works with --unnamed alone: a named place needs no --again",
        ),
    ):
        if refused:
            raise click.UsageError(why)
    typed_flags = dict(flags)  # a prompt may add a region
    collection = "*" if every else collection
    if unnamed and collection is not None:
        flags["region"] = options.region_first(context, flags["region"])
    config = options.load(context, **flags)
    if collection is None:
        _list(options.run(_card(config)), as_json=as_json)
        return
    from askew_client.near.pick import preferences_of

    typed = "" if preferences_file is None else preferences_file.read_text("utf-8", "replace")
    preferences = preferences_of(typed)
    profile = options.open_profile(config.data)
    spot: str | Spot
    if unnamed:
        spot = position = options.typed_place(config.settings.region)
    else:
        document, spot = profile.read(), name or "home"
        if name is None and spot not in document.places:
            raise click.ClickException(_NO_HOME)
        position = document.place(spot).spot
    _refuse_idle(position, typed_flags, named=not unnamed)
    options.note(f"asking {config.server} ...")
    found = options.run(_asked(config, profile, collection, spot, preferences, again=again))
    if as_json:
        printed = [_as_json(each) for each in found]
        options.print_json(printed if every else printed[0])
        return
    for each in found:
        if every:
            click.echo(f"{each.collection}:")
        for line in _as_lines(each):
            click.echo(line)


async def _asked(
    config: Config,
    profile: ProfileStore,
    collection: str,
    spot: str | Spot,
    preferences: Preferences,
    *,
    again: bool,
) -> tuple[NearAnswer, ...]:
    from askew_client.opening import open_device

    opened = open_device(
        config.settings, server=config.server, directory=config.data, profile=profile
    )
    async with opened as device:
        question = device.nearby.question(collection, spot, preferences)
        cost = await device.asker.show(question, again=again)
        if cost.fresh:  # a kept signal costs nothing, and needs no words
            for line in ("this question draws a fresh signal:", *cost.words):
                options.tell(line)
            if cost.account == "places":
                options.tell(device.places.allowance())
                options.tell("if no answer comes, --again sends the same, at no new charge")
        return await device.asker.ask(question, shown=options.agreed(cost), again=again)


def _refuse_idle(spot: Spot, flags: Mapping[str, object], *, named: bool) -> None:
    from askew.spaces.map import Position

    if isinstance(spot, Position) and not named:
        return
    reason = "it is of a position, and this place is a value on axes"
    if isinstance(spot, Position):
        reason = (
            "the signal of this place was drawn when it was named, and is sent as it is; "
            "`askew place move` draws another, for a new charge"
        )
    for option in ("level", "region"):
        if flags[option] is not None:
            raise click.UsageError(f"--{option} changes nothing here: {reason}")


async def _card(config: Config) -> MetricCard:
    from askew_client.opening import open_device

    opened = open_device(config.settings, server=config.server, directory=config.data)
    async with opened as device:
        return await device.nearby.connect()


def _list(card: MetricCard, *, as_json: bool) -> None:
    if as_json:
        options.print_json([asdict(each) for each in card.collections])
        return
    for each in card.collections:
        click.echo(f"{each.name}: {each.n_items:,} items, {each.source}")
        for attribute in each.attributes:
            click.echo(f"  {attribute.name}: {_told(attribute)}")


def _told(attribute: Attribute) -> str:
    live = ", live" if attribute.live else ""
    words = f": {', '.join(attribute.words)}" if attribute.words else ""
    return f"{attribute.kind}{f' in {attribute.unit}' if attribute.unit else ''}{live}{words}"


def _as_lines(found: NearAnswer) -> Iterator[str]:
    for result in found.results[:_MOST_LINES]:
        mark = "*" if result.picked else " " if result.passes else "-"
        told = [
            f"{name} {_value_text(value, found.units.get(name))}"
            for name, value in result.values.items()
        ]
        values = ", ".join([*told, *([result.now] if result.now else [])])
        at = ", ".join(f"{each:.7g}" for each in result.coordinates)
        far = f"{result.distance:.1f} {found.unit}, at {at}"
        yield f"{mark} {result.title}  {far}  {values}".rstrip()
    yield f"({found.source}; * is your pick, chosen on this device; - does not pass your filters)"
    if len(found.results) > _MOST_LINES:
        yield f"(the best {_MOST_LINES} of {len(found.results)} results; --json prints all)"
    if found.none_passes:
        yield "(no result passes your filters; the server is not asked again for that)"
    if found.missing:
        yield f"(this collection does not have: {', '.join(found.missing)})"
    if not found.cost.sends:
        yield f"({found.cost.reason})"
        return
    sent = ", ".join(f"{value:g}" for value in found.sent)
    drawn = "drawn and charged now" if found.cost.fresh else "as before"
    yield f"(sent: {sent}, k = {found.k}; {drawn})"


def _value_text(value: Value, unit: str | None) -> str:
    if value is None:
        return "unknown"
    shown = "yes" if value is True else "no" if value is False else value
    shown = f"{shown:g}" if isinstance(shown, float) else shown
    return shown if unit is None else f"{shown} {unit}"


def _as_json(found: NearAnswer) -> dict[str, object]:
    return {
        "collection": found.collection,
        "source": found.source,
        "simulated": found.simulated,
        "pick": None if found.pick is None else found.pick.title,
        "none_passes": found.none_passes,
        "missing": found.missing,
        "unit": found.unit,
        "units": found.units,
        "axes": found.axes,
        "sent": found.sent,
        "mode": found.cost.mode,
        "fresh": found.cost.fresh,
        "k": found.k,
        "results": [{name: getattr(result, name) for name in _RESULT} for result in found.results],
    }
