"""`askew tui`: the app in the terminal."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from askew_client.opening import Device


@click.command()
@click.option("--demo", is_flag=True, help="A made-up person and a simulated model: no server.")
@options.all_of(options.server, options.k, options.epsilon_per_rating, options.data)
@click.pass_context
def tui(context: click.Context, /, demo: bool, **flags: object) -> None:
    """Rate, ask, and see what it costs, on a screen of its own.

    --demo does not touch the stored profile, ledger and settings, and leaves no file behind.

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
    context.exit(app.return_code or 0)  # not 0 where a signal ended it
