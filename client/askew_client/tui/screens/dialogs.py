"""Dialogs over a screen: its help, and a question with two answers."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

_EVERYWHERE = (
    ("F2 … F6", "the five screens; [ and ] step through them"),
    ("Tab", "the next part of a screen"),
    ("Ctrl+P", "every command by its name"),
    ("Ctrl+T", "light or dark"),
    ("? or F1", "this help"),
    ("r", "connect again, where that failed"),
    ("Ctrl+Q", "leave"),
)
_COLORS = (
    ("warm", "stays on this device: ratings, the true profile, the pick"),
    ("cool", "is public or leaves: the signal, the results, the offsets"),
)


class HelpScreen(ModalScreen[None]):
    """A page over the screen that it explains."""

    BINDINGS = [Binding("escape,f1,question_mark,q,enter", "dismiss", "Close", key_display="Esc")]

    def __init__(
        self,
        name: str,
        purpose: str,
        keys: Sequence[tuple[str, str]],
        own: Sequence[tuple[str, str]],
    ) -> None:
        """Make the help of a screen. own: keys that the file of settings gives in place of those
        that are said.
        """
        super().__init__()
        self._about, self._purpose, self._keys, self._own = name, purpose, keys, own

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(Text(self._about.capitalize(), "bold"), classes="heading")
            yield Static(Text(self._purpose))
            yield Static(Text("On this screen", "bold"), classes="heading")
            yield Static(_table(self._keys))
            yield Static(Text("Everywhere", "bold"), classes="heading")
            yield Static(_table(_EVERYWHERE))
            if self._own:
                yield Static(Text("Instead, by your settings", "bold"), classes="heading")
                yield Static(_table(self._own))
            yield Static(Text("Colors", "bold"), classes="heading")
            yield Static(_table(_COLORS))

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=10, style="bold", no_wrap=True)
    table.add_column()
    for key, words in rows:
        table.add_row(Text(key), Text(words))
    return table


class ConfirmScreen(ModalScreen[bool]):
    """A question with two answers; the careful one is in focus."""

    BINDINGS = [
        Binding("escape,n", "answer(False)", "No"),
        Binding("y", "answer(True)", "Yes"),
        Binding("left,right", "app.focus_next", show=False),
    ]

    def __init__(self, question: str, verb: str) -> None:
        super().__init__()
        self._question, self._verb = question, verb

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Text(self._question))
            with Horizontal(classes="buttons"):
                yield Button("Keep", id="keep")
                yield Button(self._verb, id="go", variant="error")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "go")

    def action_answer(self, sure: bool) -> None:
        self.dismiss(sure)
