"""A list of titles with stars: any length, drawn line by line, rated by key or mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from askew_client.tui.widgets.plain_text import fitted
from askew_client.tui.widgets.stars import STARS, Stars

_EDGE = 2  # blank cells on either side of a line


@dataclass(frozen=True)
class Line:
    """One title as it is shown. rating is None where the person has given none."""

    item: int
    label: str
    detail: str
    rating: float | None


class TitleList(ScrollView, can_focus=True):
    """Titles from outside, so text and never markup. Says what was rated; changes nothing itself."""

    COMPONENT_CLASSES = {"titles--cursor", "titles--detail", "titles--stars", "titles--unrated"}
    BINDINGS = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "move(-1000000)", "First", show=False),
        Binding("end", "move(1000000)", "Last", show=False),
        *(Binding(f"{n}", f"rate({n})", "Rate", show=n == 1, key_display="1-5") for n in range(1, 6)),
        Binding("left", "nudge(-0.5)", "Half a star less", show=False),
        Binding("right", "nudge(0.5)", "Half a star more", show=False),
        Binding("x,delete,backspace", "unrate", "Unrate", key_display="x"),
    ]

    cursor: reactive[int] = reactive(0)

    class Rated(Message):
        """The person gave a title a rating, or took it back: rating is None."""

        def __init__(self, item: int, rating: float | None) -> None:
            super().__init__()
            self.item, self.rating = item, rating

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: tuple[Line, ...] = ()
        self.stars = Stars(1, 5)

    def show(self, lines: Sequence[Line], *, keep_cursor: bool = False) -> None:
        """Replace what is listed."""
        self.lines = tuple(lines)
        self.cursor = min(self.cursor, max(0, len(lines) - 1)) if keep_cursor else 0
        self.virtual_size = Size(self.scrollable_content_region.width, len(lines))
        if not keep_cursor:
            self.scroll_home(animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the window."""
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        base = self.rich_style
        if not 0 <= at < len(self.lines):
            return Strip.blank(width, base)
        return self._strip(self.lines[at], width, base, chosen=at == self.cursor)

    def _strip(self, line: Line, width: int, base: Style, *, chosen: bool) -> Strip:
        style = base
        if chosen and self.has_focus:
            style += self.get_component_rich_style("titles--cursor")
        star_kind = "titles--unrated" if line.rating is None else "titles--stars"
        room = width - STARS - 3 * _EDGE
        detail_room = max(0, min(28, room - 40))
        label = fitted(line.label, room - detail_room).plain
        detail = fitted(line.detail, detail_room).plain

        def ink(component: str) -> Style:
            return style + self.get_component_rich_style(component, partial=True)

        pointer = "▌ " if chosen else "  "
        return Strip(
            [
                Segment(pointer, ink("titles--stars")),
                Segment(label, style),
                Segment(detail, ink("titles--detail")),
                Segment(" " * _EDGE, style),
                Segment(self.stars.text(line.rating), ink(star_kind)),
                Segment(" " * _EDGE, style),
            ]
        ).adjust_cell_length(width, style)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.cursor = self.cursor + by

    def action_page(self, by: int) -> None:
        """Move the cursor by what the window shows."""
        self.cursor = self.cursor + by * max(1, self.scrollable_content_region.height - 1)

    def validate_cursor(self, cursor: int) -> int:
        """Stay on the list."""
        return max(0, min(cursor, len(self.lines) - 1))

    def watch_cursor(self) -> None:
        """Keep the cursor in the window."""
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)
        self.refresh()

    def action_rate(self, stars: int) -> None:
        """Rate the title under the cursor."""
        if self.lines:
            self._say(self.lines[self.cursor], float(stars))

    def action_nudge(self, by: float) -> None:
        """Half a star more or less; an unrated title starts in the middle."""
        if self.lines:
            line = self.lines[self.cursor]
            now = 3.0 - by if line.rating is None else self.stars.count(line.rating)
            self._say(line, min(max(now + by, 0.5), STARS))

    def action_unrate(self) -> None:
        """Take a rating back."""
        if self.lines and self.lines[self.cursor].rating is not None:
            self.post_message(self.Rated(self.lines[self.cursor].item, None))

    def on_click(self, event: Click) -> None:
        """Choose a title, or rate it where the stars are."""
        offset = event.get_content_offset(self)
        if offset is None or not 0 <= offset.y + self.scroll_offset.y < len(self.lines):
            return
        self.cursor = offset.y + self.scroll_offset.y
        star = offset.x - (self.scrollable_content_region.width - _EDGE - STARS) + 1
        if 1 <= star <= STARS:
            self._say(self.lines[self.cursor], float(star))

    def on_resize(self) -> None:
        """Lines are as wide as the window."""
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.lines))

    def _say(self, line: Line, stars: float) -> None:
        self.post_message(self.Rated(line.item, self.stars.rating(stars)))
