"""A map on the screen, and the choice of a position on it by keys."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Final

from rich.color import Color as TerminalColor
from rich.style import Style
from rich.text import Text
from textual.binding import Binding
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from askew.spaces.map import Position
from askew_client.tui.widgets.ramp import STEPS, colors, is_without_color
from askew_client.views.place_map import Cell, Frame, Ink, Scene, draw, shade, share_above

_ZOOM: Final = 2.0
_KINDS: Final = {
    Ink.TOWN: "map--town",
    Ink.PROBE: "map--probe",
    Ink.RESULT: "map--result",
    Ink.PICK: "map--private",
    Ink.SIGNAL: "map--signal",
    Ink.YOU: "map--private",
    Ink.YOU_AND_SIGNAL: "map--private",
    Ink.CURSOR: "map--cursor",
}


class PlaceMap(Widget):
    """A scene in a frame that has all of it. Warm: what stays here. Cool: what is public."""

    COMPONENT_CLASSES = {"map--field", "map--peak", *_KINDS.values()}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.scene = Scene()
        self.frame: Frame | None = None

    def show(self, scene: Scene) -> None:
        """Show a scene in place of the one before, in a frame that has all of it."""
        self.scene, self.frame = scene, None
        self.refresh()

    def framed(self) -> Frame:
        """Return the frame of the scene, resized to what the widget is now, less a row for the
        scale.
        """
        width, height = self.size.width, max(3, self.size.height - 1)
        if self.frame is None:
            self.frame = self.scene.frame(width, height)
        self.frame = self.frame.resized(width, height)
        return self.frame

    def render(self) -> Text:
        if self.size.width < 4 or self.size.height < 4:
            return Text("")
        field, peak = (self.get_component_styles(f"map--{part}") for part in ("field", "peak"))
        shades = colors(field.background, peak.color, 0.6, self.app.console.color_system)
        frame = self.framed()
        rows = []
        for cells in draw(self.scene, frame):
            inked = [self._inked(cell, shades) for cell in cells]
            runs = groupby(inked, key=itemgetter(1))  # few styles a row: it is drawn faster
            parts = [("".join(sign for sign, _ in run), style) for style, run in runs]
            rows.append(Text.assemble(*parts, no_wrap=True, end=""))
        town = self.get_component_rich_style("map--town", partial=True)
        rows.append(Text(frame.scale(), town, no_wrap=True, end=""))
        return Text("\n").join(rows)

    def _inked(self, cell: Cell, shades: list[TerminalColor]) -> tuple[str, Style]:
        marked = cell.ink is not Ink.NOTHING
        ink = self.get_component_rich_style(_KINDS[cell.ink], partial=True) if marked else Style()
        if is_without_color(self.app):
            return (cell.sign if marked else shade(cell)), ink
        # Brighter the less of the law lies above: half as bright where half of it does.
        upper, lower = (
            shades[0 if depth == inf else round(STEPS * (1 - share_above(depth)))]
            for depth in (cell.upper, cell.lower)
        )
        if marked:
            return cell.sign, ink + Style(bgcolor=lower)
        if upper == lower == shades[0]:
            return " ", Style()
        return "▀", Style(color=upper, bgcolor=lower)


class PlacePicker(PlaceMap, can_focus=True):
    """A map with a cursor: arrows move it, + and - zoom. Says where it is; changes nothing."""

    BINDINGS = [
        Binding("up", "move(-1, 0)", "Move", key_display="↑↓←→"),
        Binding("down", "move(1, 0)", show=False),
        Binding("left", "move(0, -1)", show=False),
        Binding("right", "move(0, 1)", show=False),
        Binding("plus,equals_sign", "zoom(-1)", "Nearer", key_display="+"),
        Binding("minus", "zoom(1)", "Farther", key_display="-"),
    ]

    class Moved(Message):
        """The cursor stands somewhere else. Private: not shown when it is printed."""

        def __init__(self, position: Position) -> None:
            super().__init__()
            self.position = position

        def __rich_repr__(self) -> tuple[()]:
            return ()

    def look_at(self, position: Position, kilometers: float | None = None) -> None:
        """Put the cursor at a position, in the middle of a map that is so many kilometers high;
        None keeps the scale. Nothing is posted.
        """
        height = max(3, self.size.height - 1)
        before = self.framed().km_a_row if kilometers is None else kilometers / height
        self.scene = replace(self.scene, cursor=position)
        self.frame = Frame(position, before, max(4, self.size.width), height)
        self.refresh()

    def action_move(self, down: int, right: int) -> None:
        frame, cursor = self.framed(), self.scene.cursor
        at = None if cursor is None else frame.cell(cursor)
        if cursor is None or at is None:
            return
        self._place(frame.position(at[0] + down, at[1] + right))

    def action_zoom(self, farther: int) -> None:
        """Show twice as many kilometers a row (farther = 1) or half as many (-1), around the
        cursor; do nothing without a cursor.
        """
        if self.scene.cursor is not None:
            self.frame = self.framed().zoomed(_ZOOM**farther, self.scene.cursor)
            self.refresh()

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            self._place(self.framed().position(offset.y, offset.x))

    def _place(self, position: Position) -> None:
        self.scene = replace(self.scene, cursor=position)
        if self.framed().cell(position) is None:
            self.frame = replace(self.framed(), middle=position)
        self.refresh()
        self.post_message(self.Moved(position))
