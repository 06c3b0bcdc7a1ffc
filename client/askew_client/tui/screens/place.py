"""A place to add or to move: its name, and where it is, which a map shows.

Where it is stays private: no message repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static

from askew.errors import AskewError, PlaceError, UnclearTown
from askew.spaces.map import Position
from askew_client.settings.regions import region_of
from askew_client.tui.pictures import PlaceMap
from askew_client.tui.screens.frame import Notice
from askew_client.views.cost import Cost
from askew_client.views.place_map import Scene, Town
from askew_client.views.problems import Problem, Trouble, problem_of

EXAMPLE: Final = "50.94, 6.96"
NO_REGION: Final = (
    "Name the region first: a country such as DE, or south/west/north/east in degrees. It is a "
    "public setting; a position outside it is refused."
)


@dataclass(frozen=True, repr=False)
class PlaceDraft:
    """A place to add, or where one is to move: private, and never sent as it is. shown: the price
    that stood beside it. take: whether a place at this very position is taken, once it was said.
    """

    name: str
    position: Position
    region: str
    shown: Cost
    take: bool | None = None


def sentences(cost: Cost) -> str:
    """Return the words of a cost as sentences in a row, with a capital and a dot: "Epsilon 0.277
    per km; ... All places together: 0 of 4.2 per km spent."
    """
    return " ".join(f"{words[:1].upper()}{words[1:]}." for words in cost.words)


def _position_typed(text: str, region: str) -> Position:
    # Of two numbers of degrees, or a town. Raises PlaceError, for values on axes too.
    from askew_client.near.gazetteer import spot_of  # heavy: the app's first screen comes before it

    spot = spot_of(text, region)
    if not isinstance(spot, Position):
        raise PlaceError(f"a position is a town, or two numbers of degrees: {EXAMPLE}")
    return spot


_HOW = "Type where it is: the map shows it."
_NEAR_KM = 60.0  # what the map shows at first


class PlaceScreen(ModalScreen[PlaceDraft | None]):
    """Says what it will cost; nothing is drawn or charged before the person says so here."""

    BINDINGS = [Binding("escape", "dismiss", "Leave it")]

    def __init__(  # noqa: PLR0913  # what the person sees before a charge
        self,
        *,
        name: str | None,
        start: Position | None,
        region: str,
        named: Mapping[Position, str],
        price: Cost,
        allowance: str,
        towns: Sequence[Town],
    ) -> None:
        """Make the dialog. name: of a place that moves, None for a new one. start: where it
        is; None shows the region, if there is one. named: the places whose noisy
        position is charged; at the very position of one the person chooses whether to take it.
        price: in whichever region; before one is typed there is nothing to press. allowance: how
        many positions the caps allow, in words.
        """
        super().__init__()
        self._moved, self._start, self._region = name, start, region
        self._price, self._allowance, self._towns = price, allowance, tuple(towns)
        self._named = named
        self._told: Position | None = None  # the position that is said to have a name

    def compose(self) -> ComposeResult:
        title = "Add a place" if self._moved is None else f"Move {self._moved}"
        at = self._start  # to ten meters
        typed = "" if at is None else f"{at.latitude:.4f}, {at.longitude:.4f}"
        with Vertical(id="dialog", classes="wide"):
            yield Static(Text.assemble((title, "bold"), f"  {_HOW}"))
            with Horizontal(classes="field"):
                yield Label("name")
                name = self._moved or ""
                yield Input(
                    name, id="name", placeholder="a name, such as home", disabled=bool(name)
                )
            with Horizontal(classes="field"):
                yield Label("region, a country")
                yield Input(self._region, id="region", placeholder="a country, such as DE")
            with Horizontal(classes="field"):
                yield Label("town, or degrees")
                yield Input(typed, id="position", placeholder=f"such as {EXAMPLE}")
            yield PlaceMap()
            yield Static("", id="place-cost", markup=False)
            yield Notice()
            with Horizontal(classes="buttons"):
                yield Button("Draw and keep", id="keep", variant="primary")
                yield Button("Take that place, for nothing", id="take")
                yield Button("Leave it", id="leave")

    def on_mount(self) -> None:
        self.query_one("#take", Button).display = False
        self._show_price(self._region)
        self.call_after_refresh(self._open_map)

    def _open_map(self) -> None:
        shown = self.query_one(PlaceMap)
        shown.show(Scene(towns=self._towns))
        if self._start is not None:
            shown.look_at(self._start, _NEAR_KM, marked=True)
        else:
            self._look_at_region(self._region)

    def _show_price(self, region: str) -> None:
        # Only in a region can the place be confirmed.
        words = f"A position is drawn once and charged. {sentences(self._price)} {self._allowance}"
        lacks_region = False
        try:
            region_of(region.strip())
        except AskewError:
            words, lacks_region = NO_REGION, True
        self.query_one("#place-cost", Static).update(words)
        self.query_one("#keep", Button).disabled = lacks_region

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._told is not None:
            self._forget_named()
        if event.input.id == "region":
            self._show_price(event.value)
        if event.input.id in ("region", "position"):
            region = self.query_one("#region", Input).value
            try:
                there = _position_typed(self.query_one("#position", Input).value, region)
            except AskewError:  # half a number, or half a region
                self._look_at_region(region)
            else:
                self.query_one(PlaceMap).look_at(there, _NEAR_KM, marked=True)

    def on_input_submitted(self) -> None:
        # Enter, a key that ends a word, charges nothing.
        self.query_one("#keep", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id in ("keep", "take"):
            self._keep(take=event.button.id == "take")
        else:
            self.dismiss(None)

    def _keep(self, *, take: bool = False) -> None:
        name, region, position = (
            self.query_one(f"#{field}", Input).value.strip()
            for field in ("name", "region", "position")
        )
        try:
            region_of(region)
            spot = _position_typed(position, region)
            named = self._named.get(spot)
            if named is not None and self._told != spot:
                self._told = spot
                text = f"at this very position is {named}, whose noisy position is charged"
                hint = "Take that place for nothing, or draw and charge another."
                self.query_one(Notice).tell(Problem(Trouble.PLACE, text, hint, PlaceError(text)))
                self.query_one("#take", Button).display = True
                self.query_one("#take", Button).focus()
                self.query_one("#keep", Button).label = "Draw another"
                return
            choice = None if named is None else take
            self.dismiss(PlaceDraft(name, spot, region, self._price, choice))
        except AskewError as error:
            problem = problem_of(error)
            if isinstance(error, UnclearTown):
                problem = replace(problem, hint=" · ".join(error.choices))
            self.query_one(Notice).tell(problem)

    def _forget_named(self) -> None:
        # What was said was of another position.
        self._told = None
        self.query_one(Notice).hush()
        self.query_one("#take", Button).display = False
        self.query_one("#keep", Button).label = "Draw and keep"

    def _look_at_region(self, text: str) -> None:
        try:
            region = region_of(text)
        except AskewError:
            return  # not yet a region
        north = (region.south + region.north) / 2
        east = (region.west + float(region.width) / 2 + 180) % 360 - 180
        high = (region.north - region.south) * 111
        self.query_one(PlaceMap).look_at(Position(north, east), high, marked=False)
