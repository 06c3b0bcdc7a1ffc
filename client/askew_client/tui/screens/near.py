"""Near: a map of you and of what a server can know, and results in an order of your own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.binding import Binding
from textual.widgets import Input

from askew.errors import AskewError
from askew_client.settings.ranges import LEVELS
from askew_client.settings.towns import named_towns
from askew_client.tui import near_desk, near_words
from askew_client.tui.messages import Refused
from askew_client.tui.near_desk import Outlook, Ranked
from askew_client.tui.near_messages import Looked, Met, Ordered, PlacesRead
from askew_client.tui.screens.near_view import NearView
from askew_client.tui.widgets.choice import Choice
from askew_client.tui.widgets.notice import Notice
from askew_client.tui.widgets.slider import Slider
from askew_client.tui.wishes_line import wishes_of
from askew_client.views.answers import Connection
from askew_client.views.place_map import Scene
from askew_client.views.problems import Setback, setback_of

if TYPE_CHECKING:
    from askew.protocol.metric_card import CollectionCard
    from askew_client.near.wishes import Wishes


class NearScreen(NearView):
    """What came and what was typed, and what follows from it."""

    MODE = "near"
    TITLE = "Near"
    PURPOSE = near_words.PURPOSE
    KEYS = near_words.KEYS
    BINDINGS = [
        Binding("a,enter", "ask", "Ask", key_display="a", id="ask"),
        Binding("escape", "stop", "Stop asking", show=False, id="stop"),
        Binding("n", "add", "New place", id="add-place"),
        Binding("m", "relocate", "Move", id="move-place"),
        Binding("f", "forget", "Forget", id="forget-place"),
        Binding("slash", "wish", "Wishes", key_display="/", id="wishes"),
        Binding("w", "apply", "Use these", id="use"),
    ]

    def on_mount(self) -> None:
        """Everything comes by message, once the device is open."""
        self.query_one("#pick").display = False
        self.query_one("#place").focus()

    # Messages

    def on_screen_resume(self) -> None:
        """Another screen may have changed what this one shows."""
        self.catch_up()

    def catch_up(self) -> None:
        """Bring settings and places as they are, and the collections once the server is there."""
        companion = self.desk.companion
        if companion is None or not self.is_current:
            return
        self.query_one("#level", Choice).offer(tuple(LEVELS), companion.settings.level)
        self.query_one("#size", Slider).set_value(Fraction(companion.settings.near_k))
        self.read()
        if companion.nearby.card is None:
            self.meet(companion)
        else:
            self._offer(companion.nearby.card.collections)

    def _tell(self, connection: Connection | Setback | None) -> None:
        """What is wrong with a catalog is told on the screens that need one."""
        self.query_one(Notice).hush()

    def _show_connection(self, connection: Connection | Setback | None) -> None:
        """A catalog is no matter here, but a new try to connect is one for this screen too."""
        self.catch_up()

    def on_met(self, message: Met) -> None:
        """Offer the collections."""
        if isinstance(message.outcome, Setback):
            self.query_one(Notice).tell(message.outcome)
        else:
            self.query_one(Notice).hush()
            self._offer(message.outcome)

    def _offer(self, collections: Sequence[CollectionCard]) -> None:
        self.query_one("#collection", Choice).offer([each.name for each in collections])

    def on_places_read(self, message: PlacesRead) -> None:
        """Offer the places, and look at the chosen one."""
        if isinstance(message.outcome, Setback):
            self.query_one(Notice).tell(message.outcome)
            return
        self.places = message.outcome
        self.query_one("#place", Choice).offer([each.name for each in self.places])
        if not self.places:
            self.show_scene(Scene(towns=named_towns()), near_words.NO_PLACE)
        elif self.ranked is None:
            self._look()

    def on_looked(self, message: Looked) -> None:
        """Show what is known before a question, in place of an answer."""
        match message.outcome:
            case Setback() as setback:
                self.query_one(Notice).tell(setback)
            case Outlook(scene, words):
                self.show_answer(None)
                self.show_scene(scene, words)

    def on_ordered(self, message: Ordered) -> None:
        """Show what became of the question."""
        if not (message.again or self.has_class("-waiting")):
            return
        self.set_class(False, "-waiting")
        match message.outcome:
            case Setback() as setback:
                self.query_one(Notice).tell(setback)
                self.say("no answer this time")
            case Ranked(answer, scene, words) as ranked:
                self.show_answer(ranked)
                self.show_scene(scene, words)
                said = near_words.RANKED_AGAIN if message.again else ""
                self.say(said + near_words.answered(answer))
        self.desk.read_budget()

    def on_choice_moved(self, message: Choice.Moved) -> None:
        """Another place or level is looked at; another collection waits for a question."""
        if message.choice.id != "collection":
            self._look(what_if=message.choice.id == "level")

    def on_slider_moved(self) -> None:
        """Look at what another k would give."""
        self._look()

    def on_input_submitted(self) -> None:
        """New wishes rank what is there anew; without results they wait."""
        wishes = self._wishes()
        if wishes is not None and self.ranked is not None:
            self.order_again(self.ranked, wishes)

    def on_button_pressed(self) -> None:
        """The button is the same as the key."""
        self.action_ask()

    # Actions

    def action_ask(self) -> None:
        """Ask from the chosen place, for the settings' number of results."""
        companion, wishes = self.desk.companion, self._wishes()
        place = self.place
        collection = self.query_one("#collection", Choice).name_chosen
        if companion is None or place is None or collection is None or wishes is None:
            self.say("add a place first: n" if place is None else "no collection to ask yet")
            return
        self.query_one(Notice).hush()
        self.say("asking ...  Esc stops")
        self.set_class(True, "-waiting")
        self.ask(companion, collection, place.name, wishes)

    def action_stop(self) -> None:
        """Stop waiting."""
        if self.has_class("-waiting"):
            self.workers.cancel_group(self, "ask")
            self.set_class(False, "-waiting")
            self.say("stopped; the place's signal stays the same")

    def leave(self) -> None:
        """Another screen: a question under way is stopped."""
        self.action_stop()

    def action_wish(self) -> None:
        """Type wishes."""
        self.query_one("#wishes", Input).focus()

    def action_apply(self) -> None:
        """Use this level for places to come, and this k for questions to come."""
        level, k = self._chosen()
        typed = {"level": level, "near_k": str(k)}
        self.keep(partial(near_desk.use, file=self.desk.file, typed=typed))

    # What it shows

    def _look(self, *, what_if: bool = False) -> None:
        """Ask the device what can be known of the chosen place with these settings."""
        if self.place is not None:
            level, k = self._chosen()
            self.look(self.place.name, level, k, what_if=what_if)

    def _chosen(self) -> tuple[str, int]:
        level = self.query_one("#level", Choice).name_chosen
        return str(level), int(self.query_one("#size", Slider).value)

    def _wishes(self) -> Wishes | None:
        """What was typed, or None after saying what is wrong with it."""
        try:
            return wishes_of(self.query_one("#wishes", Input).value)
        except AskewError as error:
            self.post_message(Refused(setback_of(error)))
            return None

    def commands(self) -> Iterable[SystemCommand]:
        """For the palette."""
        yield SystemCommand("Ask nearby", "Send the place's signal", self.action_ask)
        yield from super().commands()
