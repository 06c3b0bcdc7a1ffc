"""Near: a map of you and of what a server can know, and results in an order of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from askew.errors import AskewError, QuoteVoid
from askew.spaces.map import Position
from askew_client.near.preferences import EXAMPLE, preferences_of
from askew_client.settings.regions import named_towns
from askew_client.settings.settings import LEVELS
from askew_client.tui.desk import EditRefused, outcome_of
from askew_client.tui.screens.dialogs import ConfirmScreen
from askew_client.tui.screens.frame import FrameScreen
from askew_client.tui.screens.place import PlaceScreen
from askew_client.tui.widgets.controls import NameChoice, Slider
from askew_client.tui.widgets.header import Notice, ScrollPart
from askew_client.tui.widgets.place_map import PlaceMap
from askew_client.tui.widgets.results import NearList, distance
from askew_client.views.answers import Connection, NearAnswer, PlaceView
from askew_client.views.place_map import (
    Scene,
    legend,
)
from askew_client.views.problems import Problem, problem_of
from askew_client.views.quote import Quote

if TYPE_CHECKING:
    from askew.protocol.metric_card import CollectionCard
    from askew_client.device.device import Device
    from askew_client.near.preferences import Preferences


from askew_client.tui.screens.near_work import (
    CollectionsRead,
    Looked,
    Ordered,
    Outlook,
    PlaceDraft,
    PlaceKept,
    PlacesRead,
    Priced,
    Ranked,
    forget_place,
    keep_place,
    outlook_of,
    places_on_map,
    prices_now,
    ranked_again,
    ranked_answer,
    use_level,
)

NO_PLACE: Final = (
    "Add a place with n. It gets one noisy position, drawn and charged once; every server, "
    "collection and month gets that one, and no other."
)
NONE_PASSES: Final = (
    "No result passes your preferences. Nothing is asked again for that: the server would learn "
    "of them."
)
RANKED_AGAIN: Final = "nothing was sent for this; "
FORGET: Final = (
    "Forget {name}? It is erased here. Servers keep its noisy position, and its cost stays spent."
)
SIZES: Final = tuple(map(Fraction, (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 64)))


class NearScreen(FrameScreen):
    """The map on the left; choices, words and results on the right."""

    MODE = "near"
    TITLE = "Near"
    PURPOSE = (
        "What is near a place of yours. A place gets one noisy position when you add it, drawn and "
        "charged once, and every server gets that one. The map shows you ●, the signal ◆ and what "
        "a server can know from it: the brighter the map, the likelier you are there. Results "
        "come whole, and this device ranks them by distance and by your preferences; neither your "
        "place nor your preferences are ever sent. Level and k are what-if until you use them; "
        "places that you have keep their signal."
    )
    KEYS = (
        ("a, Enter", "ask"),
        ("Esc", "stop waiting"),
        ("n", "add a place"),
        ("m", "move it: a new signal, and a new charge"),
        ("f", "forget it: refunds nothing"),
        ("/", "preferences: they rank anew, and are never sent"),
        ("w", "use this level and k from now on"),
        ("← →", "another place, collection, level or k"),
    )
    BINDINGS = [
        Binding("a,enter", "ask", "Ask", key_display="a", id="ask"),
        Binding("escape", "stop", "Stop asking", show=False, id="stop"),
        Binding("n", "add", "New place", id="add-place"),
        Binding("m", "relocate", "Move", id="move-place"),
        Binding("f", "forget", "Forget", id="forget-place"),
        Binding("slash", "prefer", "Prefer", key_display="/", id="preferences"),
        Binding("w", "apply", "Use these", id="use"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.places: tuple[PlaceView, ...] = ()
        self.ranked: Ranked | None = None

    def body(self) -> ComposeResult:
        """Two columns, and the row of the button."""
        with Horizontal(id="near"):
            with Vertical(id="ground"):
                yield PlaceMap()
                yield Static("", id="legend", markup=False)
            with ScrollPart(id="side"):
                yield NameChoice("place       ", id="place")
                yield NameChoice("collection  ", id="collection")
                yield NameChoice("level       ", tuple(LEVELS), id="level")
                yield Slider("k ", SIZES, Fraction(20), id="size")
                yield Input(placeholder=EXAMPLE, id="preferences")
                yield Static("", id="pick", markup=False)
                yield NearList()
                yield Static("", id="words", markup=False)
        with Horizontal(id="bar"):
            yield Button("Ask", id="ask", variant="primary")
            yield Static("", id="state", markup=False)

    def on_mount(self) -> None:
        """Everything comes by message, once the device is open."""
        self.query_one("#pick").display = False
        self.query_one("#place").focus()

    @property
    def place(self) -> PlaceView | None:
        """The chosen place, if there is one."""
        name = self.query_one("#place", NameChoice).name_chosen
        return next((each for each in self.places if each.name == name), None)

    # Workers

    @work(exclusive=True, group="places")
    async def read(self) -> None:
        """Bring the named places."""
        self.post_message(PlacesRead(await self.desk.on_device(places_on_map)))

    @work(exclusive=True, group="meet")
    async def meet(self, device: Device) -> None:
        """Bring the collections of the server."""
        found = await outcome_of(device.nearby.connect())
        self.post_message(
            CollectionsRead(found if isinstance(found, Problem) else found.collections)
        )

    @work(exclusive=True, group="look")
    async def look(self, name: str, level: str, k: int, *, what_if: bool) -> None:
        """Bring what can be known before a question. A newer choice takes an older one's place."""
        act = partial(outlook_of, name=name, level=level, k=k, what_if=what_if)
        self.post_message(Looked(await self.desk.on_device(act)))

    @work(exclusive=True, group="ask")
    async def ask(
        self, device: Device, collection: str, place: str, preferences: Preferences
    ) -> None:
        """Ask, and bring the answer in the person's order. Asking again stops the one before."""
        answer: NearAnswer | Problem
        quote = await outcome_of(device.nearby.quote(collection, place))
        if isinstance(quote, Quote) and not quote.fresh:  # as it says: sent again, for nothing
            answer = await outcome_of(
                device.nearby.ask(collection, place, preferences=preferences, quoted=quote)
            )
        elif isinstance(quote, Quote):
            answer = problem_of(QuoteVoid("this place's signal would be drawn anew"))
        else:
            answer = quote
        if isinstance(answer, Problem):
            self.post_message(Ordered(answer))
        else:
            act = partial(ranked_answer, answer=answer)
            self.post_message(Ordered(await self.desk.on_device(act)))

    @work(exclusive=True, group="order")
    async def order_again(self, ranked: Ranked, preferences: Preferences) -> None:
        """Bring the same results in another order; nothing is sent."""
        act = partial(ranked_again, answer=ranked.answer, preferences=preferences)
        self.post_message(Ordered(await self.desk.on_device(act), again=True))

    @work(exclusive=True, group="price")
    async def price(self, *, moves: bool) -> None:
        """Bring what a position would cost, for the dialog."""
        self.post_message(Priced(await self.desk.on_device(prices_now), moves))

    @work(group="keep")
    async def keep(self, act: Callable[[Device], str], name: str = "") -> None:
        """Add, move or forget a place, or use other settings, and say so. name: of a place that is
        drawn.
        """
        self.post_message(PlaceKept(await self.desk.on_device(act), name))

    # Messages

    def on_screen_resume(self) -> None:
        """Another screen may have changed what this one shows."""
        self.catch_up()

    def catch_up(self) -> None:
        """Bring settings and places as they are, and the collections once the server is there."""
        device = self.desk.device
        if device is None or not self.is_current:
            return
        self.query_one("#level", NameChoice).offer(tuple(LEVELS), device.settings.level)
        self.query_one("#size", Slider).set_value(Fraction(device.settings.near_k))
        self.read()
        if device.nearby.card is None:
            self.meet(device)
        else:
            self._offer(device.nearby.card.collections)

    def _tell(self, connection: Connection | Problem | None) -> None:
        """What is wrong with a catalog is told on the screens that need one."""
        self.query_one(Notice).hush()

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        """A catalog is no matter here, but a new try to connect is one for this screen too."""
        self.catch_up()

    def on_collections_read(self, message: CollectionsRead) -> None:
        """Offer the collections."""
        if isinstance(message.outcome, Problem):
            self.query_one(Notice).tell(message.outcome)
        else:
            self.query_one(Notice).hush()
            self._offer(message.outcome)

    def _offer(self, collections: Sequence[CollectionCard]) -> None:
        self.query_one("#collection", NameChoice).offer([each.name for each in collections])

    def on_places_read(self, message: PlacesRead) -> None:
        """Offer the places, and look at the chosen one."""
        if isinstance(message.outcome, Problem):
            self.query_one(Notice).tell(message.outcome)
            return
        self.places = message.outcome
        self.query_one("#place", NameChoice).offer([each.name for each in self.places])
        if not self.places:
            self.show_scene(Scene(towns=named_towns()), NO_PLACE)
        elif self.ranked is None:
            self._look()

    def on_looked(self, message: Looked) -> None:
        """Show what is known before a question, in place of an answer."""
        match message.outcome:
            case Problem() as problem:
                self.query_one(Notice).tell(problem)
            case Outlook(scene, words):
                self.show_answer(None)
                self.show_scene(scene, words)

    def on_ordered(self, message: Ordered) -> None:
        """Show what became of the question."""
        if not (message.again or self.has_class("-waiting")):
            return
        self.set_class(False, "-waiting")
        match message.outcome:
            case Problem() as problem:
                self.query_one(Notice).tell(problem)
                self.say("no answer this time")
            case Ranked(answer, scene, words) as ranked:
                self.show_answer(ranked)
                self.show_scene(scene, words)
                said = RANKED_AGAIN if message.again else ""
                self.say(said + answered_words(answer))
        self.desk.read_budget()

    def on_name_choice_moved(self, message: NameChoice.Moved) -> None:
        """Another place or level is looked at; another collection waits for a question."""
        if message.choice.id != "collection":
            self._look(what_if=message.choice.id == "level")

    def on_slider_moved(self) -> None:
        """Look at what another k would give."""
        self._look()

    def on_input_submitted(self) -> None:
        """New preferences rank what is there anew; without results they wait."""
        preferences = self._preferences()
        if preferences is not None and self.ranked is not None:
            self.order_again(self.ranked, preferences)

    def on_button_pressed(self) -> None:
        """The button is the same as the key."""
        self.action_ask()

    def on_priced(self, message: Priced) -> None:
        """Open the dialog, which says what it will cost."""
        device = self.desk.device
        if isinstance(message.outcome, Problem):
            self.post_message(EditRefused(message.outcome))
        elif device is not None:
            moved = self.place if message.moves else None
            dialog = PlaceScreen(
                name=None if moved is None else moved.name,
                start=None if moved is None else Position(*moved.true),
                region=device.settings.region,
                prices=message.outcome,
                towns=named_towns(),
            )
            self.app.push_screen(dialog, partial(self._keep, moves=message.moves))

    def on_place_kept(self, message: PlaceKept) -> None:
        """Places or settings are others now."""
        if isinstance(message.outcome, Problem):
            self.post_message(EditRefused(message.outcome))
        else:
            self.notify(message.outcome, markup=False)
            self.show_answer(None)
            if message.name:  # what was named is what one asks from next
                self.query_one("#place", NameChoice).offer([message.name], message.name)
        self.catch_up()
        self.desk.read_budget()

    # Actions

    def action_ask(self) -> None:
        """Ask from the chosen place, for the settings' number of results."""
        device, preferences = self.desk.device, self._preferences()
        place = self.place
        collection = self.query_one("#collection", NameChoice).name_chosen
        if device is None or place is None or collection is None or preferences is None:
            self.say("add a place first: n" if place is None else "no collection to ask yet")
            return
        self.query_one(Notice).hush()
        self.say("asking ...  Esc stops")
        self.set_class(True, "-waiting")
        self.ask(device, collection, place.name, preferences)

    def action_stop(self) -> None:
        """Stop waiting."""
        if self.has_class("-waiting"):
            self.workers.cancel_group(self, "ask")
            self.set_class(False, "-waiting")
            self.say("stopped; the place's signal stays the same")

    def leave(self) -> None:
        """Another screen: a question under way is stopped."""
        self.action_stop()

    def action_prefer(self) -> None:
        """Type preferences."""
        self.query_one("#preferences", Input).focus()

    def action_apply(self) -> None:
        """Use this level for places to come, and this k for questions to come."""
        level, k = self._chosen()
        typed = {"level": level, "near_k": str(k)}
        self.keep(partial(use_level, file=self.desk.file, typed=typed))

    def action_add(self) -> None:
        """A place more."""
        self.price(moves=False)

    def action_relocate(self) -> None:
        """The chosen place is elsewhere."""
        if self.place is not None:
            self.price(moves=True)

    def _keep(self, draft: PlaceDraft | None, *, moves: bool) -> None:
        if draft is not None:
            act = partial(keep_place, draft=draft, file=self.desk.file, moves=moves)
            self.keep(act, draft.name)

    def action_forget(self) -> None:
        """Forget the chosen place, after a second look."""
        if self.place is not None:
            name = self.place.name
            question = FORGET.format(name=name)
            then = partial(self._forget, name)
            self.app.push_screen(ConfirmScreen(question, "Forget"), then)

    def _forget(self, name: str, sure: bool | None) -> None:
        if sure:
            self.keep(partial(forget_place, name=name))

    # What it shows

    def show_answer(self, ranked: Ranked | None) -> None:
        """Show results and a pick, or none."""
        self.ranked = ranked
        self.query_one(NearList).show(None if ranked is None else ranked.answer)
        pick = self.query_one("#pick", Static)
        pick.display = ranked is not None
        pick.update(Text() if ranked is None else pick_words(ranked.answer))

    def show_scene(self, scene: Scene, words: str) -> None:
        """Show a map, and what it means."""
        self.query_one(PlaceMap).show(scene)
        legend = legend_words(scene, shaded=self.app.no_color)
        self.query_one("#legend", Static).update(legend)
        self.query_one("#words", Static).update(words)

    def say(self, text: str) -> None:
        """Say what goes on."""
        self.query_one("#state", Static).update(text)

    def _look(self, *, what_if: bool = False) -> None:
        """Ask the device what can be known of the chosen place with these settings."""
        if self.place is not None:
            level, k = self._chosen()
            self.look(self.place.name, level, k, what_if=what_if)

    def _chosen(self) -> tuple[str, int]:
        level = self.query_one("#level", NameChoice).name_chosen
        return str(level), int(self.query_one("#size", Slider).value)

    def _preferences(self) -> Preferences | None:
        """What was typed, or None after saying what is wrong with it."""
        try:
            return preferences_of(self.query_one("#preferences", Input).value)
        except AskewError as error:
            self.post_message(EditRefused(problem_of(error)))
            return None

    def commands(self) -> Iterable[SystemCommand]:
        """For the palette."""
        yield SystemCommand("Ask nearby", "Send the place's signal", self.action_ask)
        yield SystemCommand("Add a place", "Draw one noisy position, for good", self.action_add)
        yield SystemCommand("Move the place", "A new signal, a new charge", self.action_relocate)
        yield SystemCommand("Forget the place", "Refunds nothing", self.action_forget)


def answered_words(answer: NearAnswer) -> str:
    """Whose results they are, and what preferences they do not know."""
    missing = ", ".join(answer.missing)
    unknown = f"; your preferences name {missing}, which this collection does not have"
    return f"{answer.source}; ranked here{unknown if missing else ''}"


def pick_words(answer: NearAnswer) -> Text:
    """The pick, or that there is none."""
    best, text = answer.pick, Text()
    if best is None or answer.none_passes:
        return text.append(NONE_PASSES)
    text.append("Your pick, never sent\n", "italic")
    text.append(f"{best.title}, ", "bold")
    return text.append(f"{distance(best.distance)} {answer.unit} from you")


def legend_words(scene: Scene, *, shaded: bool) -> str:
    """What the signs of a map mean."""
    return "  ".join(legend(scene, shaded=shaded))
