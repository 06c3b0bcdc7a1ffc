"""Titles to rate, and results in their private order. Text from outside is never markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.binding import Binding
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from askew.catalog.item import Value
from askew_client.tui.ink import Inked, fitted
from askew_client.views.answers import Match, NearAnswer, Result
from askew_client.views.place_map import Ink, rank_sign


class ResultList(Inked):
    """A row a result, ◇ before what came with the answer."""

    COMPONENT_CLASSES = {"results--arrived", "results--picked", "results--seen", "results--place"}

    results: reactive[tuple[Result, ...]] = reactive((), layout=True)

    def render(self) -> Table:
        rows = Table.grid(padding=(0, 1, 0, 0), expand=True)
        rows.add_column(width=4, style=self.ink("results--place"))
        rows.add_column(ratio=1)
        for result in self.results:
            kind = "picked" if result.picked else "seen" if result.seen else "arrived"
            note = "  ◀ your pick" if result.picked else "  already rated" if result.seen else ""
            text = Text(f"{result.title}{note}", self.ink(f"results--{kind}"))
            rows.add_row(f"{result.place:>2} {'◇' if result.came else ''}", text)
        return rows


FAILS = "not what you filter for"


class NearList(Inked):
    """A row a result: its title, how far it is, and what is known of it."""

    COMPONENT_CLASSES = {"near--picked", "near--result", "near--failing", "near--detail"}

    answer: reactive[NearAnswer | None] = reactive(None, layout=True)

    def render(self) -> Table:
        rows = Table.grid(padding=(0, 1, 0, 0), expand=True)
        rows.add_column(width=1)
        rows.add_column(ratio=1)
        if self.answer is None:
            return rows
        for result in self.answer.results:
            kind = "picked" if result.picked else "result" if result.passes else "failing"
            sign = Ink.PICK.value if result.picked else rank_sign(result.rank)
            told = known(result.values, self.answer.units)
            details = " · ".join(words for words in (told, result.now) if words)
            ink, detail = self.ink(f"near--{kind}"), self.ink("near--detail")
            far = f", {distance(result.distance)} {self.answer.unit}"
            said = details if result.passes else f"{FAILS} · {details}".removesuffix(" · ")
            text = Text.assemble((result.title, ink), (far, ink), (said and f"\n{said}", detail))
            rows.add_row(Text(sign, ink), text)
        return rows


def distance(value: float) -> str:
    """Return a distance as text, to two significant digits below 1, to a tenth below 100, else
    whole: "0.12", "12.3", "123".
    """
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def known(values: Mapping[str, Value], units: Mapping[str, str]) -> str:
    """Return the known values of a result in a row, each with its unit: "price 8.5 EUR · bakery ·
    free table". A float follows its name, text stands alone, True is the name, False "not free
    table"; None and "" are left out.
    """
    return " · ".join(
        f"{words} {units[name]}" if name in units else words
        for name, value in values.items()
        if (words := _words(name, value))
    )


def _words(name: str, value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return name if value else f"not {name}"
        case float():
            return f"{name} {value:g}"
        case _:
            return str(value)


STARS = 5


@dataclass(frozen=True)
class Stars:
    """Five stars over a rating scale, each a fifth of what is above zero or of its width."""

    lowest: float
    highest: float

    def rating(self, stars: float) -> float:
        """Return the rating that this many stars (0 to 5) stand for, kept on the scale: 8.0 for
        four stars on a scale from 1 to 10. No star stands for 0; if lowest is below 0 or above a
        fifth of highest, for a quarter of the width below lowest: 0.0 for three from -1 to 1.
        """
        rating = self._zero + stars * (self.highest - self._zero) / STARS
        return min(max(rating, self.lowest), self.highest)

    def count(self, rating: float) -> float:
        """Return how many stars a rating is, to the nearest half: 4.0 for 8 on a scale from 1 to
        10, where no star is 0; if lowest is below 0 or above a fifth of highest, no star is a
        quarter of the width below lowest: 3.0 for 0 from -1 to 1. One beyond the scale counts as
        its end.
        """
        rating = min(max(rating, self.lowest), self.highest)
        return round(2 * STARS * (rating - self._zero) / (self.highest - self._zero)) / 2

    def text(self, rating: float | None) -> str:
        """Return the stars of a rating in five cells, "★★★½·"; "·····" for None."""
        if rating is None:
            return "·" * STARS
        count = self.count(rating)
        return ("★" * int(count) + "½" * (count % 1 > 0)).ljust(STARS, "·")

    @property
    def _zero(self) -> float:
        # Where no star would be: zero, or one step below a scale that does not start there.
        if self.lowest >= 0 and self.highest >= STARS * self.lowest:
            return 0.0
        return self.lowest - (self.highest - self.lowest) / (STARS - 1)


_EDGE = 2  # blank cells on either side of the stars


class TitleList(ScrollView, can_focus=True):
    """Titles from outside, so text and never markup. Says what was rated; changes nothing."""

    COMPONENT_CLASSES = {"titles--cursor", "titles--detail", "titles--stars", "titles--unrated"}
    BINDINGS = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "move(-1000000)", "First", show=False),
        Binding("end", "move(1000000)", "Last", show=False),
        Binding("left", "nudge(-0.5)", "Half a star less", show=False),
        Binding("right", "nudge(0.5)", "Half a star more", show=False),
        Binding("delete,backspace", "unrate", "Unrate", show=False),
    ]

    cursor: reactive[int] = reactive(0)

    class Starred(Message):
        """The person rated a title, or took the rating back: rating is None."""

        def __init__(self, label: str, rating: float | None) -> None:
            super().__init__()
            self.label, self.rating = label, rating

    class Liked(Message):
        """The person likes a title, without a number."""

        def __init__(self, label: str) -> None:
            super().__init__()
            self.label = label

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.matches: Sequence[Match] = ()
        self.stars = Stars(1, 5)
        self._base, self._inks = Style(), dict[str, Style]()
        self._typed: dict[str, float] = {}  # stars by label, until what is listed has them

    def show(self, matches: Sequence[Match], *, keep_cursor: bool) -> None:
        self.matches = matches
        for match in matches if self._typed else ():
            if match.rated and match.rated.rating is not None:
                stars = self.stars.count(match.rated.rating)
                if self._typed.get(match.title) == stars:
                    del self._typed[match.title]
        self._measure()
        self.cursor = self.cursor if keep_cursor else 0
        self.refresh()

    def lists(self, matches: Sequence[Match]) -> bool:
        """Return True if the list shows these very titles already, in this order; ratings do not
        count.
        """
        pairs = zip(self.matches, matches, strict=False)
        return len(self.matches) == len(matches) and all(a.title == b.title for a, b in pairs)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the drawn lines of a part of the window, whose styles are looked up once, not with
        every line.
        """
        self._base = self.rich_style
        self._inks = {
            part: self.get_component_rich_style(part, partial=True)
            for part in self.COMPONENT_CLASSES
        }
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        if not 0 <= at < len(self.matches):
            return Strip.blank(width, self._base)
        return self._strip(self.matches[at], width, chosen=at == self.cursor)

    def _strip(self, match: Match, width: int, *, chosen: bool) -> Strip:
        base = self._base
        if chosen and self.has_focus:
            base += self.get_component_rich_style("titles--cursor")
        detail_room = max(0, min(30, width - 60))
        label_room = width - STARS - 2 * _EDGE - 2 - detail_room

        def ink(component: str) -> Style:
            return base + self._inks[component]

        rating = None if match.rated is None else match.rated.rating
        is_like = match.rated is not None and rating is None
        stars = "♥".ljust(STARS) if is_like else self.stars.text(rating)
        segments = [
            Segment("▌ " if chosen else "  ", ink("titles--stars")),
            Segment(fitted(match.title, label_room), base),
            Segment(fitted(" · ".join(match.genres), detail_room), ink("titles--detail")),
            Segment(" " * _EDGE, base),
            Segment(stars, ink("titles--stars" if match.rated else "titles--unrated")),
            Segment(" " * _EDGE, base),
        ]
        return Strip(segments).adjust_cell_length(width, base)

    @property
    def chosen(self) -> str | None:
        return self.matches[self.cursor].title if self.matches else None

    def action_move(self, by: int) -> None:
        self.cursor = self.cursor + by

    def action_page(self, by: int) -> None:
        self.cursor = self.cursor + by * max(1, self.scrollable_content_region.height - 1)

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self.matches) - 1))

    def watch_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)
        self.refresh()

    def action_rate(self, stars: int) -> None:
        if self.matches:
            self._star(self.matches[self.cursor], stars)

    def action_nudge(self, by: float) -> None:
        # What has no stars yet gets three.
        if not self.matches:
            return
        match = self.matches[self.cursor]
        rating = None if match.rated is None else match.rated.rating
        now = 3 - by if rating is None else self.stars.count(rating)
        # A key may be faster than the edit before it.
        now = self._typed.get(match.title, now)
        self._star(match, min(max(now + by, 0.5), STARS))

    def action_like(self) -> None:
        if self.matches:
            self.post_message(self.Liked(self.matches[self.cursor].title))

    def action_unrate(self) -> None:
        if self.matches and self.matches[self.cursor].rated is not None:
            self.post_message(self.Starred(self.matches[self.cursor].title, None))

    def on_click(self, event: Click) -> None:
        # A click on the n-th star also rates with n stars.
        offset = event.get_content_offset(self)
        if offset is None or offset.y + self.scroll_offset.y >= len(self.matches):
            return
        self.cursor = offset.y + self.scroll_offset.y
        star = offset.x - (self.scrollable_content_region.width - _EDGE - STARS) + 1
        if 1 <= star <= STARS:
            self._star(self.matches[self.cursor], star)

    def on_resize(self) -> None:
        self._measure()

    def _measure(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.matches))

    def _star(self, match: Match, stars: float) -> None:
        self._typed[match.title] = stars
        self.post_message(self.Starred(match.title, self.stars.rating(stars)))
