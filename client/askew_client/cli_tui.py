"""`askew tui`: the app, in the terminal or in a browser on this machine."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askew.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from askew_client.companion import Companion


@click.command()
@click.option("--demo", is_flag=True, help="A made-up person and a simulated model, no server.")
@click.option("--light", is_flag=True, help="Start with the light theme.")
@click.option("--web", is_flag=True, help="In a browser on this machine, at a secret address.")
@click.option("--port", default=8571, show_default=True, help="The port for --web.")
@click.option("--server", help="The server, as host:port.")
@click.option("--data", type=click.Path(path_type=Path), help="Directory of profile and ledger.")
def tui(
    demo: bool, light: bool, web: bool, port: int, server: str | None, data: Path | None
) -> None:
    """Rate, ask, and see what it cost, on a screen of its own.

    epsilon, k and the lifetime cap come from the configuration and the environment.

    \b
    Examples:
      askew tui --demo
      askew tui --server 127.0.0.1:7571
      askew tui --demo --web
    """
    if web:
        flags = {"--demo": demo, "--light": light, "--server": server, "--data": data}
        _serve([part for flag, value in flags.items() for part in _words(flag, value)], port)
        return
    from askew_client.tui.app import AskewApp

    app = AskewApp(_opening(demo, server, data), note="demo" if demo else "", light=light)
    error = app.run()
    if error is not None:
        raise error


def _opening(
    demo: bool, server: str | None, data: Path | None
) -> Callable[[], AbstractAsyncContextManager[Companion]]:
    """What opens the device. It runs after the first screen stands: its imports take a while."""

    def opening() -> AbstractAsyncContextManager[Companion]:
        from askew_client.settings import ClientSettings

        if demo:
            from askew_client.tui.simulation import simulated_companion

            return simulated_companion(ClientSettings())
        from askew_client.client import open_companion

        return open_companion(ClientSettings(), server=server, directory=data)

    return opening


def _serve(arguments: list[str], port: int) -> None:
    try:
        from askew_client.tui.web import BrowserServer
    except ImportError:
        raise ParameterError("--web", "no textual-serve", "installed as askew[web]") from None
    from askew.randomness import SystemBits

    BrowserServer(arguments, port, SystemBits()).serve()


def _words(flag: str, value: object) -> list[str]:
    if value is True:
        return [flag]
    return [flag, str(value)] if value else []
