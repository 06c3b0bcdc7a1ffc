"""`askew tui`, the app in the terminal, and `askew demo`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from askew_client.opening import Device


_DRAWS = 300  # of the noise, by which the answers are measured


@click.command()
@options.near_k
@options.level
@click.pass_context
def demo(context: click.Context, near_k: str | None, level: str | None) -> None:
    """Play one made-up person's question near home against a server on this machine.

    Prints some screens of text, at most 80 columns wide. Asks nothing, and leaves no file behind.

    \b
    Examples:
      askew demo
      askew demo --level district
    """
    from rich.console import Console

    from askew_client.demo.measured import COUNTRY
    from askew_client.demo.play import WIDTH, play

    config = options.load(context, near_k=near_k, level=level, mode="auto", region=COUNTRY)
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    options.run(play(config.settings, _DRAWS, console))


@click.command()
@click.option("--demo", is_flag=True, help="A made-up person and a simulated model: no server.")
@options.all_of(options.server, options.k, options.epsilon_per_rating, options.data)
@click.pass_context
def tui(context: click.Context, /, demo: bool, **flags: object) -> None:
    """Rate, ask, and see what it costs, on a screen of its own.

    --demo does not touch the stored profile, ledger and settings, and leaves no file behind. Exit
    code 0 when you leave it, 128 and the signal's number where a signal ended it: 143 of SIGTERM.

    \b
    Examples:
      askew tui --demo
      askew tui --server 127.0.0.1:7571
    """
    config = options.load(context, **flags)  # before the screen: a wrong flag is a line of text
    from askew_client.settings.config import ConfigFile
    from askew_client.tui.app import AskewApp

    def opening() -> AbstractAsyncContextManager[Device]:
        # The app calls this once its first screen is shown, as the imports take long.
        if demo:
            from askew_client.tui.simulation import simulated_device

            return simulated_device(config.settings)
        from askew_client.opening import open_device

        return open_device(config.settings, server=config.server, directory=config.data)

    app = AskewApp(
        opening,
        note="demo" if demo else "",
        light=config.theme == "light",
        file=None if demo else ConfigFile(options.config_path(context)),
        keys=config.keys,
    )
    error = app.run()
    if error is not None:
        raise error
    context.exit(app.return_code or 0)  # a signal that ended the app leaves its code
