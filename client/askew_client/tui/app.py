"""The app: it opens the device, keeps what screens show, runs what must not block, and its screens.

Workers bring messages; handlers set the app's state; screens watch the state and touch widgets.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.segment import Segments
from rich.traceback import Traceback
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.reactive import reactive
from textual.screen import Screen

from askew.errors import AskewError, OtherKind
from askew_client.device.budget import Budget
from askew_client.settings.config import NO_KEYS
from askew_client.tui.desk import (
    BudgetRead,
    Connected,
    Done,
    EditRefused,
    Opened,
    ProfileRead,
    ProfileView,
    outcome_of,
)
from askew_client.tui.keeping import keep_theme
from askew_client.tui.screens.ask import AskScreen
from askew_client.tui.screens.dialogs import UnlockScreen
from askew_client.tui.screens.frame import TABS, FrameScreen, typed
from askew_client.tui.screens.history import HistoryScreen
from askew_client.tui.screens.near import NearScreen
from askew_client.tui.screens.privacy import PrivacyScreen
from askew_client.tui.screens.profile import ProfileScreen
from askew_client.tui.screens.settings import SettingsScreen
from askew_client.tui.themes import DARK, LIGHT
from askew_client.tui.widgets.header import BentHeader
from askew_client.tui.widgets.title_list import read_alt_and_digits
from askew_client.views.answers import Connection
from askew_client.views.problems import Problem, Trouble, problem_of

if TYPE_CHECKING:
    from askew_client.device.device import Device
    from askew_client.settings.config import ConfigFile

REFRESH_EVERY = 15 * 60.0  # seconds between two looks at the calendar, which is no call
_Value = TypeVar("_Value")
Opening = Callable[[], AbstractAsyncContextManager["Device"]]


class AskewApp(App[AskewError | OSError]):
    """A person's device on a terminal."""

    TITLE = "Askew"
    CSS_PATH = Path(__file__).with_name("askew.tcss")
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {
        "profile": ProfileScreen,
        "ask": AskScreen,
        "privacy": PrivacyScreen,
        "history": HistoryScreen,
        "settings": SettingsScreen,
        "near": NearScreen,
    }
    HORIZONTAL_BREAKPOINTS = [(0, "-phone"), (60, "-narrow"), (100, "-normal"), (150, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-tall")]
    BINDINGS = [
        Binding("question_mark", "explain", "Help", key_display="?", id="help"),
        Binding("f1", "explain", "Help", key_display="F1", id="help"),  # `?` is text in a search
        *(
            Binding(
                tab.key.lower(), f"go('{tab.mode}')", tab.title, show=False, id=f"go-{tab.mode}"
            )
            for tab in TABS
        ),
        Binding("left_square_bracket", "step(-1)", "Previous", show=False, id="previous-screen"),
        Binding("right_square_bracket", "step(1)", "Next", show=False, id="next-screen"),
        Binding("ctrl+t", "flip_theme", "Light or dark", show=False, id="flip-theme"),
        *typed(Binding("r", "retry", "Connect again", show=False, id="retry")),
    ]

    device: reactive[Device | None] = reactive(None)
    connection: reactive[Connection | Problem | None] = reactive(None)
    profile: reactive[ProfileView] = reactive(ProfileView())
    budget: reactive[Budget | Problem | None] = reactive(None)

    def __init__(
        self,
        opening: Opening,
        *,
        note: str = "",
        light: bool = False,
        file: ConfigFile | None = None,
        keys: Mapping[str, str] = NO_KEYS,
    ) -> None:
        """opening: called in a thread after the first screen stands, since its imports are heavy;
        what it returns is entered for as long as the app runs. file: what keeps settings that are
        changed here, or None. keys: keys in place of those of the commands named.
        """
        super().__init__()
        self._opening, self._turn = opening, asyncio.Lock()
        read_alt_and_digits()
        self.file, self.note, self.own_keys = file, note, keys
        self.set_keymap(dict(keys))
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = LIGHT.name if light else DARK.name

    def on_mount(self) -> None:
        """Show the first screen; everything else comes by message."""
        self.switch_mode("profile")
        self.call_after_refresh(self.live)

    def run(self, *args: Any, **options: Any) -> AskewError | OSError | None:
        """Run until the person leaves. Raises AskewError where there is no terminal."""
        check_terminal()
        return super().run(*args, **options)

    # Workers

    @work(group="live")
    async def live(self) -> None:
        """Keep the device open until the app ends."""
        try:
            opened = await asyncio.to_thread(self._opening)
            async with opened as device:
                locked = await asyncio.to_thread(_loaded, device)
                self.post_message(Opened(device, locked))
                await asyncio.Event().wait()
        except (AskewError, OSError) as error:  # without its files there is nothing to show
            self.exit(error)

    @work(exclusive=True, group="connect")
    async def connect(self) -> None:
        """Ask the server who it is; one whose card is no catalog's is asked for its places."""
        device = self.device
        if device is None:
            return
        outcome: Connection | Problem = await outcome_of(device.titles.connect())
        if isinstance(outcome, Problem) and isinstance(outcome.error, OtherKind):
            places = await outcome_of(device.nearby.connect())
            outcome = outcome if isinstance(places, Problem) else places_only(outcome)
        self.post_message(Connected(outcome))

    @work(exclusive=True, group="refresh")
    async def refresh_held(self) -> None:
        """Look for what is held where its turn has come. What goes wrong is tried the next time;
        until then, what is held serves.
        """
        if self.device is not None:
            await outcome_of(self.device.titles.refresh())

    @work(group="edits")
    async def edit(self, act: Callable[[Device], object], said: str = "") -> None:
        """Change something on the device, say so, and bring the profile as it is then.

        What `act` returns is said in place of `said` if it is text. Edits happen in the order of
        the keys: the lock is fair.
        """
        outcome = await self.on_device(act)
        if isinstance(outcome, Problem):
            self.post_message(EditRefused(outcome))
        elif text := outcome if isinstance(outcome, str) else said:
            self.post_message(Done(text))
        await self._bring_profile()

    @work(group="edits")
    async def read_profile(self) -> None:
        """Bring the profile as it is."""
        await self._bring_profile()

    @work(exclusive=True, group="budget")
    async def read_budget(self) -> None:
        """Bring the ledger."""
        self.post_message(BudgetRead(await self.on_device(lambda device: device.budget())))

    async def on_device(self, act: Callable[[Device], _Value]) -> _Value | Problem:
        """Run one thing on the device in a thread, one at a time and while no connection is open;
        until then the screens show what is there. An error is a Problem.
        """
        device = self.device
        if device is None:
            return problem_of(AskewError("the device is still opening its files"))
        async with self._turn:
            await device.quiet()
            return await outcome_of(asyncio.to_thread(act, device))

    async def _bring_profile(self) -> None:
        view = await self.on_device(ProfileView.of)
        self.post_message(EditRefused(view) if isinstance(view, Problem) else ProfileRead(view))

    # Messages

    def on_opened(self, message: Opened) -> None:
        """The device is open: unlock it if it must be, read it, connect."""
        self.device = message.device
        self.connect()
        self.set_interval(REFRESH_EVERY, self.refresh_held)
        self.read_budget()
        if message.locked:
            self.push_screen(UnlockScreen())
        else:
            self.read_profile()

    def on_connected(self, message: Connected) -> None:
        """The catalog is there, or it is not; the bars depend on it."""
        self.connection = message.outcome
        self.read_profile()
        self.read_budget()

    def learn_connection(self) -> None:
        """A question connects by itself if it must: after a failure, or to a new space."""
        found = None if self.device is None else self.device.titles.connection
        if found is not None and found != self.connection:
            self.connection = found
            self.read_profile()

    def on_profile_read(self, message: ProfileRead) -> None:
        """Keep the profile where the screens watch it."""
        self.profile = message.view

    def on_budget_read(self, message: BudgetRead) -> None:
        """Keep the ledger where the screens watch it."""
        self.budget = message.outcome

    def on_edit_refused(self, message: EditRefused) -> None:
        """Say why, calmly."""
        text = f"{message.problem.text}. {message.problem.hint}"
        self.notify(text, title=message.problem.trouble.value, severity="warning", markup=False)

    def on_done(self, message: Done) -> None:
        """Say what was done."""
        self.notify(message.text, markup=False, timeout=3)

    # Actions

    def on_bent_header_chosen(self, message: BentHeader.Chosen) -> None:
        """Go to the screen whose name was clicked."""
        self.action_go(message.mode)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to try again but a connection that failed."""
        if action == "retry":
            return isinstance(self.connection, Problem)
        return super().check_action(action, parameters)

    def action_retry(self) -> None:
        """Connect again after a failure; the notice goes while it is tried."""
        self.connection = None
        self.connect()

    def action_go(self, mode: str) -> None:
        """Show a screen, unless a dialog wants an answer first."""
        if isinstance(self.screen, FrameScreen) and mode != self.current_mode:
            self.screen.leave()
            self.switch_mode(mode)

    def action_step(self, by: int) -> None:
        """Show the next screen, or the one before."""
        modes = [tab.mode for tab in TABS]
        self.action_go(modes[(modes.index(self.current_mode) + by) % len(modes)])

    def action_explain(self) -> None:
        """Help for the screen that shows."""
        if isinstance(self.screen, FrameScreen):
            self.screen.explain()

    def action_flip_theme(self) -> None:
        """Light becomes dark and the other way round."""
        self.use_theme(dark=not self.current_theme.dark)

    def use_theme(self, *, dark: bool) -> None:
        """One of the two themes, from now on."""
        self.theme = DARK.name if dark else LIGHT.name
        self.edit(partial(keep_theme, self.file, dark=dark))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the command palette offers: screens, what this one does, what always works."""
        for tab in TABS:
            yield SystemCommand(f"Go to {tab.title}", tab.says, partial(self.action_go, tab.mode))
        if isinstance(screen, FrameScreen):
            yield SystemCommand("Help", "What this screen is for, and its keys", screen.explain)
            yield from screen.commands()
        yield SystemCommand("Connect again", "Fetch card and catalog once more", self.connect)
        flip = self.action_flip_theme
        yield SystemCommand("Light or dark", "The other of the two themes", flip)
        yield SystemCommand("Quit", "Leave; nothing is lost", self.action_quit)

    def _fatal_error(self) -> None:
        """Textual's own report prints local variables: titles, ratings, a typed passphrase."""
        self.bell()
        report = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(report)))
        self._close_messages_no_wait()


def _loaded(device: Device) -> bool:
    """Whether the profile is locked. In its thread, what questions need is loaded and made: on the
    loop, keys would wait for it.
    """
    device.titles  # noqa: B018  # made by being asked for
    device.nearby  # noqa: B018
    return device.profile.locked


def check_terminal() -> None:
    """Raises AskewError where nobody can type, or see: the app would wait for a key for ever.

    A driver that is named in the environment brings its own keys and screen, as the browser's does.
    """
    streams = (sys.__stdin__, sys.__stderr__)  # where keys come from, and where the screen goes
    there = all(stream is not None and stream.isatty() for stream in streams)
    if not there and not os.environ.get("TEXTUAL_DRIVER"):
        raise AskewError(
            "the app needs a terminal for keys and screen; `askew --help` names commands that need "
            "none, and `askew tui --web` shows the app in a browser"
        )


def places_only(problem: Problem) -> Problem:
    """What to say of a server that has places where a catalog was asked for."""
    text = "it has places, and no catalog of titles to rate"
    return replace(problem, trouble=Trouble.STALE_SPACE, text=text, hint="Near (F7) asks it;")
