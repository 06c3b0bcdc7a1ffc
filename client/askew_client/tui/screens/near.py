"""Near: a map of you and of what a server can know, and results in an order of your own."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Final

from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from askew.errors import AskewError
from askew.metric.position import Position
from askew_client.settings.towns import named_towns
from askew_client.tui import near_desk, near_words
from askew_client.tui.keeping import use_settings
from askew_client.tui.messages import Looked, Met, NearRanked, PlacesRead, Priced, Refused
from askew_client.tui.near_desk import Outlook, PlaceDraft, Ranked
from askew_client.tui.screens.confirm import ConfirmScreen
from askew_client.tui.screens.frame import FrameScreen
from askew_client.tui.screens.place import PlaceScreen
from askew_client.tui.widgets.choice import Choice
from askew_client.tui.widgets.near_list import NearList
from askew_client.tui.widgets.notice import Notice
from askew_client.tui.widgets.place_map import PlaceMap
from askew_client.tui.widgets.slider import Slider
from askew_client.tui.widgets.window import Window
from askew_client.tui.wishes_line import EXAMPLE, wishes_of
from askew_client.views.near import PlaceView
from askew_client.views.place_map import Scene
from askew_client.views.problems import Setback, setback_of
from askew_client.views.values import Connection

LEVELS: Final = ("district", "town", "county")
SIZES: Final = tuple(map(Fraction, (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 64)))


class NearScreen(FrameScreen):
    """The map on the left; choices, words and results on the right."""

    MODE = "near"
    TITLE = "Near"
    PURPOSE = (
        "What is near a place of yours. A place gets one noisy position when you add it, and every "
        "server gets that one: it is drawn and charged once. The map shows you ●, the signal ◆ and "
        "what a server can know from it: the brighter the glow, the likelier you are there. The "
        "results come whole, and this device ranks them by distance and by your wishes; neither "
        "your place nor your wishes are ever sent. Level and k are what-if: nothing is sent before "
        "you ask, and places that you have keep their signal."
    )
    KEYS = (
        ("a, Enter", "ask"),
        ("Esc", "stop waiting"),
        ("n", "add a place"),
        ("m", "move it: a new signal and a new charge"),
        ("f", "forget it: refunds nothing"),
        ("/", "wishes: they rank anew, and are never sent"),
        ("w", "use this level and k from now on"),
        ("← →", "another place, collection, level or k"),
    )
    BINDINGS = [
        Binding("a,enter", "ask", "Ask", key_display="a", id="ask"),
        Binding("escape", "stop", "Stop asking", show=False, id="stop"),
        Binding("n", "add", "Add a place", id="add-place"),
        Binding("m", "move", "Move", id="move-place"),
        Binding("f", "forget", "Forget", id="forget-place"),
        Binding("slash", "wish", "Wishes", key_display="/", id="wishes"),
        Binding("w", "apply", "Use these", id="use"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._places: tuple[PlaceView, ...] = ()
        self._ranked: Ranked | None = None
        self._what_if = False

    def body(self) -> ComposeResult:
        """Two columns, and the row of the button."""
        with Horizontal(id="near"):
            with Vertical(id="ground"):
                yield PlaceMap()
                yield Static("", id="legend", markup=False)
            with Window(id="side"):
                yield Choice("place       ", id="place")
                yield Choice("collection  ", id="collection")
                yield Choice("level       ", LEVELS, id="level")
                yield Slider("k ", SIZES, Fraction(20), id="size")
                yield Input(placeholder=EXAMPLE, id="wishes")
                yield Static("", id="pick", markup=False)
                yield NearList()
                yield Static(near_words.NO_PLACE, id="words", markup=False)
                yield Static("", id="forecast", markup=False)
        with Horizontal(id="bar"):
            yield Button("Ask", id="ask", variant="primary")
            yield Static("", id="state", markup=False)

    def on_mount(self) -> None:
        """The pick has nothing to show yet."""
        self.query_one("#pick").display = False
        self.watch(self.app, "companion", lambda _: self.on_screen_resume())
        self.query_one("#place").focus()

    # Workers: all that they bring, they bring by message

    @work(exclusive=True, group="places")
    async def read(self) -> None:
        """Bring the named places."""
        self.post_message(PlacesRead(await self.desk.on_device(near_desk.places)))

    @work(exclusive=True, group="meet")
    async def meet(self) -> None:
        """Bring the collections of the server, once."""
        companion = self.desk.companion
        if companion is not None and companion.nearby.card is None:
            found = await companion.nearby.connect()
            named = found if isinstance(found, Setback) else found.collections
            self.post_message(Met(named))

    @work(exclusive=True, group="look")
    async def look(self, name: str, level: str, k: int) -> None:
        """Bring what can be known before a question."""
        act = partial(near_desk.look, name=name, level=level, k=k, what_if=self._what_if)
        self.post_message(Looked(await self.desk.on_device(act)))

    @work(exclusive=True, group="ask")
    async def ask(self, collection: str, place: str, line: str) -> None:
        """Ask, and bring the answer in the person's order."""
        companion = self.desk.companion
        if companion is None:
            return
        answer = await companion.nearby.near(collection, place, wishes=wishes_of(line))
        if isinstance(answer, Setback):
            self.post_message(NearRanked(answer))
        else:
            act = partial(near_desk.ranked, answer=answer)
            self.post_message(NearRanked(await self.desk.on_device(act)))

    @work(exclusive=True, group="rank")
    async def rank_again(self, ranked: Ranked, line: str) -> None:
        """Bring the same results in another order; nothing is sent."""
        act = partial(near_desk.ranked_again, answer=ranked.answer, wishes=wishes_of(line))
        self.post_message(NearRanked(await self.desk.on_device(act), again=True))

    @work(exclusive=True, group="price")
    async def price(self, *, moves: bool) -> None:
        """Bring what a position would cost, for the dialog."""
        self.post_message(Priced(await self.desk.on_device(near_desk.price), moves))
