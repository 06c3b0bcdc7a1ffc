"""The app: it opens the device, and goes from screen to screen."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from rich.segment import Segments
from rich.traceback import Traceback
from textual import work
from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from askew.errors import AskewError, ConfigError
from askew_client.tui.desk import Desk
from askew_client.tui.screens.ask import AskScreen
from askew_client.tui.screens.frame import BentHeader, FrameScreen, key
from askew_client.tui.screens.near import NearScreen
from askew_client.tui.screens.privacy import PrivacyScreen
from askew_client.tui.screens.profile import ProfileScreen
from askew_client.tui.screens.settings import SettingsScreen
from askew_client.views.problems import Problem

REFRESH_EVERY = 15 * 60.0  # seconds between two looks at the calendar, which is no call


_HIDDEN: Final = {"show": False}  # in the footer
SCREENS: Final[tuple[type[FrameScreen], ...]] = (
    NearScreen,
    ProfileScreen,
    AskScreen,
    PrivacyScreen,
    SettingsScreen,
)


class AskewApp(Desk):
    """A person's device on a terminal."""

    TITLE = "Askew"
    CSS_PATH = Path(__file__).with_name("askew.tcss")
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {screen.MODE: screen for screen in SCREENS}
    DEFAULT_MODE = NearScreen.MODE
    HORIZONTAL_BREAKPOINTS = [(0, "-phone"), (60, "-narrow"), (100, "-normal"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-tall")]
    BINDINGS = [
        Binding("question_mark", "explain", "Help", key_display="?"),
        # `?` is text in a search
        key("help", "f1", "explain", "Help", "this help; ? outside a search", key_display="F1"),
        *(
            key(tab.MODE, tab.KEY.lower(), f"go('{tab.MODE}')", tab.TITLE, tab.SAYS, **_HIDDEN)
            for tab in SCREENS
        ),
        key("previous", "[", "step(-1)", "Previous", "the screen before this one", **_HIDDEN),
        key("next", "]", "step(1)", "Next", "the screen after this one", **_HIDDEN),
        key("theme", "ctrl+t", "flip_theme", "Light or dark", "light or dark", **_HIDDEN),
        key("again", "r", "retry", "Connect again", "connect again, where that failed", **_HIDDEN),
    ]

    def on_mount(self) -> None:
        self.set_keymap(self.keys)
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh(layout=True))
        # End on these as a key would, so that the terminal is restored.
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(RuntimeError, ValueError):  # not the main thread, as in a test
                asyncio.get_running_loop().add_signal_handler(
                    number, partial(self.exit, return_code=128 + number)
                )
        self.call_after_refresh(self.live)

    def run(self, *args: Any, **options: Any) -> AskewError | OSError | None:
        """Run the app until the person leaves, and return the error that ended it, or None. Raises
        AskewError where there is no terminal of UTF-8, and ConfigError for a key of a name that
        does not exist.
        """
        bindings = (*self.BINDINGS, *(binding for screen in SCREENS for binding in screen.BINDINGS))
        allowed = [each.id for each in bindings if isinstance(each, Binding) and each.id]
        for name in self.keys:
            if name not in allowed:
                raise ConfigError(f"[keys] has no {name!r}; it has {', '.join(allowed)}")
        keys, screen = sys.__stdin__, sys.__stderr__
        if keys is None or screen is None or not (keys.isatty() and screen.isatty()):
            raise AskewError(  # it would wait for a key for ever
                "the app needs a terminal for keys and screen; `askew --help` names commands that "
                "need none"
            )
        if screen.encoding.lower().replace("-", "") != "utf8":
            raise AskewError(
                f"the app needs a terminal with UTF-8, and this one has {screen.encoding}; set "
                "LANG to a locale such as C.UTF-8, or use the other commands"
            )
        return super().run(*args, **options)

    @work(group="live")
    async def live(self) -> None:
        """Open the device, and keep it open until the app ends; an error of its files ends
        the app.
        """
        try:
            opened = await asyncio.to_thread(self.opening)
            async with opened as device:
                # In a thread: on the loop, keys would wait for it.
                await asyncio.to_thread(lambda: (device.titles, device.nearby))
                self.device = device
                self.connect()
                self.set_interval(REFRESH_EVERY, self.refresh_held)
                self.read_budget()
                self.read_profile()
                await asyncio.Event().wait()
        except (AskewError, OSError) as error:  # without its files there is nothing to show
            self.exit(error)

    def on_bent_header_chosen(self, message: BentHeader.Chosen) -> None:
        self.action_go(message.mode)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return for "retry" whether `connection` is a Problem: True after one failed, False before
        and while one stands. Return for other actions what Textual does, True.
        """
        if action == "retry":
            return isinstance(self.connection, Problem)
        return super().check_action(action, parameters)

    def action_retry(self) -> None:
        self.connection = None
        self.connect()

    def action_go(self, mode: str) -> None:
        if isinstance(self.screen, FrameScreen) and mode != self.current_mode:
            self.screen.leave()
            self.switch_mode(mode)

    def action_step(self, by: int) -> None:
        modes = [tab.MODE for tab in SCREENS]
        self.action_go(modes[(modes.index(self.current_mode) + by) % len(modes)])

    def action_explain(self) -> None:
        if isinstance(self.screen, FrameScreen):
            self.screen.explain()

    def action_flip_theme(self) -> None:
        self.use_theme(dark=not self.current_theme.dark)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield what the command palette offers: "Go to Near" and the other four screens, "Help"
        and the keys of this one, "Connect again", "Light or dark" and "Quit".
        """
        for tab in SCREENS:
            go = partial(self.action_go, tab.MODE)
            yield SystemCommand(f"Go to {tab.TITLE}", tab.SAYS, go)
        if isinstance(screen, FrameScreen):
            yield SystemCommand("Help", "What this screen is for, and its keys", screen.explain)
            yield from screen.commands()
        yield SystemCommand("Connect again", "Fetch card and catalog once more", self.connect)
        flip = self.action_flip_theme
        yield SystemCommand("Light or dark", "The other of the two themes", flip)
        yield SystemCommand("Quit", "Leave; nothing is lost", self.action_quit)

    def _fatal_error(self) -> None:
        # Textual's own report prints local variables: titles and ratings.
        self.bell()
        report = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(report)))
        self._close_messages_no_wait()
