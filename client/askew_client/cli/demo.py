"""`askew demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.console import Console


@click.command()
@click.option("--films", is_flag=True, help="Tastes instead of places: which film to see.")
@click.option("-k", type=int, help="Results to ask for.  [default: 20, of films 8]")
@options.level
@click.option(
    "--epsilon",
    type=options.RationalNumber(),
    help="With --films: privacy loss of the signal, per unit distance.  [default: 4]",
)
@click.option(
    "--draws",
    default=300,
    show_default=True,
    type=click.IntRange(200),
    help="How often to draw the noise when measuring.",
)
@click.pass_context
def demo(
    context: click.Context,
    films: bool,
    k: int | None,
    level: str | None,
    epsilon: Fraction | None,
    draws: int,
) -> None:
    """Play one made-up person's exchange against a server on this machine.

    \b
    Examples:
      askew demo
      askew demo --level district
      askew demo --films -k 16 --epsilon 1
    """
    if films and level is not None:
        raise click.UsageError("--level is of places, and --films has none")
    if epsilon is not None and not films:
        raise click.UsageError("--epsilon is of --films; places have a --level")
    if films:
        _play_films(context, k, epsilon, draws)
    else:
        _play_places(context, k, level, draws)


def _play_places(context: click.Context, k: int | None, level: str | None, draws: int) -> None:
    from askew_client.demo.near_play import play
    from askew_client.demo.near_screen import NearScreen
    from askew_client.demo.resident import COUNTRY

    config = options.load(context, near_k=k, level=level, region=COUNTRY)
    options.run(play(config.settings, draws, NearScreen(_console())))


def _play_films(
    context: click.Context, k: int | None, epsilon: Fraction | None, draws: int
) -> None:
    import datetime

    from askew_client.demo.play import play
    from askew_client.demo.screen import DemoScreen
    from askew_client.settings.settings import slot_of

    settings = options.load(context, k=k, epsilon=epsilon).settings
    slot = slot_of(datetime.date.today())  # the device's own calendar
    options.run(play(settings, slot, draws, DemoScreen(_console())))


def _console() -> Console:
    from rich.console import Console

    from askew_client.demo.page import WIDTH

    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    return console
