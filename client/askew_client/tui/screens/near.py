"""Near: a map of you and of what a server can know, and results in an order of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import log
from typing import TYPE_CHECKING, Final, cast

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Select, Static

from askew.errors import AskewError, NotShown, OtherKind, PlaceError
from askew.protocol.cards import ALL
from askew.spaces.map import Position
from askew_client.near.gazetteer import named_towns
from askew_client.near.pick import EXAMPLE, preferences_of
from askew_client.near.sources import landing
from askew_client.settings.regions import corners_of
from askew_client.settings.settings import LEVELS
from askew_client.tui.desk import use_settings
from askew_client.tui.lists import NearList, distance
from askew_client.tui.pictures import PlaceMap
from askew_client.tui.screens.frame import (
    ConfirmScreen,
    FrameScreen,
    Notice,
    ScrollPart,
    choice,
    chosen_name,
    chosen_number,
    key,
    offer,
)
from askew_client.tui.screens.place import PlaceDraft, PlaceScreen, sentences
from askew_client.views.answers import Connection, NearAnswer, PlaceView
from askew_client.views.cost import ODDS, Cost, times
from askew_client.views.place_map import (
    PlaceHeatMap,
    Scene,
    Town,
    legend,
    likeliest,
    people_within,
)
from askew_client.views.problems import Problem, problem_of

if TYPE_CHECKING:
    from askew.protocol.cards import MetricCard
    from askew.spaces.map import MapNoise
    from askew_client.near.pick import Preferences
    from askew_client.opening import Device
    from askew_client.settings.config import ConfigFile
    from askew_client.settings.settings import Level

NOT_LOADED: Final = "not loaded yet: the places of this device, and the server's collections"
NO_PLACE: Final = (
    "Add a place with n. It gets one noisy position, drawn and charged once; every server, "
    "collection and month gets that one, and no other."
)
NONE_PASSES: Final = (
    "No result passes your preferences. Nothing is asked again for that: the server would learn "
    "of them."
)
FORGET: Final = (
    "Forget {name}? It is erased here. Servers keep its noisy position, and its cost stays spent."
)
BY_BYTES: Final = Fraction(0)  # as many results as about 4 kB of the chosen collection hold
SIZES: Final = tuple(map(Fraction, (0, 1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 64)))


_LEAST_SHARE = 0.005  # of a guess that is named: less is 0 %


@dataclass(frozen=True, repr=False)
class Ranked:
    """An answer in the person's own order, its picture, and what it told and cost."""

    answer: NearAnswer
    scene: Scene
    words: str


class NearScreen(FrameScreen):
    """The map on the left; choices, words and results on the right."""

    MODE = "near"
    KEY = "F2"
    TITLE = "Near"
    SAYS = "What is near a place of yours, on a map"
    PURPOSE = (
        "What is near a place of yours. To add one draws and charges one noisy position, and every "
        "server gets that one. The map shows you ●, the noisy position ◆ and what a server can "
        "know from it: the brighter the map, the likelier you are there. "
        "This device ranks the results by distance and by your preferences; neither your place nor "
        "your preferences are ever sent. Level and k are what-if until you use them."
    )
    BINDINGS = [
        key("near.ask", "a,enter", "ask", "Ask", "ask", key_display="a"),
        key("near.stop", "escape", "stop", "Stop", "stop waiting", key_display="Esc", show=False),
        key("near.add", "n", "add", "New place", "add a place"),
        key("near.move", "m", "relocate", "Move", "a new noisy position, and a new charge"),
        key("near.forget", "f", "forget", "Forget", "forget it: refunds nothing"),
        key("near.prefer", "slash", "prefer", "Prefer", "rank anew; never sent", key_display="/"),
        key("near.use", "w", "apply", "Use these", "use this level and k from now on"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.places: tuple[PlaceView, ...] | None = None
        """Those of this device, once they were read."""
        self.found: dict[str, Ranked] = {}
        """What came of the last question, by collection."""
        self._first = True  # nobody has chosen this screen yet: the app opens on it

    def body(self) -> ComposeResult:
        yield Static(NOT_LOADED, id="loading", markup=False)
        with Horizontal(id="near"):
            with Vertical(id="ground"):
                yield PlaceMap()
                yield Static("", id="legend", markup=False)
            with ScrollPart(id="side"):
                yield choice("place", "place")
                yield choice("collection", "collection")
                yield choice("level", "level")
                yield choice("k, results", "size")
                yield Input(placeholder=EXAMPLE, id="preferences")
                yield Static("", id="pick", markup=False)
                yield NearList()
                yield Static("", id="words", markup=False)
        with Horizontal(id="bar"):
            yield Button("Ask", id="ask", variant="primary")
            yield Static("", id="state", markup=False)

    def on_mount(self) -> None:
        self.query_one("#pick").display = False

    @property
    def place(self) -> PlaceView | None:
        name = chosen_name(self, "place")
        return next((place for place in self.places or () if place.name == name), None)

    @work(exclusive=True, group="places")
    async def read(self) -> None:
        """Read the named places that are on a map, and offer them in the choice of places. Once the
        server's card is there too, show the region where there is no place, else, unless an answer
        stands there, `look` from the chosen one. A Problem is shown in the notice.
        """
        places = await self.desk.on_device(places_on_map)
        if isinstance(places, Problem):
            self.query_one(Notice).tell(places)
            return
        self.places = places
        offer(self, "place", [place.name for place in places], chosen_name(self, "place"))
        self._show_loaded()

    @work(exclusive=True, group="meet")
    async def meet(self) -> None:
        """Fetch the server's card and offer its collections; a server that has none leads to the
        screen of the profile instead, when the app starts. Another Problem is shown in the notice.
        """
        card = await self.desk.on_network(lambda device: device.nearby.connect())
        first, self._first = self._first, False
        other = isinstance(card, Problem) and isinstance(card.error, OtherKind)
        if first and other and self.is_current:
            await self.app.run_action("app.go('profile')")  # where this server's question begins
        elif isinstance(card, Problem):
            self.query_one(Notice).tell(card)
        else:
            self.query_one(Notice).hush()
            self._offer_collections(card)
            self._show_loaded()

    def _show_loaded(self) -> None:
        device = self.desk.device
        if self.places is None or device is None or device.nearby.card is None:
            return
        self.set_class(True, "-loaded")
        if not self.places:
            area = corners_of(device.settings.region)
            self.show_scene(Scene(area=area, towns=named_towns()), NO_PLACE)
        elif not self.found:
            self._look()

    @work(exclusive=True, group="look")
    async def look(self, name: str, level: str, k: int, collection: str, *, what_if: bool) -> None:
        """Show the map and the words from before a question, in place of an answer; a Problem is
        shown in the notice. A newer choice takes an older one's place.

        k: 0 is as many as the collection usually has. what_if: show where a signal of this level
        might land, and not the one of the place.
        """

        def outlook_now(device: Device) -> tuple[Scene, str]:
            results = k or device.nearby.usual_k(collection)
            return outlook_of(device, name, level, results, what_if=what_if)

        outlook = await self.desk.on_device(outlook_now)
        if isinstance(outlook, Problem):
            self.query_one(Notice).tell(outlook)
        else:
            self.show_answers(())
            self.show_scene(*outlook)

    @work(exclusive=True, group="ask")
    async def ask(self, collection: str, place: str, preferences: Preferences) -> None:
        """Ask a collection, or all at once by one question, and show the answers in the person's
        order. Asking again stops the one before. A question that would draw a fresh signal is not
        asked, which the notice says, as it says what goes wrong.
        """
        device = self.desk.device
        if device is None:
            return
        question = device.nearby.question(collection, place, preferences)
        cost = await self.desk.on_network(lambda device: device.asker.show(question))
        ranked: Sequence[Ranked] | Problem
        if isinstance(cost, Problem):
            ranked = cost
        elif cost.fresh:
            ranked = problem_of(NotShown("this place's noisy position would be drawn anew"))
        else:  # as it says: sent again, for nothing
            answers = await self.desk.on_network(
                lambda device: device.asker.ask(question, shown=cost)
            )
            if isinstance(answers, Problem):
                ranked = answers
            else:
                ranked = await self.desk.on_device(
                    lambda device: [_mapped(device, each) for each in answers]
                )
        self.set_class(False, "-waiting")
        self._show_ranked(ranked)

    @work(exclusive=True, group="order")
    async def order_again(self, preferences: Preferences) -> None:
        """Show the same results in the order of these preferences; nothing is sent."""
        answers = [each.answer for each in self.found.values()]

        def again(device: Device) -> list[Ranked]:
            ratings, order = device.profile.ratings(), device.nearby.by_other_preferences
            return [_mapped(device, order(each, preferences, ratings)) for each in answers]

        self._show_ranked(await self.desk.on_device(again), "nothing was sent for this; ")

    @work(exclusive=True, group="question")
    async def draw_place(self, *, moves: bool) -> None:
        """Add a place or, if `moves`, move the chosen one, at the price that a dialog says; do
        nothing where the person leaves the dialog.
        """
        device, moved = self.desk.device, self.place if moves else None
        price = await self.desk.on_device(lambda device: device.places.price())
        if isinstance(price, Problem):
            self.desk.refuse(price)
        elif device is not None:
            dialog = PlaceScreen(
                name=None if moved is None else moved.name,
                start=None if moved is None else Position(*moved.true),
                region=device.settings.region,
                named={Position(*place.true): place.name for place in self.places or ()},
                price=price,
                allowance=device.places.allowance(),
                towns=named_towns(),
            )
            draft = await self.app.push_screen_wait(dialog)
            if draft is not None:
                act = partial(_keep_place, draft=draft, file=self.desk.file, moves=moves)
                await self._keep(act, draft.name)

    @work(exclusive=True, group="question")
    async def action_forget(self) -> None:
        if self.place is not None:
            name = self.place.name
            question = ConfirmScreen(FORGET.format(name=name), "Forget")

            def forget(device: Device) -> str:
                device.places.forget(name)
                return "Forgotten here; servers keep the noisy position that they got."

            if await self.app.push_screen_wait(question):
                await self._keep(forget)

    @work(group="keep")
    async def action_apply(self) -> None:
        level, k = self._chosen()
        typed, collection = {"level": level, "near_k": str(k)}, self._collection()

        def use(device: Device) -> str:
            use_settings(self.desk.file, device, typed=typed)
            by_bytes = "" if k else ", as about 4 kB hold"
            size = f"k = {k or device.nearby.usual_k(collection)}{by_bytes}"
            return f"From now on: level {level} for positions that are yet to be drawn, {size}."

        await self._keep(use)

    async def _keep(self, act: Callable[[Device], str], name: str = "") -> None:
        # name: of the place to ask from next.
        outcome = await self.desk.on_device(act)
        if isinstance(outcome, Problem):
            self.desk.refuse(outcome)
        else:
            self.notify(outcome, markup=False)
            self.show_answers(())
            if name:
                offer(self, "place", [name])
        self.catch_up()
        self.desk.read_budget()

    # Messages and actions

    def on_screen_resume(self) -> None:
        self.catch_up()

    def catch_up(self) -> None:
        """Show settings and places as they are now, and the collections once the server is there;
        do nothing while no device is open or another screen is shown.
        """
        device = self.desk.device
        if device is None or not self.is_current:
            return
        offer(self, "level", tuple(LEVELS), device.settings.level)
        offer(self, "size", SIZES, Fraction(device.settings.near_k))
        if device.nearby.card is None:
            self.meet()  # before anything private
        else:
            self._offer_collections(device.nearby.card)
        self.read()

    def _tell(self, connection: Connection | Problem | None) -> None:
        # What is wrong with a catalog is told on the screens that need one.
        self.query_one(Notice).hush()

    def _show_connection(self, connection: Connection | Problem | None) -> None:
        # A catalog is no matter here, but a new try to connect is one for this screen too.
        self.catch_up()

    def _offer_collections(self, card: MetricCard) -> None:
        names = [collection.name for collection in card.collections]
        every = [ALL] if len(names) > 1 else []
        chosen = chosen_name(self, "collection")
        offer(self, "collection", [*names, *every], chosen, {ALL: "all at once"})
        self._show_k()

    def on_select_changed(self, event: Select.Changed) -> None:
        # A collection of which nothing is there waits for a question.
        if event.select.id != "collection":
            self._look(what_if=event.select.id == "level")
            return
        self._show_k()
        if event.value in self.found:
            self._show_found(str(event.value), "nothing was sent for this; ")

    def on_input_submitted(self) -> None:
        self.set_focus(None)  # the next key is of the screen
        preferences = self._preferences()
        if preferences is not None and self.found:
            self.order_again(preferences)

    def on_button_pressed(self) -> None:
        self.action_ask()

    def action_ask(self) -> None:
        device, preferences = self.desk.device, self._preferences()
        place, collection = self.place, chosen_name(self, "collection")
        if device is None or place is None or not collection or preferences is None:
            no_place = self.places is not None and place is None
            self.say("add a place first: n" if no_place else "no collection to ask yet")
            return
        self.query_one(Notice).hush()
        self.say("asking ...  Esc stops")
        self.set_class(True, "-waiting")
        self.ask(collection, place.name, preferences)

    def action_stop(self) -> None:
        if isinstance(self.focused, Input):
            self.set_focus(None)
        if self.has_class("-waiting"):
            self.workers.cancel_group(self, "ask")
            self.set_class(False, "-waiting")
            self.say("stopped; the place's noisy position stays the same")

    def leave(self) -> None:
        self._first = False
        self.action_stop()

    def action_prefer(self) -> None:
        self.query_one("#preferences", Input).focus()

    def action_add(self) -> None:
        self.draw_place(moves=False)

    def action_relocate(self) -> None:
        if self.place is not None:
            self.draw_place(moves=True)

    # What it shows

    def show_answers(self, ranked: Sequence[Ranked]) -> None:
        """Keep these answers in `found`, by their collection, and no others; without any, empty the
        list of results too. With some, the list stays as it is.
        """
        self.found = {each.answer.collection: each for each in ranked}
        if not ranked:
            self._show_answer(None)

    def _show_ranked(self, ranked: Sequence[Ranked] | Problem, said: str = "") -> None:
        if isinstance(ranked, Problem):
            self.query_one(Notice).tell(ranked)
            self.say("no answer this time")
        else:
            self.show_answers(ranked)
            if chosen_name(self, "collection") not in self.found:
                first = ranked[0].answer.collection
                with self.prevent(Select.Changed):
                    self.query_one("#collection", Select).value = first
                self._show_k()
            self._show_found(chosen_name(self, "collection"), said)
        self.desk.read_budget()

    def _show_found(self, collection: str, said: str) -> None:
        ranked = self.found[collection]
        self._show_answer(ranked)
        self.show_scene(ranked.scene, ranked.words)
        others = f"; {len(self.found)} collections answered: turn to another"
        answer, missing = ranked.answer, ", ".join(ranked.answer.missing)
        unknown = f"; your preferences name {missing}, which this collection does not have"
        words = f"{said}{answer.source}; ranked here{unknown if missing else ''}"
        self.say(words + (others if len(self.found) > 1 else ""))

    def _show_answer(self, ranked: Ranked | None) -> None:
        answer = None if ranked is None else ranked.answer
        self.query_one(NearList).answer = answer
        pick = self.query_one("#pick", Static)
        pick.display = answer is not None
        if answer is None or answer.none_passes or answer.pick is None:
            pick.update(NONE_PASSES)
            return
        far = f"{distance(answer.pick.distance)} {answer.unit} from you"
        head = ("Your pick, never sent\n", "italic")
        pick.update(Text.assemble(head, (f"{answer.pick.title}, ", "bold"), far))

    def show_scene(self, scene: Scene, words: str) -> None:
        """Show a map with its legend, and words beside it."""
        self.query_one(PlaceMap).show(scene)
        signs = "  ".join(legend(scene, shaded=self.app.no_color))
        self.query_one("#legend", Static).update(signs)
        self.query_one("#words", Static).update(words)

    def say(self, text: str) -> None:
        self.query_one("#state", Static).update(text)

    def _look(self, *, what_if: bool = False) -> None:
        if self.place is not None:
            level, k = self._chosen()
            self.look(self.place.name, level, k, self._collection(), what_if=what_if)

    def _collection(self) -> str:
        return chosen_name(self, "collection") or ALL

    def _show_k(self) -> None:
        # 0 is shown as what is asked for where the person named no number: "20, by bytes".
        device = self.desk.device
        if device is not None and device.nearby.card is not None:
            usual = f"{device.nearby.usual_k(self._collection())}, by bytes"
            offer(self, "size", SIZES, chosen_number(self, "size"), {BY_BYTES: usual})

    def _chosen(self) -> tuple[str, int]:
        return chosen_name(self, "level"), int(chosen_number(self, "size"))

    def _preferences(self) -> Preferences | None:
        try:
            return preferences_of(self.query_one("#preferences", Input).value)
        except AskewError as error:
            self.desk.refuse(problem_of(error))
            return None


def places_on_map(device: Device) -> tuple[PlaceView, ...]:
    """Return the named places on a map that have their noisy position, oldest first; no values on
    axes. Raises AskewError.
    """
    return tuple(place for place in device.places.list() if place.sent)


def outlook_of(
    device: Device, name: str, level: str, k: int, *, what_if: bool
) -> tuple[Scene, str]:
    """Return what is known before a question: the Scene of a named place, and in words its cost, a
    server's guess, and "What if: ..." of a level and k; without a region "No forecast: ...".

    what_if: show where a fresh signal might land, and not the one that the place has. Raises
    PlaceError for a name of none of `places_on_map`. Nothing is sent or charged.
    """
    place = next((place for place in places_on_map(device) if place.name == name), None)
    if place is None:  # forgotten by another program; StopIteration would never leave a thread
        raise PlaceError("there is no place of this name any more")
    true, towns = Position(*place.true), named_towns()
    heat_map = _heat_map_of(place.sent, cast("Cost", place.cost))
    scene = Scene(true, heat_map, _probes(heat_map, k), towns=towns)
    words = f"{sentences(cast('Cost', place.cost))}\n\n{_guess_words(heat_map, towns)}"
    try:
        noise = replace(device.settings, level=cast("Level", level)).map_noise
    except AskewError as error:  # no region is set
        return scene, f"{words}\n\nNo forecast: {error}."
    epsilon = float(noise.epsilon)
    if what_if:
        around = PlaceHeatMap(true, epsilon, noise.cosine)
        scene = Scene(true, around, towns=towns, drawn=False)
    from askew.placement.hexagonal import place_on_map

    # The nearest query point is as far from you as the nearest offset from a draw of the noise.
    probe = place_on_map(epsilon, k).cost
    mean, most, hidden, nearest = map(distance, (*landing(epsilon), log(ODDS) / epsilon, probe))
    return scene, (
        f"{words}\n\n"
        f"What if: a position drawn at level {level} lands {mean} km from you on average, 9 times "
        f"in 10 within {most} km; {hidden} km apart, odds change at most 4 times, and 10 km apart "
        f"{times(10 * epsilon)}. With k = {k} the nearest query point is {nearest} km from you on "
        "average. Nothing is sent for this."
    )


def _keep_place(device: Device, draft: PlaceDraft, file: ConfigFile | None, *, moves: bool) -> str:
    # A region that the person named is a setting from now on, even if the place is refused.
    if draft.region != device.settings.region:
        use_settings(file, device, typed={"region": draft.region})
    act = device.places.move if moves else device.places.add
    act(draft.name, draft.position, draft.shown, take=draft.take)
    if draft.take:
        return "Kept as one more name of that place; nothing was drawn or charged."
    return "Drawn and charged; every server will get this one position."


def _mapped(device: Device, answer: NearAnswer) -> Ranked:
    # Where no signal left, the map shows where one would land.
    results = tuple(Position(*result.coordinates) for result in answer.results)
    picked = next((n for n, result in enumerate(answer.results) if result.picked), None)
    towns, true = named_towns(), Position(*answer.true)
    if not answer.cost.sends:
        noise = device.settings.map_noise
        around = PlaceHeatMap(true, float(noise.epsilon), noise.cosine)
        scene = Scene(true, around, (), results, picked, towns, drawn=False)
        return Ranked(answer, scene, answer.cost.reason)
    heat_map = _heat_map_of(answer.sent, answer.cost)
    probes = _probes(heat_map, answer.k)
    words = f"{sentences(answer.cost)}\n\n{_guess_words(heat_map, towns)}"
    scene = Scene(true, heat_map, probes, results, picked, towns)
    return Ranked(answer, scene, words)


def _probes(heat_map: PlaceHeatMap, k: int) -> tuple[Position, ...]:
    from askew.placement.hexagonal import place_on_map

    return tuple(
        heat_map.position(*at) for at in place_on_map(heat_map.epsilon, k).offsets.tolist()
    )


def _heat_map_of(sent: tuple[float, ...], cost: Cost) -> PlaceHeatMap:
    noise = cast("MapNoise", cost.noise)
    return PlaceHeatMap(Position(*sent), float(noise.epsilon), noise.cosine)


def _guess_words(heat_map: PlaceHeatMap, towns: Sequence[Town]) -> str:
    # Where a server would look first that knows the map's own list of towns and nothing else.
    likely = [town for town in likeliest(towns, heat_map) if town[1] >= _LEAST_SHARE]
    if not likely:
        return ""
    people = people_within(towns, heat_map)
    among = f"{people:,} people of this map's towns live where you are 5 times in 10. "
    names = ", ".join(f"{town.name} {100 * share:.0f} %" for town, share in likely)
    return f"{among if people else ''}Of these towns alone, a server's guess: {names}."
