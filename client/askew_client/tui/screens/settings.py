"""Settings: how the app looks, how the device asks, and forgetting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final, get_args

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Grid, Horizontal, VerticalGroup
from textual.widget import Widget
from textual.widgets import Button, Static

from askew_client.device.budget import Budget
from askew_client.settings.settings import ModeName
from askew_client.tui.desk import raised_cap, use_settings
from askew_client.tui.pictures import short_number
from askew_client.tui.screens.frame import (
    ConfirmScreen,
    FrameScreen,
    ScrollPart,
    choice,
    chosen_name,
    chosen_number,
    offer,
)
from askew_client.tui.screens.privacy import EPSILONS, SIZES
from askew_client.views.problems import Problem

if TYPE_CHECKING:
    from askew_client.opening import Device


CAPS: Final = tuple(map(Fraction, (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96)))
REFUSED: Final = (
    "Nothing is spent: the ledger differs from its mark, or the clock jumped. Privacy (F5) says "
    "why. Who continues here books what the mark knows; what was drawn elsewhere is not counted."
)


class SettingsScreen(FrameScreen):
    """A form of three parts."""

    MODE = "settings"
    KEY = "F6"
    TITLE = "Settings"
    SAYS = "Theme, signals, forgetting"
    PURPOSE = (
        "Settings are the same for every question and never depend on your profile. The device "
        "chooses them; no server does. The file of settings takes other values than these, and "
        "keys of your own. What you use here is kept in the file of settings, but in "
        "the demo; a lifetime cap is raised only when you say so twice."
    )

    def body(self) -> ComposeResult:
        with ScrollPart(id="form"), Grid(id="parts"):
            yield from _part(
                "How the device asks",
                choice("mode", "mode"),
                choice("ε of one rating", "epsilon"),
                choice("k, results", "k"),
                choice("lifetime cap, ε", "cap"),
                Horizontal(Button("Use these", id="use", variant="primary"), classes="buttons"),
            )
            yield from _part(
                "How it looks",
                Static("Warm stays on this device, cool leaves."),
                Horizontal(
                    Button("Dark", id="dark"), Button("Light", id="light"), classes="buttons"
                ),
            )
            yield from _part(
                "Forgetting, and the ledger",
                Static(
                    "Forgetting is for good. The ledger stays: it counts what has left.",
                    id="ledger-state",
                    markup=False,
                ),
                Horizontal(
                    Button("Forget my profile", id="wipe", variant="error"),
                    Button("Continue here", id="accept"),
                    classes="buttons",
                ),
            )

    def on_mount(self) -> None:
        self.watch(self.app, "device", self._show_settings)
        self.watch(self.app, "budget", self._show_budget)

    def on_screen_resume(self) -> None:
        self._show_settings(self.desk.device)

    def _show_settings(self, device: Device | None) -> None:
        if device is None:
            return
        settings = device.settings
        offer(self, "mode", get_args(ModeName), settings.mode)
        offer(self, "epsilon", EPSILONS, settings.epsilon_per_rating)
        offer(self, "k", SIZES, Fraction(settings.k))
        offer(self, "cap", CAPS, settings.rating_lifetime_cap)
        vouched = f", vouched for by {settings.authority}" if settings.authority else ""
        asks = f"How the device asks {device.server}{vouched}"
        self.query(".heading").first(Static).update(Text(asks))

    def _show_budget(self, budget: Budget | Problem | None) -> None:
        refused = isinstance(budget, Budget) and budget.account.refused is not None
        self.query_one("#accept", Button).display = refused
        if refused:
            self.query_one("#ledger-state", Static).update(REFUSED)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        act: dict[str, Callable[[], object]] = {
            "use": self.use,
            "dark": partial(self.desk.use_theme, dark=True),
            "light": partial(self.desk.use_theme, dark=False),
            "wipe": self.wipe,
            "accept": self._accept,
        }
        act[str(event.button.id)]()

    @work(group="question")
    async def use(self) -> None:
        """Use what was chosen, and keep it; a lifetime cap that rises needs a second yes, and
        without that nothing changes.
        """
        if self.desk.device is None:
            return
        names = {"epsilon_per_rating": "epsilon", "k": "k", "rating_lifetime_cap": "cap"}
        typed = {name: str(chosen_number(self, at)) for name, at in names.items()}
        typed["mode"] = chosen_name(self, "mode")
        file = self.desk.file
        raised = await self.desk.on_device(partial(raised_cap, file, typed=typed))
        if isinstance(raised, Problem):
            self.desk.refuse(raised)
            return
        if raised:
            old, new = map(short_number, raised)
            question = (
                f"Raise the lifetime cap from {old} to {new}{', for good' if file else ''}? All "
                "signals together could then tell more about you, and what has left cannot be "
                "called back."
            )
            if not await self.app.push_screen_wait(ConfirmScreen(question, "Raise")):
                self._show_settings(self.desk.device)
                return
        self.desk.edit(partial(use_settings, file, typed=typed))
        self.desk.read_budget()

    @work(group="question")
    async def wipe(self) -> None:
        """Forget ratings, past answers and named places, for good, after the person says yes; after
        a no, do nothing.
        """
        question = "Forget every rating, place and past answer, for good?"
        if await self.app.push_screen_wait(ConfirmScreen(question, "Forget")):
            self.desk.edit(lambda device: device.profile.wipe(), "Your profile is forgotten.")

    def _accept(self) -> None:
        self.desk.edit(lambda device: device.accept(), "You continue here.")
        self.desk.read_budget()


def _part(title: str, *rows: Widget) -> Iterable[VerticalGroup]:
    yield VerticalGroup(Static(title, classes="heading"), *rows, classes="part")
