"""The same app in a browser on this machine, by textual-serve.

The server listens on this machine alone, and every address in it begins with a key that is drawn at
each start: without it, any page that the browser visits, or anybody on the machine, could talk to
the app. Our own page loads nothing from anywhere else; the one of the library loads fonts.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib import resources

from aiohttp import web
from textual_serve.server import Server

from askew.noise.randomness import RandomBits

HOST = "127.0.0.1"
_KEY_BYTES = 16


class BrowserServer(Server):
    """Runs `askew` with these arguments, a process for each visitor."""

    def __init__(self, arguments: Sequence[str], port: int, bits: RandomBits) -> None:
        command = shlex.join([sys.executable, "-m", "askew_client", *arguments])
        templates = resources.files("askew_client.tui") / "templates"
        super().__init__(
            command, host=HOST, port=port, title="Askew", templates_path=str(templates)
        )
        self._key = bits.read(_KEY_BYTES).hex()

    @property
    def address(self) -> str:
        """What to open in a browser. Whoever knows it can use the app."""
        return f"{self.public_url}/{self._key}/"

    def initialize_logging(self) -> None:
        """No log: the library's would show local variables."""

    async def _make_app(self) -> web.Application:
        import aiohttp_jinja2
        import jinja2

        app = web.Application()
        loader = jinja2.FileSystemLoader(self.templates_path)
        aiohttp_jinja2.setup(app, loader=loader, autoescape=True)
        app.add_routes(
            [
                web.get(f"/{self._key}/", self.handle_index, name="index"),
                web.get(f"/{self._key}/page.js", self.handle_script),
                web.get(f"/{self._key}/ws", self.handle_websocket, name="websocket"),
                web.static("/static", self.statics_path, name="static"),
            ]
        )
        app.on_startup.append(self.on_startup)
        return app

    async def handle_script(self, request: web.Request) -> web.FileResponse:
        """Our own script of the page: the page's policy allows none within it."""
        del request
        return web.FileResponse(f"{self.templates_path}/page.js")

    async def on_startup(self, app: web.Application) -> None:
        del app
        self.console.print(f"Open {self.address}", highlight=False, soft_wrap=True)
        self.console.print("Ctrl+C ends it. Whoever knows this address can use the app.")
