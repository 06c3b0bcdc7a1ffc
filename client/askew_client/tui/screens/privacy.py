"""Privacy: what was spent, and what a signal of other settings would tell and give."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Final

from rich.text import Text
from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Static

from askew_client.device.budget import Budget
from askew_client.tui.keeping import use_settings
from askew_client.tui.screens.frame import FrameScreen
from askew_client.tui.widgets.bars import BudgetMeter
from askew_client.tui.widgets.controls import Slider
from askew_client.tui.widgets.header import Notice
from askew_client.tui.widgets.heat_map import HeatMap, Mark, axes_words
from askew_client.views.answers import Connection, NoisePicture, SignalPreview
from askew_client.views.cost import at_most
from askew_client.views.problems import Problem

EPSILONS: Final = tuple(
    Fraction(each)
    for each in ("0.1", "0.2", "0.3", "0.4", "0.6", "0.8", "1", "1.5", "2", "3", "4", "8")
)
SIZES: Final = tuple(map(Fraction, (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32)))


class PrivacyScreen(FrameScreen):
    """The meter and the ledger on the left; sliders, what they mean and the noise on the right."""

    MODE = "privacy"
    TITLE = "Privacy"
    PURPOSE = (
        "On the left, what your signals have cost and what that means in words. On the right, "
        "what a signal of other settings would tell about you, and what it gave the people whom "
        "the server measured. Move the sliders: nothing is sent, nothing is charged. epsilon (ε) "
        "is how much a signal may tell of one rating; k is how many results come back. The map "
        "shows the noise, and where around the signal the server looks for results."
    )
    KEYS = (
        ("← →", "move a slider; the mouse can drag it"),
        ("Tab", "the other slider, the ledger"),
        ("w", "use these settings from now on"),
        ("b", "back to the settings in force"),
    )
    BINDINGS = [
        Binding("w", "apply", "Use these settings", id="privacy.use"),
        Binding("b", "back", "Back to yours", id="privacy.back"),
    ]

    def body(self) -> ComposeResult:
        with Horizontal(id="privacy"):
            with Vertical(id="spending"):
                yield Static("Your budget", classes="heading")
                yield BudgetMeter()
                with VerticalScroll(id="ledger-window"):
                    yield Static("", id="ledger", markup=False)
            with Vertical(id="what-if"):
                yield Static("What if (nothing is sent)", classes="heading")
                yield Slider("ε ", EPSILONS, Fraction(4, 5), id="epsilon")
                yield Slider("k ", SIZES, Fraction(20), id="size")
                yield Static("", id="preview", markup=False)
                yield HeatMap()
                yield Static("", id="caption", markup=False)

    def on_mount(self) -> None:
        """Start from the settings in force."""
        self.watch(self.app, "budget", self._show_budget)
        self.action_back()
        self.query_one("#epsilon").focus()

    @work(exclusive=True, group="preview")
    async def preview(self, epsilon: Fraction, k: int) -> None:
        """Show what other settings mean. A newer choice takes the place of an older one."""
        found = await self.desk.on_device(lambda device: device.titles.preview(epsilon, k))
        words = self.query_one("#preview", Static)
        if isinstance(found, SignalPreview):
            self.query_one(BudgetMeter).one_signal = found.one_rating
            words.update(preview_text(found))
            self._show_noise(found.noise)
        else:
            words.update(f"No signal: {found.text}. {found.hint}")
            self._show_noise(None)

    def on_choice_moved(self) -> None:
        self._look()

    def _show_noise(self, noise: NoisePicture | None) -> None:
        heat_map, caption = self.query_one(HeatMap), self.query_one("#caption", Static)
        connection = self.desk.connection
        if noise is None or not isinstance(connection, Connection):
            heat_map.show(None, ())
            caption.update("")
            return
        shown = [tuple(at[axis] for axis in connection.map_axes) for at in noise.offsets]
        heat_map.show(noise, [Mark(at, "◆", "public") for at in shown])
        caption.update(noise_caption(connection))

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        super()._show_connection(connection)
        self._look()

    def _show_budget(self, budget: Budget | Problem | None) -> None:
        meter, ledger = self.query_one(BudgetMeter), self.query_one("#ledger", Static)
        if isinstance(budget, Problem):
            self.query_one(Notice).tell(budget)
            ledger.update("")
        elif budget is not None:
            account = budget.account
            meter.spent, meter.cap = account.spent, account.caps.lifetime
            ledger.update(ledger_text(budget))

    def _look(self) -> None:
        """Look at the sliders' settings, once there is a card."""
        epsilon, k = self._chosen()
        if isinstance(self.desk.connection, Connection):
            self.preview(epsilon, k)

    def _chosen(self) -> tuple[Fraction, int]:
        return self.query_one("#epsilon", Slider).value, int(self.query_one("#size", Slider).value)

    def action_back(self) -> None:
        """Move the sliders to the settings in force."""
        if self.desk.device is not None:
            settings = self.desk.device.settings
            for name, offered, mine in (
                ("#epsilon", EPSILONS, settings.epsilon_per_rating),
                ("#size", SIZES, Fraction(settings.k)),
            ):
                self.query_one(name, Slider).offer(offered, mine)
        self._look()

    def action_apply(self) -> None:
        """Use and keep the sliders' settings; a signal already drawn stays for its month."""
        epsilon, k = self._chosen()
        typed = {"epsilon_per_rating": str(epsilon), "k": str(k)}
        self.desk.edit(partial(use_settings, self.desk.file, typed=typed))

    def commands(self) -> Iterable[SystemCommand]:
        yield SystemCommand("Use these settings", "epsilon and k as the sliders", self.action_apply)
        yield SystemCommand("Back to your settings", "Move the sliders back", self.action_back)


def noise_caption(connection: Connection) -> str:
    """What the map of the noise shows."""
    return f"noise, and ◆ where the server looks{axes_words(connection)}"


def ledger_text(budget: Budget) -> Text:
    """The ledger, newest line first, then what it means."""
    text = Text()
    refused = budget.account.refused
    if refused is not None:
        text.append("Nothing is spent. ", "bold")
        text.append(f"{refused}. Settings (F7) can continue here, too.\n\n")
    if budget.mode:
        text.append(f"{budget.mode}.\n\n")
    for entry, words in reversed(budget.lines):
        text.append(f"{entry.month}  ", "bold")
        space = f" (space {entry.space_version[:8]})" if entry.space_version else ""
        text.append(f"{words}{space}\n\n")
    if not budget.lines and refused is None:
        text.append("No signal has ever left this device.\n\n", "bold")
    for words in budget.words:
        text.append(f"{words}\n")
    text.append(f"The next month begins on {budget.next_month:%-d %B %Y}.", "italic")
    return text


def preview_text(found: SignalPreview) -> str:
    """The worst that one such signal may tell."""
    return (
        f"at most ε {at_most(found.one_rating)} a rating, {at_most(2 * found.one_rating)} where a "
        f"title is replaced; {at_most(found.at_median)} between two people at the median distance, "
        f"{at_most(found.between_any_two)} between any two"
    )
