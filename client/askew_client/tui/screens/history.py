"""History: past answers, kept on this device and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import OptionList, Static

from askew_client.profile.document import PastAnswer
from askew_client.tui.screens.dialogs import ConfirmScreen
from askew_client.tui.screens.frame import FrameScreen
from askew_client.tui.widgets.header import Notice, ScrollPart
from askew_client.views.problems import Problem


class HistoryScreen(FrameScreen):
    """Answers on the left, the one under the cursor on the right."""

    MODE = "history"
    TITLE = "History"
    PURPOSE = (
        "What you were shown and what was picked, newest first. It is kept in a file on this "
        "device, never sent, and you can forget it whenever you like."
    )
    KEYS = (
        ("↑ ↓", "another answer"),
        ("f", "forget all of them"),
    )
    BINDINGS = [Binding("f", "forget", "Forget all", id="history.forget")]

    def __init__(self) -> None:
        super().__init__()
        self._past: tuple[PastAnswer, ...] = ()

    def body(self) -> ComposeResult:
        with Horizontal(id="history"):
            yield OptionList(id="answers", markup=False)
            with ScrollPart(id="past"):
                yield Static("", id="past-answer", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_screen_resume(self) -> None:
        self.read()

    @work(exclusive=True, group="history")
    async def read(self) -> None:
        """List the past answers."""
        past = await self.desk.on_device(lambda device: device.profile.history())
        if isinstance(past, Problem):
            self.query_one(Notice).tell(past)
            return
        self._past = past
        answers = self.query_one(OptionList)
        answers.clear_options()
        answers.add_options([_line(each) for each in past])
        answers.highlighted = 0 if past else None
        self._show(0)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._show(event.option_index)

    def _show(self, index: int) -> None:
        empty = Text("No answers yet. Ask (F4), and they will be kept here.")
        shown = _page(self._past[index]) if self._past else empty
        self.query_one("#past-answer", Static).update(shown)

    @work(group="question")
    async def action_forget(self) -> None:
        """Forget everything, after a second look."""
        if not self._past:
            return
        if await self.app.push_screen_wait(ConfirmScreen("Forget every past answer?", "Forget")):
            self.desk.edit(
                lambda device: device.profile.forget_history(), "Past answers are forgotten."
            )
            self.read()

    def commands(self) -> Iterable[SystemCommand]:
        yield SystemCommand("Forget all answers", "Empty the history", self.action_forget)


def _line(past: PastAnswer) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{past.when:%d %b}  ", "dim")
    line.append(past.picked)
    return line


def _page(past: PastAnswer) -> Text:
    page = Text()
    page.append(f"{past.when:%-d %B %Y}", "bold")
    page.append(
        f", with the signal of {past.month}\n\n" if past.month else ", nothing was sent\n\n"
    )
    for place, label in enumerate(past.labels, 1):
        mark = "  ◀ your pick" if label == past.picked else ""
        page.append(f"{place:>3}  {label}{mark}\n", "bold" if mark else "")
    return page
