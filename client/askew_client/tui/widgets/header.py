"""What stands around a screen's content: header, notice, footer, and a part that scrolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual.containers import VerticalScroll
from textual.events import Click
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from askew_client.views.problems import Problem, Trouble

_NAME = " ask╱ew "


@dataclass(frozen=True)
class Tab:
    """One screen of the app: its mode, its key, its name and what it is for."""

    mode: str
    key: str
    title: str
    says: str

    @property
    def text(self) -> str:
        """Return the tab's text in the header, its key and its title: " F2 Near "."""
        return f" {self.key} {self.title} "


class BentHeader(Widget):
    """Two rows: names on the first; on the second a line, bent upwards under the active one."""

    COMPONENT_CLASSES = {
        "header--ask",
        "header--bend",
        "header--ew",
        "header--line",
        "header--active",
        "header--tab",
        "header--key",
    }

    class Chosen(Message):
        """A screen was clicked."""

        def __init__(self, mode: str) -> None:
            super().__init__()
            self.mode = mode

    def __init__(self, tabs: Sequence[Tab], active: str, note: str = "") -> None:
        super().__init__()
        self._tabs, self._active, self._note = tuple(tabs), active, note

    def render(self) -> Text:
        width = self.size.width
        names, line = Text(no_wrap=True, end=""), Text(no_wrap=True, end="")
        style = self.get_component_rich_style
        for part, name in ((" ask", "ask"), ("╱", "bend"), ("ew ", "ew")):
            names.append(part, style(f"header--{name}", partial=True))
        line.append("▁" * cell_len(_NAME))
        for tab in self._tabs:
            active = tab.mode == self._active
            title = self._text(tab).removeprefix(f" {tab.key} ")
            names.append(f" {tab.key} ", style("header--key", partial=True))
            names.append(title, style(f"header--{'active' if active else 'tab'}", partial=True))
            room = cell_len(self._text(tab))
            line.append("╱" + "▔" * (room - 2) + "╲" if active else "▁" * room)
        line.append("▁" * max(0, width - line.cell_len))
        line.stylize(style("header--line", partial=True))
        space = width - names.cell_len - cell_len(self._note) - 1
        if self._note and space >= 1:
            names.append(" " * space + self._note, style("header--key", partial=True))
        names.truncate(width)
        line.truncate(width)
        return names + "\n" + line

    def on_click(self, event: Click) -> None:
        left = cell_len(_NAME)
        for tab in self._tabs:
            room = cell_len(self._text(tab))
            if left <= event.x < left + room:
                self.post_message(self.Chosen(tab.mode))
            left += room

    def _text(self, tab: Tab) -> str:
        # Where names do not fit, all but one are keys alone.
        whole = cell_len(_NAME) + sum(cell_len(tab.text) for tab in self._tabs)
        fits = whole <= self.size.width
        return tab.text if fits or tab.mode == self._active else f" {tab.key} "


_MARKS = {
    Trouble.UNREACHABLE: "○",
    Trouble.BUDGET: "▪",
    Trouble.REFUSED: "‖",
    Trouble.STALE_SPACE: "↻",
    Trouble.HOSTILE: "✕",
}


class Notice(Static):
    """Says a problem in words; takes no room when there is none."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", markup=False, id=id)
        self.display = False
        self.problem: Problem | None = None

    def tell(self, problem: Problem) -> None:
        """Show a problem's words until `hush`, in place of another one."""
        self.problem = problem
        self.update(words(problem))
        self.display = True

    def hush(self) -> None:
        self.problem = None
        self.display = False


def words(problem: Problem) -> Text:
    """Return a problem as text in three parts: a bold heading, what happened, and in italics what
    to do, if anything.
    """
    text = Text()
    text.append(f"{_MARKS.get(problem.trouble, '•')} {_capital(problem.trouble.value)}. ", "bold")
    text.append(f"{_sentence(problem.text)} ")
    if problem.hint:
        text.append(_sentence(problem.hint), "italic")
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return _capital(text) if text.endswith((".", "!", "?")) else f"{_capital(text)}."


class ScrollPart(VerticalScroll):
    """Tab reaches it, and arrows scroll it, while there is more than it shows."""

    def allow_focus(self) -> bool:
        """Return True if there is anything to scroll: the focus skips the part else."""
        return self.max_scroll_y > 0
