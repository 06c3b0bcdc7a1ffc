"""Help: what a screen is for, its keys, and the keys of every screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

_EVERYWHERE = (
    ("F2 … F7", "the six screens; [ and ] step through them"),
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
        own: Mapping[str, str],
    ) -> None:
        """own: names of commands and the keys that the configuration gives them."""
        super().__init__()
        self._about, self._purpose, self._keys, self._own = name, purpose, keys, own

    def compose(self) -> ComposeResult:
        """A heading, the purpose, and tables of keys."""
        with VerticalScroll(id="help"):
            yield Static(Text(self._about.capitalize(), "bold"), classes="heading")
            yield Static(Text(self._purpose))
            yield Static(Text("On this screen", "bold"), classes="heading")
            yield Static(_table(self._keys))
            yield Static(Text("Everywhere", "bold"), classes="heading")
            yield Static(_table(_EVERYWHERE))
            if self._own:
                yield Static(Text("Your own keys, in place of these", "bold"), classes="heading")
                yield Static(_table([(keys, name) for name, keys in self._own.items()]))
            yield Static(Text("Colors", "bold"), classes="heading")
            yield Static(_table(_COLORS))

    def on_mount(self) -> None:
        """Keys scroll the page."""
        self.query_one(VerticalScroll).focus()


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=10, style="bold", no_wrap=True)
    table.add_column()
    for key, words in rows:
        table.add_row(Text(key), Text(words))
    return table
