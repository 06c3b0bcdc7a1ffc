"""Profile: what the device knows of the person, all of it private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.widgets import Input, Static

from askew_client.tui.desk import Profile
from askew_client.tui.lists import STARS, Stars, TitleList
from askew_client.tui.pictures import ProfileBars
from askew_client.tui.screens.frame import ConfirmScreen, FrameScreen, ScrollPart, key
from askew_client.views.answers import Connection, Match
from askew_client.views.problems import Problem

if TYPE_CHECKING:
    from askew_client.opening import Device


REMOVED: Final = "Removed; u brings it back, for undo keeps it. X forgets it for good."
NONE_KNOWN: Final = "Nothing that you rated is in this catalog."
RATE_A_FEW: Final = "Rate a few titles that you know. Ratings stay on this device."
RATE_LATER: Final = "Rate a few titles once the catalog is here. Ratings stay on this device."
LIMIT: Final = 500  # titles that a search lists


def _listed_text(
    connection: Connection | Problem | None, count: int, *, rated: bool, only_rated: bool
) -> str:
    # A line: how many titles the list has, or why it has none. rated: whether anything is.
    if not rated and only_rated:
        return "Nothing is rated yet."
    if not isinstance(connection, Connection):
        if count:
            return "No catalog: these are your ratings."
        if rated:
            return "No rating of yours has all these words."
        waiting = connection is None
        return "Waiting for the catalog ..." if waiting else "No catalog, and nothing is rated."
    if only_rated:
        return f"{count} rated  (o: all titles)"
    more = " or more" if count == LIMIT else ""
    return f"{count}{more} found" if count else "No title has all these words."


class ProfileScreen(FrameScreen):
    """Search, rate, and watch the profile move."""

    MODE = "profile"
    KEY = "F3"
    TITLE = "Profile"
    SAYS = "Search the catalog, rate, see your profile"
    PURPOSE = (
        "Your ratings make a profile, the bars on the right; both stay in a file on this device. "
        "Each bar lies between the two titles of this catalog that are furthest apart along it, "
        "the same two for everybody. Type to search, press Enter or ↓ to go to the titles, and "
        "rate with the keys 1 to 5, ← and → (half a star) or by clicking the stars. A like counts "
        "as well."
    )
    BINDINGS = [
        key("profile.search", "slash", "search", "Search", "search the titles", key_display="/"),
        Binding("1", "rate(1)", "Rate", key_display="1-5", tooltip="rate with stars"),
        *(Binding(str(n), f"rate({n})", show=False) for n in range(2, STARS + 1)),
        key("profile.like", "l", "like", "Like", "like, without a number"),
        key("profile.unrate", "x", "unrate", "Unrate", "take back; undo keeps it"),
        key("profile.forget", "X", "forget", "Forget for good", "past undo", show=False),
        key("profile.rated", "o", "flip_rated", "Rated", "list only the rated, or all"),
        key("profile.undo", "u", "undo", "Undo", "undo the last edit"),
        Binding("ctrl+z", "undo", "Undo", show=False),
        Binding("escape", "titles", "To the titles", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._only_rated = False
        self._removed: str | None = None  # the last edit took this rating back

    def body(self) -> ComposeResult:
        with Horizontal(id="profile"):
            with Vertical(id="catalog"):
                yield Input(placeholder="search the catalog", id="search", select_on_focus=False)
                yield Static("", id="listed", markup=False)
                yield TitleList(id="titles")
            with ScrollPart(id="person"):
                yield Static("Your profile", classes="heading")
                yield ProfileBars()
                yield Static("", id="summary", markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "profile", self._show_profile)
        self.query_one(Input).focus()

    @work(exclusive=True, group="search")
    async def search(self, text: str, *, only_rated: bool) -> None:
        """List at most 500 matches of the catalog for a text, best first, and say how many; without
        a catalog, the rated titles that have all its words; with only_rated, all rated titles.
        """

        def matches_of(device: Device) -> Sequence[Match]:
            if device.titles.connection is not None and not only_rated:
                return device.titles.search(text, LIMIT)
            words = text.casefold().split() if not only_rated else ()
            return [
                Match(rated.label, rated=rated)
                for rated in device.profile.ratings()
                if all(word in rated.label.casefold() for word in words)
            ]

        matches = await self.desk.on_device(matches_of)
        if isinstance(matches, Problem):
            self.desk.refuse(matches)
            return
        titles = self.query_one(TitleList)
        # At the first title it is the same, and to compare hundreds takes longer than to show some.
        keep = only_rated or (titles.cursor > 0 and titles.lists(matches))
        titles.show(matches, keep_cursor=keep)
        rated, connection = bool(self.desk.profile[0]), self.desk.connection
        listed = _listed_text(connection, len(matches), rated=rated, only_rated=only_rated)
        self.query_one("#listed", Static).update(listed, layout=False)  # one line, always

    def on_input_changed(self, event: Input.Changed) -> None:
        self._only_rated = False
        self._search_again()

    def on_input_submitted(self) -> None:
        self.action_titles()

    def on_title_list_starred(self, message: TitleList.Starred) -> None:
        label, rating = message.label, message.rating
        self._removed = label if rating is None else None
        if rating is None:
            self.desk.edit(lambda device: device.profile.unrate(label), REMOVED)
        else:
            self.desk.edit(lambda device: device.profile.rate(label, rating))

    def on_title_list_liked(self, message: TitleList.Liked) -> None:
        self._removed = None
        self.desk.edit(lambda device: device.profile.like(message.label))

    def on_key(self, event: Key) -> None:
        if event.key == "down" and isinstance(self.focused, Input):
            self.action_titles()

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        super()._show_connection(connection)
        if isinstance(connection, Connection):
            scale = Stars(connection.lowest_rating, connection.highest_rating)
            self.query_one(TitleList).stars = scale
            self.query_one(Input).placeholder = f"search {connection.n_items} titles"
        elif isinstance(connection, Problem):
            self.query_one(Input).placeholder = "search your ratings"
        self._show_profile(self.desk.profile)

    def _show_profile(self, profile: Profile) -> None:
        ratings, bars = profile
        connected = isinstance(self.desk.connection, Connection)
        count, unknown = len(ratings), sum(not rated.known for rated in ratings)
        why_none, summary = "", f"{RATE_A_FEW if connected else RATE_LATER}\n"
        if not count:
            why_none = "Nothing is rated yet."
        else:
            summary = f"{count} title{'s' * (count != 1)} rated. It stays on this device.\n"
            if not connected:
                why_none = "Bars need the catalog, which is not here."
            elif unknown == count:
                why_none = NONE_KNOWN
            if unknown == count:
                summary += "They are kept, and unused.\n"
            elif unknown:
                summary += f"{unknown} of them are not in this catalog: kept, and unused.\n"
        self.query_one(ProfileBars).show(bars, why_none)
        self.query_one("#summary", Static).update(summary)
        self._search_again()

    def _search_again(self) -> None:
        if self.desk.device is not None:
            self.search(self.query_one(Input).value, only_rated=self._only_rated)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for "search" while any Input has the focus, else True."""
        return not (action == "search" and isinstance(self.focused, Input))

    def action_rate(self, stars: int) -> None:
        self.query_one(TitleList).action_rate(stars)

    def action_like(self) -> None:
        self.query_one(TitleList).action_like()

    def action_unrate(self) -> None:
        self.query_one(TitleList).action_unrate()

    @work(group="question")
    async def action_forget(self) -> None:
        # What was taken back just now, or else the title that is marked.
        label = self._removed or self.query_one(TitleList).chosen
        if label is None:
            return
        words = f"Forget {label} for good? No undo brings its rating back, and past answers that "
        question = ConfirmScreen(f"{words}name it are forgotten too.", "Forget")
        if await self.app.push_screen_wait(question):
            self._removed = None

            def forget(device: Device) -> str:
                titles, answers = device.profile.forget([label])
                if not titles and not answers:
                    return "Nothing of it was kept here."
                past = f"{answers} past answer{'s' * (answers != 1)}"
                return f"Forgotten for good, and {past} with it."

            self.desk.edit(forget)

    def action_search(self) -> None:
        self.query_one(Input).focus()

    def action_titles(self) -> None:
        self.query_one(TitleList).focus()

    def action_flip_rated(self) -> None:
        self._only_rated = not self._only_rated
        self._search_again()

    def action_undo(self) -> None:
        self._removed = None
        self.desk.edit(
            lambda device: "Undone." if device.profile.undo() else "There is nothing to undo."
        )
