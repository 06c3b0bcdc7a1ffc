"""One of several names, on one row: arrow keys, or a click."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from askew_client.tui.widgets.plain_text import fitted

_ARROWS = 4  # cells


class Choice(Widget, can_focus=True):
    """A label and the name that is chosen. Names may come from outside: text, never markup."""

    COMPONENT_CLASSES = {"choice--label", "choice--name", "choice--arrow"}
    BINDINGS = [
        Binding("left", "move(-1)", "Other", key_display="← →"),
        Binding("right", "move(1)", show=False),
    ]

    at: reactive[int] = reactive(0)

    class Moved(Message):
        """Another name was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> Choice:
            """The choice, for selectors of handlers."""
            return self.choice

    def __init__(self, label: str, names: Sequence[str] = (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._label = label
        self.names = tuple(names)

    @property
    def name_chosen(self) -> str | None:
        """The chosen name, or None where there is none to choose."""
        return self.names[self.at] if self.names else None

    def offer(self, names: Sequence[str], chosen: str | None = None) -> None:
        """Other names, without a message: the one before stays if it is still there."""
        wanted = chosen or self.name_chosen
        self.names = tuple(names)
        at = self.names.index(wanted) if wanted in self.names else 0
        self.set_reactive(Choice.at, at)
        self.refresh()

    def validate_at(self, at: int) -> int:
        """Around the ends."""
        return at % len(self.names) if self.names else 0

    def watch_at(self) -> None:
        """Tell."""
        self.post_message(self.Moved(self))

    def action_move(self, by: int) -> None:
        """Another name."""
        self.at += by

    def on_click(self, event: Click) -> None:
        """The left half goes back, the right half on."""
        self.action_move(-1 if event.x < self.size.width // 2 else 1)

    def render(self) -> Text:
        """The label, and the name between two arrows."""
        text = Text(no_wrap=True, end="")
        text.append(self._label, self._ink("choice--label"))
        room = self.size.width - len(self._label) - _ARROWS
        name = fitted(self.name_chosen or "none yet", room).rstrip()
        arrows = ("◂ ", " ▸") if len(self.names) > 1 else ("", "")
        text.append(arrows[0], self._ink("choice--arrow"))
        text.append(name, self._ink("choice--name"))
        text.append(arrows[1], self._ink("choice--arrow"))
        return text

    def _ink(self, component: str) -> Style:
        return self.get_component_rich_style(component, partial=True)
