"""The app: its screens, its keys, and what leads from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from askew_client.settings.app_keys import NO_KEYS
from askew_client.tui.device_app import DeviceApp, Opening
from askew_client.tui.keeping import keep_theme
from askew_client.tui.palette import commands_of
from askew_client.tui.screens.ask import AskScreen
from askew_client.tui.screens.frame import TABS, FrameScreen, typed
from askew_client.tui.screens.history import HistoryScreen
from askew_client.tui.screens.near import NearScreen
from askew_client.tui.screens.privacy import PrivacyScreen
from askew_client.tui.screens.profile import ProfileScreen
from askew_client.tui.screens.settings import SettingsScreen
from askew_client.tui.themes import DARK, INKS, LIGHT
from askew_client.tui.widgets.bent_header import BentHeader
from askew_client.tui.widgets.search_field import read_alt_and_digits
from askew_client.views.problems import Setback

if TYPE_CHECKING:
    from askew_client.settings.file import ConfigFile


class AskewApp(DeviceApp):
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

    def __init__(
        self,
        opening: Opening,
        *,
        note: str = "",
        light: bool = False,
        file: ConfigFile | None = None,
        keys: Mapping[str, str] = NO_KEYS,
    ) -> None:
        """file: what keeps settings that are changed here, or None. keys: keys in place of those
        of the commands named.
        """
        super().__init__(opening)
        read_alt_and_digits()
        self.file, self.note, self.own_keys = file, note, keys
        self.set_keymap(dict(keys))
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = LIGHT.name if light else DARK.name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Inks for themes that have none."""
        return dict(INKS)

    def on_mount(self) -> None:
        """Show the first screen; everything else comes by message."""
        self.switch_mode("profile")
        self.call_after_refresh(self.live)

    # Actions

    def on_bent_header_chosen(self, message: BentHeader.Chosen) -> None:
        """Go to the screen whose name was clicked."""
        self.action_go(message.mode)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to try again but a connection that failed."""
        if action == "retry":
            return isinstance(self.connection, Setback)
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
        """What the command palette offers: every screen, and what it can do."""
        return commands_of(self, screen)
