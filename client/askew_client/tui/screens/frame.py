"""What every screen has: header, notice, footer, help, and its place among the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Final, cast

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Footer

from askew_client.tui.desk import Desk
from askew_client.tui.screens.dialogs import HelpScreen
from askew_client.tui.widgets.header import BentHeader, Notice, Tab
from askew_client.views.answers import Connection
from askew_client.views.problems import Problem

TABS: Final = (
    Tab("near", "F2", "Near", "What is near a place of yours, on a map"),
    Tab("profile", "F3", "Profile", "Search the catalog, rate, see your profile"),
    Tab("ask", "F4", "Ask", "Send a noisy signal, pick in private"),
    Tab("privacy", "F5", "Privacy", "What was spent, past answers, and other settings"),
    Tab("settings", "F6", "Settings", "Theme, signals, forgetting"),
)


_AGAIN: Final = " r tries again."


def key(id: str, keys: str, action: str, name: str, says: str, **more: Any) -> Binding:
    """Return a binding of these keys to an action, with its name in the footer, and what the help
    and the command palette say of it. id: by which the file of settings gives other keys.
    """
    return Binding(keys, action, name, tooltip=says, id=id, **more)


class FrameScreen(Screen[None]):
    """One of the five screens. MORE_KEYS: those of its widgets, for the help."""

    MODE: ClassVar[str]
    PURPOSE: ClassVar[str]
    MORE_KEYS: ClassVar[tuple[tuple[str, str], ...]] = ()
    AUTO_FOCUS = ""  # nothing, so that the keys of the screen work

    @property
    def desk(self) -> Desk:
        """Return the app, typed as a Desk."""
        return cast("Desk", self.app)

    def compose(self) -> ComposeResult:
        keys = self.desk.keys
        tabs = [replace(tab, key=keys.get(tab.mode, tab.key)) for tab in TABS]
        yield BentHeader(tabs, self.MODE, self.desk.note)
        yield Notice(id="notice")
        yield from self.body()
        yield Footer()

    def body(self) -> ComposeResult:
        """Yield the widgets of this screen, between notice and footer. Raises NotImplementedError:
        each screen has its own.
        """
        raise NotImplementedError

    def leave(self) -> None:
        """Stop what must not go on while another screen shows, which comes next; here, nothing."""

    @classmethod
    def explained(cls) -> tuple[Binding, ...]:
        """Return the bindings of this screen that have a text for the help."""
        return tuple(own for own in cls.BINDINGS if isinstance(own, Binding) and own.tooltip)

    def commands(self) -> Iterable[SystemCommand]:
        """Yield what the command palette offers on this screen: one command for each key of the
        help, but for those whose action takes an argument (the stars).
        """
        for own in self.explained():
            if "(" not in own.action:
                act = partial(self.run_action, own.action)
                yield SystemCommand(own.description, own.tooltip, act)

    def explain(self) -> None:
        """Open the help of this screen over it."""
        keys = [(own.key_display or own.key, own.tooltip) for own in self.explained()]
        other = tuple((typed, name) for name, typed in self.desk.keys.items())
        page = HelpScreen(self.title or self.MODE, self.PURPOSE, [*keys, *self.MORE_KEYS], other)
        self.app.push_screen(page)

    def on_mount(self) -> None:
        """Watch the connection: every screen says so when there is none."""
        self.watch(self.app, "connection", self._show_connection)

    def on_screen_suspend(self) -> None:
        """Show the connection's state alone, for when the person comes back: what went wrong here
        was said.
        """
        self._tell(self.desk.connection)

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        self._tell(connection)

    def _tell(self, connection: Connection | Problem | None) -> None:
        if isinstance(connection, Problem):
            again = f"{connection.hint.removesuffix('.')}{_AGAIN}"
            self.query_one(Notice).tell(replace(connection, hint=again))
        else:
            self.query_one(Notice).hush()
