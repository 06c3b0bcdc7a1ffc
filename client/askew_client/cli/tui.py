"""`askew tui`: the app, in the terminal or in a browser on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew_client.cli import options

if TYPE_CHECKING:
    from fractions import Fraction

    from askew_client.device.device import Companion
    from askew_client.settings.config import Config


@click.command()
@click.option("--demo", is_flag=True, help="A made-up person and a simulated model: no server.")
@click.option("--light", is_flag=True, help="Begin with the light theme.")
@options.all_of(
    options.server,
    options.k,
    options.epsilon,
    options.mechanism,
    options.lifetime_cap,
    options.data,
)
@click.option("--web", is_flag=True, help="In a browser on this machine, at a secret address.")
@click.option(
    "--port",
    default=8571,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="Where --web listens.",
)
@click.pass_context
def tui(
    context: click.Context,
    demo: bool,
    light: bool,
    server: str | None,
    k: int | None,
    epsilon: Fraction | None,
    mechanism: str | None,
    lifetime_cap: Fraction | None,
    data: Path | None,
    web: bool,
    port: int,
) -> None:
    """Rate, ask, and see what it costs, on a screen of its own.

    --demo does not touch the stored profile, ledger and settings, and leaves no file behind.

    \b
    Examples:
      askew tui --demo
      askew tui --server 127.0.0.1:7571
      askew tui --demo --web
    """
    flags = {
        "server": server,
        "k": k,
        "epsilon": epsilon,
        "mechanism": mechanism,
        "lifetime_cap": lifetime_cap,
        "data": data,
    }
    config = options.load(context, **flags)  # before the screen: a wrong flag is a line of text
    if web:
        switches = [flag for flag, on in (("--demo", demo), ("--light", light)) if on]
        _serve(context, [*switches, *_words(flags)], port)
        return
    from askew_client.settings.config import ConfigFile
    from askew_client.tui.app import AskewApp

    def opening() -> AbstractAsyncContextManager[Companion]:
        return _companion(config, demo=demo)

    error = AskewApp(
        opening,
        note="demo" if demo else "",
        light=light or config.theme == "light",
        keys=config.keys,
        file=None if demo else ConfigFile(options.config_path(context)),
    ).run()
    if error is not None:
        raise error


def _companion(config: Config, *, demo: bool) -> AbstractAsyncContextManager[Companion]:
    """The device. The app calls this once its first screen is shown, as the imports take long."""
    if demo:
        from askew_client.tui.simulation import simulated_companion

        return simulated_companion(config.settings)
    from askew_client.opening import open_companion

    return open_companion(config.settings, server=config.server, directory=config.data)


def _serve(context: click.Context, arguments: list[str], port: int) -> None:
    from askew.noise.randomness import SystemBits
    from askew_client.tui.web import BrowserServer

    config = ["--config", str(context.obj)] if context.obj else []
    BrowserServer([*config, "tui", *arguments], port, SystemBits()).serve()


def _words(flags: Mapping[str, object]) -> list[str]:
    """Options as they are typed."""
    given = {name: value for name, value in flags.items() if value is not None}
    return [
        word
        for name, value in given.items()
        for word in ("-k" if name == "k" else f"--{name.replace('_', '-')}", str(value))
    ]
