"""Privacy: what has left, what came of it, and what a signal of other settings would tell."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Final

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable, ProgressBar, Static

from askew_client.device.budget import Budget
from askew_client.profile.document import PastAnswer
from askew_client.signals.account import Entry
from askew_client.tui.desk import use_settings
from askew_client.tui.pictures import HeatMap, axes_words, short_number
from askew_client.tui.screens.frame import (
    ConfirmScreen,
    FrameScreen,
    Notice,
    ScrollPart,
    choice,
    chosen_number,
    key,
    offer,
)
from askew_client.views.answers import Connection, SignalPreview
from askew_client.views.cost import at_most
from askew_client.views.problems import Problem

EPSILONS: Final = tuple(
    map(Fraction, ("0.1", "0.2", "0.3", "0.4", "0.6", "0.8", "1", "1.5", "2", "3", "4", "8"))
)
SIZES: Final = tuple(map(Fraction, (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32)))


class PrivacyScreen(FrameScreen):
    """Budget, ledger and past answers on the left; other settings and their noise on the right."""

    MODE = "privacy"
    KEY = "F5"
    TITLE = "Privacy"
    SAYS = "What was spent, past answers, and other settings"
    PURPOSE = (
        "On the left, what your signals have cost, and every signal and answer, newest first. "
        "Answers are kept on this device, never sent, and forgotten whenever you like. On the "
        "right, what a signal of other settings would tell about you: choose, and nothing is "
        "sent, nothing is charged. epsilon (ε) is how much a signal may tell of one rating; k is "
        "how many results come back. The map shows the noise, and where around the signal the "
        "server looks for results."
    )
    BINDINGS = [
        key("privacy.use", "w", "apply", "Use these settings", "use them from now on"),
        key("privacy.back", "b", "back", "Back to yours", "back to the settings in force"),
        key("privacy.forget", "f", "forget", "Forget all", "forget all past answers"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._budget: Budget | None = None
        self._past: tuple[PastAnswer, ...] = ()
        self._one_signal = Fraction(0)  # of other settings: what it would take of the budget
        self._pages: list[Text] = []  # what each row of the table means

    def body(self) -> ComposeResult:
        with Horizontal(id="privacy"):
            with Vertical(id="spending"):
                yield Static("Your budget", classes="heading")
                yield ProgressBar(show_percentage=False, show_eta=False)
                yield Static("", id="figures", markup=False)
                yield DataTable[Text](id="past", cursor_type="row", show_header=False)
                with ScrollPart(id="ledger-window"):
                    yield Static("", id="ledger", markup=False)
            with Vertical(id="what-if"):
                yield Static("What if (nothing is sent)", classes="heading")
                yield choice("ε of one rating", "epsilon")
                yield choice("k, results", "size")
                yield Static("", id="preview", markup=False)
                yield HeatMap()
                yield Static("", id="caption", markup=False)

    def on_mount(self) -> None:
        self.query_one(DataTable).add_columns("when", "what")
        self.watch(self.app, "budget", self._show_budget)
        self.action_back()
        self.query_one("#epsilon").focus()

    def on_screen_resume(self) -> None:
        self.read_answers()

    @work(exclusive=True, group="history")
    async def read_answers(self) -> None:
        """Read the past answers from the device, and list them with the signals. A Problem is shown
        in the notice, and the list stays.
        """
        past = await self.desk.on_device(lambda device: device.profile.history())
        if isinstance(past, Problem):
            self.query_one(Notice).tell(past)
        else:
            self._past = past
            self._show_rows()

    @work(exclusive=True, group="preview")
    async def preview(self, epsilon: Fraction, k: int) -> None:
        """Show what a signal of this epsilon and k would tell, and its noise. A newer choice takes
        the place of an older one.
        """
        preview = await self.desk.on_device(lambda device: device.titles.preview(epsilon, k))
        words = self.query_one("#preview", Static)
        if isinstance(preview, SignalPreview):
            self._one_signal = one = preview.one_rating
            words.update(
                f"at most ε {at_most(one)} a rating, {at_most(2 * one)} where a title is replaced; "
                f"{at_most(preview.at_median)} between two people at the median distance, "
                f"{at_most(preview.between_any_two)} between any two"
            )
            self._show_noise(preview)
        else:
            words.update(f"No signal: {preview.text}. {preview.hint}")
            self._show_noise(None)
        self._show_figures()

    def on_select_changed(self) -> None:
        self._look()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if event.cursor_row < len(self._pages):
            self.query_one("#ledger", Static).update(self._pages[event.cursor_row])

    def _show_noise(self, preview: SignalPreview | None) -> None:
        heat_map, caption = self.query_one(HeatMap), self.query_one("#caption", Static)
        connection = self.desk.connection
        if preview is None or not isinstance(connection, Connection):
            heat_map.show(0.0, ())
            caption.update("")
            return
        shown = [tuple(at[axis] for axis in connection.map_axes) for at in preview.offsets]
        heat_map.show(float(preview.one_rating), shown)
        caption.update(f"noise, and ◆ where the server looks{axes_words(connection)}")

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        super()._show_connection(connection)
        self._look()

    def _show_budget(self, budget: Budget | Problem | None) -> None:
        if isinstance(budget, Problem):
            self.query_one(Notice).tell(budget)
        else:
            self._budget = budget
        self._show_figures()
        self._show_rows()

    def _show_figures(self) -> None:
        if self._budget is None:
            return
        spent, cap = self._budget.account.spent, self._budget.account.caps.lifetime
        self.query_one(ProgressBar).update(total=float(cap), progress=float(min(spent, cap)))
        fits = spent + self._one_signal <= cap
        fresh = f"fresh {short_number(self._one_signal)}" if fits else "too little is left"
        text = f"spent {short_number(spent)}  {fresh}  of {short_number(cap)}"
        self.query_one("#figures", Static).update(text)

    def _show_rows(self) -> None:
        table = self.query_one(DataTable)
        table.clear()
        if self._budget is None:
            return
        rows = [(Text("in all"), Text("what has left means"), _account_text(self._budget))]
        entries = self._budget.lines
        dated = [(past.when.isoformat(), _answer_row(past)) for past in self._past]
        dated += [(entry.month, _entry_row(entry, words)) for entry, words in reversed(entries)]
        rows += [row for _, row in sorted(dated, key=itemgetter(0), reverse=True)]
        self._pages = [page for *_, page in rows]
        for when, what, _ in rows:
            table.add_row(when, what)
        self.query_one("#ledger", Static).update(self._pages[0])

    def _look(self) -> None:
        if isinstance(self.desk.connection, Connection):
            self.preview(*self._chosen())

    def _chosen(self) -> tuple[Fraction, int]:
        return chosen_number(self, "epsilon"), int(chosen_number(self, "size"))

    def action_back(self) -> None:
        device = self.desk.device
        epsilon, k = Fraction(4, 5), 20
        if device is not None:
            epsilon, k = device.settings.epsilon_per_rating, device.settings.k
        offer(self, "epsilon", EPSILONS, epsilon)
        offer(self, "size", SIZES, Fraction(k))
        self._look()

    def action_apply(self) -> None:
        epsilon, k = self._chosen()
        typed = {"epsilon_per_rating": str(epsilon), "k": str(k)}
        self.desk.edit(partial(use_settings, self.desk.file, typed=typed))

    @work(group="question")
    async def action_forget(self) -> None:
        if not self._past:
            return
        if await self.app.push_screen_wait(ConfirmScreen("Forget every past answer?", "Forget")):
            self.desk.edit(
                lambda device: device.profile.forget_history(), "Past answers are forgotten."
            )
            self.read_answers()


def _entry_row(entry: Entry, words: str) -> tuple[Text, Text, Text]:
    space = f" (space {entry.space_version[:8]})" if entry.space_version else ""
    page = Text.assemble((f"{entry.month}  ", "bold"), f"{words}{space}")
    return Text(entry.month), Text(words.partition(":")[0]), page


def _answer_row(past: PastAnswer) -> tuple[Text, Text, Text]:
    page = Text.assemble((f"{past.when:%-d %B %Y}", "bold"))
    page.append(
        f", with the signal of {past.month}\n\n" if past.month else ", nothing was sent\n\n"
    )
    for place, label in enumerate(past.labels, 1):
        mark = "  ◀ your pick" if label == past.picked else ""
        page.append(f"{place:>3}  {label}{mark}\n", "bold" if mark else "")
    return Text(past.when.isoformat()), Text(past.picked), page


def _account_text(budget: Budget) -> Text:
    text = Text()
    refused = budget.account.refused
    if refused is not None:
        text.append("Nothing is spent. ", "bold")
        text.append(f"{refused}. Settings (F6) can continue here, too.\n\n")
    if budget.mode:
        text.append(f"{budget.mode}.\n\n")
    if not budget.lines and refused is None:
        text.append("No signal has ever left this device.\n\n", "bold")
    for words in budget.words:
        text.append(f"{words}\n")
    text.append(f"The next month begins on {budget.next_month:%-d %B %Y}.", "italic")
    return text
