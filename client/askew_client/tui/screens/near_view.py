"""What the screen Near shows: a map, choices, results and a pick."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from askew_client.settings.ranges import LEVELS
from askew_client.tui import near_words
from askew_client.tui.near_desk import Ranked
from askew_client.tui.screens.near_places import NearPlaces
from askew_client.tui.widgets.choice import Choice
from askew_client.tui.widgets.near_list import NearList
from askew_client.tui.widgets.place_map import PlaceMap
from askew_client.tui.widgets.slider import Slider
from askew_client.tui.widgets.window import Window
from askew_client.tui.wishes_line import EXAMPLE
from askew_client.views.place_map import Scene

SIZES: Final = tuple(map(Fraction, (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 64)))


class NearView(NearPlaces):
    """The map on the left; choices, words and results on the right."""

    def __init__(self) -> None:
        super().__init__()
        self.ranked: Ranked | None = None

    def body(self) -> ComposeResult:
        """Two columns, and the row of the button."""
        with Horizontal(id="near"):
            with Vertical(id="ground"):
                yield PlaceMap()
                yield Static("", id="legend", markup=False)
            with Window(id="side"):
                yield Choice("place       ", id="place")
                yield Choice("collection  ", id="collection")
                yield Choice("level       ", tuple(LEVELS), id="level")
                yield Slider("k ", SIZES, Fraction(20), id="size")
                yield Input(placeholder=EXAMPLE, id="wishes")
                yield Static("", id="pick", markup=False)
                yield NearList()
                yield Static("", id="words", markup=False)
        with Horizontal(id="bar"):
            yield Button("Ask", id="ask", variant="primary")
            yield Static("", id="state", markup=False)

    def show_answer(self, ranked: Ranked | None) -> None:
        """Show results and a pick, or none."""
        self.ranked = ranked
        self.query_one(NearList).show(None if ranked is None else ranked.answer)
        pick = self.query_one("#pick", Static)
        pick.display = ranked is not None
        pick.update(Text() if ranked is None else near_words.pick(ranked.answer))

    def show_scene(self, scene: Scene, words: str) -> None:
        """Show a map, and what it means."""
        self.query_one(PlaceMap).show(scene)
        legend = near_words.map_legend(scene, shaded=self.app.no_color)
        self.query_one("#legend", Static).update(legend)
        self.query_one("#words", Static).update(words)

    def say(self, text: str) -> None:
        """Say what goes on."""
        self.query_one("#state", Static).update(text)
