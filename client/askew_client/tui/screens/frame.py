"""What screens share: header, notice, choices, dialogs, help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, cast

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Click
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Button, Footer, Label, Select, Static

from askew_client.tui.desk import Desk
from askew_client.tui.pictures import short_number
from askew_client.views.answers import Connection
from askew_client.views.problems import Problem

_Value = str | Fraction
_NONE_YET = (("none yet", ""),)


def choice(label: str, id: str) -> Horizontal:
    """Return a row of a label and a Select of this id that has only "none yet" to choose."""
    select = Select[_Value](_NONE_YET, allow_blank=False, id=id, compact=True)
    return Horizontal(Label(label), select, classes="field")


def offer(
    screen: Widget,
    name: str,
    values: Sequence[_Value],
    chosen: _Value | None = None,
    words: Mapping[Any, str] | None = None,
) -> None:
    """Set the options of the Select with the id `name`, without a message, and choose `chosen`, or
    the first where that is not among them; without values only "none yet", "". A Fraction `chosen`
    is offered beside `values`, in ascending order, since using what stands there must change
    nothing. words: what stands on the screen for some of the values; others as `short_number`.
    """
    options: list[_Value] = list(values)
    if isinstance(chosen, Fraction) and chosen not in options:
        options = sorted([*options, chosen], key=float)
    select = screen.query_one(f"#{name}", Select)
    with select.prevent(Select.Changed):
        told = {each: each if isinstance(each, str) else short_number(each) for each in options}
        texts = [(Text((words or {}).get(each, told[each])), each) for each in options]
        select.set_options(texts or _NONE_YET)
        if chosen in options:
            select.value = chosen
        # Its words may be others for the same value.
        select.mutate_reactive(Select.value)  # type: ignore[misc]  # a reactive, not a value


def chosen_name(screen: Widget, name: str) -> str:
    """Return the chosen value of the Select with the id `name`, which offers names; "" where it
    offers "none yet".
    """
    return cast("str", screen.query_one(f"#{name}", Select).value)


def chosen_number(screen: Widget, name: str) -> Fraction:
    """Return the chosen number of the Select with the id `name`, to which numbers were offered."""
    return cast("Fraction", screen.query_one(f"#{name}", Select).value)


_NAME = " ask╱ew "


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

    def __init__(self, tabs: Sequence[tuple[str, str, str]], active: str, note: str) -> None:
        """Make the header. tabs: the mode, the key and the title of every screen. active: the mode
        of the one that is shown. note: words at the right end.
        """
        super().__init__()
        self._tabs, self._active, self._note = tabs, active, note

    def render(self) -> Text:
        width = self.size.width
        names, line = Text(no_wrap=True, end=""), Text(no_wrap=True, end="")
        style = self.get_component_rich_style
        for part, name in ((" ask", "ask"), ("╱", "bend"), ("ew ", "ew")):
            names.append(part, style(f"header--{name}", partial=True))
        line.append("▁" * cell_len(_NAME))
        for mode, key, title in self._shown():
            active = mode == self._active
            names.append(f" {key} ", style("header--key", partial=True))
            names.append(title, style(f"header--{'active' if active else 'tab'}", partial=True))
            room = cell_len(f" {key} {title}")
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
        for mode, key, title in self._shown():
            room = cell_len(f" {key} {title}")
            if left <= event.x < left + room:
                self.post_message(self.Chosen(mode))
            left += room

    def _shown(self) -> Iterator[tuple[str, str, str]]:
        # Where titles do not fit, all but one are left out.
        whole = cell_len(_NAME) + sum(cell_len(f" {key} {title} ") for _, key, title in self._tabs)
        for mode, key, title in self._tabs:
            fits = whole <= self.size.width or mode == self._active
            yield mode, key, f"{title} " if fits else ""


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
    to do, if anything: "• It did not work. The file is gone. Try again." Each begins with a capital
    and ends with a dot (unless with "!" or "?"); a space follows the first two, also where there is
    no third.
    """
    text = Text()
    text.append(f"• {_capital(problem.trouble.value)}. ", "bold")
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


_TEXTUAL = (
    ("Tab", "the next part of a screen"),
    ("↑ ↓", "the next row, or value of a choice"),
    ("Ctrl+P", "every command by its name"),
    ("Ctrl+Q", "leave"),
)
_COLORS = (
    ("warm", "stays on this device: ratings, the true profile, the pick"),
    ("cool", "is public or leaves: the signal, the results, the offsets"),
)


class HelpScreen(ModalScreen[None]):
    """A page over the screen that it explains: its purpose, and tables of keys by their heading."""

    BINDINGS = [Binding("escape,f1,question_mark,q,enter", "dismiss", "Close", key_display="Esc")]

    def __init__(
        self, name: str, purpose: str, tables: Mapping[str, Sequence[tuple[str, str]]]
    ) -> None:
        super().__init__()
        self._about, self._purpose, self._tables = name, purpose, tables

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(Text(self._about, "bold"), classes="heading")
            yield Static(Text(self._purpose))
            for heading, rows in self._tables.items():
                yield Static(Text(heading, "bold"), classes="heading")
                yield Static(_table(rows))

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


_AGAIN: Final = " r tries again."


def key(id: str, keys: str, action: str, name: str, says: str, **more: Any) -> Binding:
    """Return a binding of these keys to an action, with its name in the footer, and what the help
    and the command palette say of it. id: by which the file of settings gives other keys.
    """
    return Binding(keys, action, name, tooltip=says, id=id, **more)


class FrameScreen(Screen[None]):
    """One of the five screens. SAYS: what it is for, in a line; PURPOSE: in the help."""

    MODE: ClassVar[str]
    KEY: ClassVar[str]
    TITLE: ClassVar[str]
    SAYS: ClassVar[str]
    PURPOSE: ClassVar[str]
    AUTO_FOCUS = ""  # nothing, so that the keys of the screen work

    @property
    def desk(self) -> Desk:
        """Return the app, typed as a Desk."""
        return cast("Desk", self.app)

    def compose(self) -> ComposeResult:
        screens = cast("Iterable[type[FrameScreen]]", self.desk.MODES.values())
        keys = self.desk.keys
        tabs = [(tab.MODE, keys.get(tab.MODE, tab.KEY), tab.TITLE) for tab in screens]
        yield BentHeader(tabs, self.MODE, self.desk.note)
        yield Notice(id="notice")
        yield from self.body()
        yield Footer()

    def body(self) -> ComposeResult:
        """Yield the widgets of a screen, between notice and footer; each screen has its own, and
        this one raises NotImplementedError.
        """
        raise NotImplementedError

    def leave(self) -> None:
        """Stop what must not go on while another screen shows, which comes next; here, nothing."""

    @classmethod
    def explained(cls) -> tuple[Binding, ...]:
        """Return the bindings of this screen that have a text for the help."""
        return tuple(own for own in cls.BINDINGS if isinstance(own, Binding) and own.tooltip)

    def commands(self) -> Iterable[SystemCommand]:
        """Yield what the command palette offers on this screen: one command for each key of the
        help, but for those whose action takes an argument (the stars).
        """
        for own in self.explained():
            if "(" not in own.action:
                act = partial(self.run_action, own.action)
                yield SystemCommand(own.description, own.tooltip, act)

    def explain(self) -> None:
        """Open the help over this screen: its title, its PURPOSE, and the tables "On this screen",
        "Everywhere" and "Colors", with the keys that the settings give.
        """

        def keys_of(bindings: Iterable[object]) -> list[tuple[str, str]]:
            keys = self.desk.keys
            return [
                (keys.get(own.id or "", self.app.get_key_display(own)), own.tooltip)
                for own in bindings
                if isinstance(own, Binding) and own.tooltip
            ]

        tables = {
            "On this screen": keys_of(self.BINDINGS),
            "Everywhere": [*keys_of(self.desk.BINDINGS), *_TEXTUAL],
            "Colors": _COLORS,
        }
        self.app.push_screen(HelpScreen(self.TITLE, self.PURPOSE, tables))

    def on_mount(self) -> None:
        self.watch(self.app, "connection", self._show_connection)

    def on_screen_suspend(self) -> None:
        # What went wrong here was said; the connection's state stays said.
        self._tell(self.desk.connection)

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        self._tell(connection)

    def _tell(self, connection: Connection | Problem | None) -> None:
        if isinstance(connection, Problem):
            again = f"{connection.hint.removesuffix('.')}{_AGAIN}"
            self.query_one(Notice).tell(replace(connection, hint=again))
        else:
            self.query_one(Notice).hush()
