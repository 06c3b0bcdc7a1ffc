"""`askew demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from fractions import Fraction


@click.command()
@options.all_of(options.k, options.epsilon)
@click.option(
    "--draws",
    default=300,
    show_default=True,
    type=click.IntRange(200),
    help="How often to draw the noise when measuring.",
)
@click.pass_context
def demo(context: click.Context, k: int | None, epsilon: Fraction | None, draws: int) -> None:
    """Play one made-up person's exchange against a server on this machine.

    \b
    Example:
      askew demo -k 16 --epsilon 1
    """
    import datetime

    from rich.console import Console

    from askew_client.demo.page import WIDTH
    from askew_client.demo.play import play
    from askew_client.demo.screen import DemoScreen
    from askew_client.settings.settings import slot_of

    settings = options.load(context, k=k, epsilon=epsilon).settings
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    slot = slot_of(datetime.date.today())  # the device's own calendar
    options.run(play(settings, slot, draws, DemoScreen(console)))
