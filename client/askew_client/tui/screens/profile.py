"""Profile: what the device knows of the person, all of it private."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.widgets import Input, Static

from askew_client.tui import profile_desk, profile_words
from askew_client.tui.messages import Found, ProfileView, Refused
from askew_client.tui.screens.confirm import ConfirmScreen
from askew_client.tui.screens.frame import FrameScreen, typed
from askew_client.tui.widgets.profile_bars import ProfileBars
from askew_client.tui.widgets.search_field import SearchField
from askew_client.tui.widgets.stars import STARS, Stars
from askew_client.tui.widgets.title_list import TitleList
from askew_client.tui.widgets.window import Window
from askew_client.views.answers import Connection
from askew_client.views.problems import Setback


class ProfileScreen(FrameScreen):
    """Search, rate, and watch the profile move."""

    MODE = "profile"
    TITLE = "Profile"
    PURPOSE = profile_words.PURPOSE
    KEYS = profile_words.KEYS
    BINDINGS = [
        *typed(Binding("1", "rate(1)", "Rate", key_display="1-5", id="rate-1")),
        *(
            each
            for n in range(2, STARS + 1)
            for each in typed(Binding(str(n), f"rate({n})", "Rate", show=False, id=f"rate-{n}"))
        ),
        *typed(Binding("l", "like", "Like", id="like")),
        *typed(Binding("x", "unrate", "Unrate", id="unrate")),
        Binding("X,alt+shift+x", "forget", "Forget for good", show=False, id="forget"),
        Binding("slash", "search", "Search", key_display="/", id="search"),
        Binding("o", "flip_rated", "Rated", id="only-rated"),
        Binding("alt+o", "flip_rated", "Rated", show=False, id="only-rated"),
        *typed(Binding("u", "undo", "Undo", id="undo")),
        Binding("ctrl+z", "undo", "Undo", show=False, id="undo"),
        Binding("escape", "titles", "To the titles", show=False, id="titles"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._only_rated = False
        self._removed: str | None = None  # the last edit took this rating back

    def body(self) -> ComposeResult:
        """Titles on the left, the person on the right."""
        with Horizontal(id="profile"):
            with Vertical(id="catalog"):
                yield SearchField(
                    placeholder="search the catalog", id="search", select_on_focus=False
                )
                yield Static("", id="listed", markup=False)
                yield TitleList(id="titles")
            with Window(id="person"):
                yield Static("Your profile", classes="heading")
                yield ProfileBars()
                yield Static("", id="summary", markup=False)
                yield Static("", id="lately", markup=False)

    def on_mount(self) -> None:
        """Type at once."""
        self.watch(self.app, "profile", self._show_profile)
        self.query_one(Input).focus()

    # Workers

    @work(exclusive=True, group="search")
    async def search(self, text: str, *, only_rated: bool) -> None:
        """Look through the catalog in a thread."""
        outcome = await self.desk.on_device(
            lambda device: profile_desk.found(device, text, only_rated=only_rated)
        )
        self.post_message(Refused(outcome) if isinstance(outcome, Setback) else Found(outcome))

    # Messages

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search as the person types."""
        self._only_rated = False
        self._search_again()

    def on_input_submitted(self) -> None:
        """Enter goes to what was found."""
        self.action_titles()

    def on_found(self, message: Found) -> None:
        """Show what was found."""
        titles = self.query_one(TitleList)
        # At the first title it is the same, and to compare hundreds takes longer than to show some.
        keep = self._only_rated or (titles.cursor > 0 and titles.lists(message.matches))
        titles.show(message.matches, keep_cursor=keep)
        count, desk, only_rated = len(message.matches), self.desk, self._only_rated
        listed = profile_words.listed(desk.profile, desk.connection, count, only_rated=only_rated)
        self.query_one("#listed", Static).update(listed, layout=False)  # one line, always

    def on_title_list_starred(self, message: TitleList.Starred) -> None:
        """Rate, or take a rating back."""
        label, rating = message.label, message.rating
        self._removed = label if rating is None else None
        if rating is None:
            self.desk.edit(lambda device: device.unrate(label), profile_words.REMOVED)
        else:
            self.desk.edit(lambda device: device.rate(label, rating))

    def on_title_list_liked(self, message: TitleList.Liked) -> None:
        """Like."""
        self._removed = None
        self.desk.edit(lambda device: device.like(message.label))

    def on_key(self, event: Key) -> None:
        """The down arrow leaves the search for what it found."""
        if event.key == "down" and isinstance(self.focused, Input):
            self.action_titles()

    # State

    def _show_connection(self, connection: Connection | Setback | None) -> None:
        super()._show_connection(connection)
        if isinstance(connection, Connection):
            scale = Stars(connection.lowest_rating, connection.highest_rating)
            self.query_one(TitleList).stars = scale
            self.query_one(Input).placeholder = f"search {connection.n_items} titles"
        elif isinstance(connection, Setback):
            self.query_one(Input).placeholder = "search your ratings"
        self._show_profile(self.desk.profile)

    def _show_profile(self, profile: ProfileView) -> None:
        connected = isinstance(self.desk.connection, Connection)
        self.query_one(ProfileBars).show(
            profile.bars, profile_words.why_no_bars(profile, connected=connected)
        )
        self.query_one("#summary", Static).update(
            profile_words.summary(profile, connected=connected)
        )
        self.query_one("#lately", Static).update(
            profile_words.lately(profile, self.query_one(TitleList).stars)
        )
        self._search_again()

    def _search_again(self) -> None:
        if self.desk.companion is not None:
            self.search(self.query_one(Input).value, only_rated=self._only_rated)

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Who types a search is there already."""
        return not (action == "search" and isinstance(self.focused, Input))

    def action_rate(self, stars: int) -> None:
        """Rate the title that is marked, also while a search is typed."""
        self.query_one(TitleList).action_rate(stars)

    def action_like(self) -> None:
        """Like it."""
        self.query_one(TitleList).action_like()

    def action_unrate(self) -> None:
        """Take its rating back."""
        self.query_one(TitleList).action_unrate()

    def action_forget(self) -> None:
        """Forget for good what was taken back just now, or else the title that is marked."""
        label = self._removed or self.query_one(TitleList).chosen
        if label is not None:
            question = ConfirmScreen(profile_words.forget_title(label), "Forget")
            self.app.push_screen(question, partial(self._forget_if, label))

    def _forget_if(self, label: str, sure: bool | None) -> None:
        if sure:
            self._removed = None
            self.desk.edit(lambda device: profile_words.forgotten(device.forget([label])))

    def action_search(self) -> None:
        """Type a search."""
        self.query_one(Input).focus()

    def action_titles(self) -> None:
        """Go to the titles."""
        self.query_one(TitleList).focus()

    def action_flip_rated(self) -> None:
        """Only what is rated, or everything."""
        self._only_rated = not self._only_rated
        self._search_again()

    def action_undo(self) -> None:
        """Take the last edit back."""
        self._removed = None
        self.desk.edit(profile_desk.undo)

    def commands(self) -> Iterable[SystemCommand]:
        """For the palette."""
        yield SystemCommand("Search the catalog", "Type part of a title", self.action_search)
        yield SystemCommand("Forget for good", "The marked title, past undo", self.action_forget)
        yield SystemCommand("Undo", "Take the last edit of the profile back", self.action_undo)
        yield SystemCommand("Only rated", "List only what you rated", self.action_flip_rated)
