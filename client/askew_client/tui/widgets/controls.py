"""Controls for keys and mouse: one of several names, and one of several values in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from rich.text import Text
from textual.binding import Binding
from textual.events import Click, MouseDown, MouseMove, MouseUp
from textual.message import Message
from textual.reactive import reactive

from askew_client.tui.widgets.plain_text import Inked, fitted

_ARROWS = 4  # cells


class Choice(Inked, can_focus=True):
    """One of several, in order. Says which one is chosen, whenever that changes."""

    at: reactive[int] = reactive(0)

    class Moved(Message):
        """Another one was chosen."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def watch_at(self) -> None:
        self.post_message(self.Moved(self))

    def action_move(self, by: int) -> None:
        self.at += by


class NameChoice(Choice):
    """A label and the name that is chosen. Names may come from outside: text, never markup."""

    COMPONENT_CLASSES = {"choice--label", "choice--name", "choice--arrow"}
    BINDINGS = [
        Binding("left", "move(-1)", "Other", key_display="← →"),
        Binding("right", "move(1)", show=False),
    ]

    def __init__(
        self,
        label: str,
        names: Sequence[str] = (),
        *,
        words: Mapping[str, str] | None = None,
        id: str | None = None,
    ) -> None:
        """words: what stands on the screen for some of the names."""
        super().__init__(id=id)
        self._label, self._words = label, words or {}
        self.names = tuple(names)

    @property
    def name_chosen(self) -> str | None:
        """Return the chosen name, or None where there is none to choose."""
        return self.names[self.at] if self.names else None

    def offer(self, names: Sequence[str], chosen: str | None = None) -> None:
        """Offer other names, without a message: the one before stays if it is still there."""
        wanted = chosen or self.name_chosen
        self.names = tuple(names)
        at = self.names.index(wanted) if wanted in self.names else 0
        self.set_reactive(Choice.at, at)
        self.refresh()

    def validate_at(self, at: int) -> int:
        return at % len(self.names) if self.names else 0

    def on_click(self, event: Click) -> None:
        """Go back on a click on the left half, and on otherwise."""
        self.action_move(-1 if event.x < self.size.width // 2 else 1)

    def render(self) -> Text:
        text = Text(no_wrap=True, end="")
        text.append(self._label, self.ink("choice--label"))
        room = self.size.width - len(self._label) - _ARROWS
        chosen = self.name_chosen or "none yet"
        name = fitted(self._words.get(chosen, chosen), room).rstrip()
        arrows = ("◂ ", " ▸") if len(self.names) > 1 else ("", "")
        text.append(arrows[0], self.ink("choice--arrow"))
        text.append(name, self.ink("choice--name"))
        text.append(arrows[1], self.ink("choice--arrow"))
        return text


_FIGURE = 6  # cells of the value at the right


class Slider(Choice):
    """One of several values, in order."""

    COMPONENT_CLASSES = {"slider--line", "slider--done", "slider--knob", "slider--label"}
    BINDINGS = [
        Binding("left,minus", "move(-1)", "Less", key_display="←"),
        Binding("right,plus", "move(1)", "More", key_display="→"),
        Binding("home", "move(-1000)", "Least", show=False),
        Binding("end", "move(1000)", "Most", show=False),
    ]

    def __init__(
        self,
        label: str,
        values: Sequence[Fraction],
        value: Fraction,
        *,
        words: Mapping[Fraction, str] | None = None,
        id: str | None = None,
    ) -> None:
        """words: what stands on the screen for some of the values."""
        super().__init__(id=id)
        self._label, self._words, self._dragged = label, words or {}, False
        self.values = tuple(values)
        self.set_value(value)

    @property
    def value(self) -> Fraction:
        return self.values[self.at]

    def set_value(self, value: Fraction) -> None:
        """Choose the nearest value, without a message."""
        nearest = min(range(len(self.values)), key=lambda at: abs(self.values[at] - value))
        self.set_reactive(Choice.at, nearest)
        self.refresh()

    def offer(self, values: Sequence[Fraction], mine: Fraction) -> None:
        """Choose one's own value, which is offered beside these: using what stands there must
        change nothing.
        """
        self.values = tuple(sorted({*values, mine}))
        self.set_value(mine)

    def say(self, words: Mapping[Fraction, str]) -> None:
        """Change what stands on the screen for some of the values."""
        self._words = words
        self.refresh()

    def validate_at(self, at: int) -> int:
        return max(0, min(at, len(self.values) - 1))

    def render(self) -> Text:
        width = self._line_width
        knob = round(self.at * (width - 1) / max(1, len(self.values) - 1))
        text = Text(no_wrap=True, end="")
        text.append(self._label, self.ink("slider--label"))
        text.append("━" * knob, self.ink("slider--done"))
        text.append("◆", self.ink("slider--knob"))
        text.append("─" * (width - 1 - knob), self.ink("slider--line"))
        figure = self._words.get(self.value, f"{float(self.value):g}")
        text.append(figure.rjust(_FIGURE), self.ink("slider--knob"))
        return text

    def on_mouse_down(self, event: MouseDown) -> None:
        self.focus()
        self.capture_mouse()
        self._dragged = True
        self._jump(event.get_content_offset_capture(self).x)

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._dragged:
            self._jump(event.get_content_offset_capture(self).x)

    def on_mouse_up(self, event: MouseUp) -> None:
        self._dragged = False
        self.release_mouse()

    def _jump(self, column: int) -> None:
        share = (column - len(self._label)) / max(1, self._line_width - 1)
        self.at = round(share * (len(self.values) - 1))

    @property
    def _line_width(self) -> int:
        return max(4, self.size.width - len(self._label) - _FIGURE)
