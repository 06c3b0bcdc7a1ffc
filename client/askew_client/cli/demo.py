"""`askew demo`."""

from __future__ import annotations

import click

from askew_client.cli import options

_DRAWS = 300  # of the noise, by which the answers are measured


@click.command()
@options.near_k
@options.level
@click.pass_context
def demo(context: click.Context, near_k: str | None, level: str | None) -> None:
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

    config = options.load(context, near_k=near_k, level=level, region=COUNTRY)
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    options.run(play(config.settings, _DRAWS, DemoScreen(console)))
