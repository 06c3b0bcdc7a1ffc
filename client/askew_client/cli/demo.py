"""`askew demo`."""

from __future__ import annotations

import click

from askew_client.cli import options


@click.command()
@click.option("-k", type=int, help="Results to ask for.  [default: 20]")
@options.level
@click.option(
    "--draws",
    default=300,
    show_default=True,
    type=click.IntRange(200),
    help="How often to draw the noise when measuring.",
)
@click.pass_context
def demo(context: click.Context, k: int | None, level: str | None, draws: int) -> None:
    """Play one made-up person's question near home against a server on this machine.

    \b
    Examples:
      askew demo
      askew demo --level district
    """
    from rich.console import Console

    from askew_client.demo.person import COUNTRY
    from askew_client.demo.play import play
    from askew_client.demo.screen import WIDTH, DemoScreen

    config = options.load(context, near_k=k, level=level, region=COUNTRY)
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    options.run(play(config.settings, draws, DemoScreen(console)))
