"""A calm line or two: what happened, and what to do."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from askew_client.views.problems import Setback, Trouble

_MARKS = {
    Trouble.UNREACHABLE: "○",
    Trouble.BUDGET: "▪",
    Trouble.FROZEN: "❄",
    Trouble.STALE_SPACE: "↻",
    Trouble.HOSTILE: "✕",
    Trouble.LOCKED: "▣",
}


class Notice(Static):
    """Says a setback in words; takes no room when there is none."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", markup=False, id=id)
        self.display = False
        self.setback: Setback | None = None

    def tell(self, setback: Setback) -> None:
        """Show a setback until it is hushed."""
        self.setback = setback
        self.update(words(setback))
        self.display = True

    def hush(self) -> None:
        """All is well."""
        self.setback = None
        self.display = False


def words(setback: Setback) -> Text:
    """A setback as a heading, what happened, and what to do."""
    text = Text()
    text.append(f"{_MARKS.get(setback.trouble, '•')} {_capital(setback.trouble.value)}. ", "bold")
    text.append(f"{_sentence(setback.text)} ")
    text.append(_sentence(setback.hint), "italic")
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return _capital(text) if text.endswith((".", "!", "?")) else f"{_capital(text)}."
