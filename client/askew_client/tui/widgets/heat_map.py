"""The law of the noise as a heat map with points on it: a curve on a line, a map on a plane."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive

from askew_client.tui.widgets.bars import place_on
from askew_client.tui.widgets.plain_text import Inked
from askew_client.tui.widgets.ramp import CHARACTERS, STEPS, colors, is_without_color
from askew_client.views.answers import Connection, NoisePicture

_EIGHTHS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Mark:
    """A point, relative to the middle of the heat map. kind: "private", "public"."""

    at: tuple[float, ...]
    sign: str
    kind: str


class HeatMap(Inked):
    """The noise around the middle, on one coordinate or on two: those that its marks have."""

    COMPONENT_CLASSES = {
        "heat-map--field",
        "heat-map--peak",
        "heat-map--private",
        "heat-map--public",
        "heat-map--axis",
    }

    picture: reactive[NoisePicture | None] = reactive(None)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.marks: tuple[Mark, ...] = ()

    def show(self, picture: NoisePicture | None, marks: Sequence[Mark]) -> None:
        self.marks = tuple(marks)
        self.picture = picture
        self.refresh()

    def render(self) -> Text:
        picture, (width, height) = self.picture, self.size
        if picture is None or width < 8 or height < 3:
            return Text("")
        on_a_line = all(len(mark.at) < 2 for mark in self.marks)
        return self._curve(picture) if on_a_line else self._map(picture)

    def _curve(self, picture: NoisePicture) -> Text:
        (width, height), reach = self.size, self._reach(picture)
        peak = max(picture.density)
        heights = [
            8 * (height - 1) * density_at(picture, _spread(reach, x, width)) / peak
            for x in range(width)
        ]
        rows = []
        for row in range(height - 2, -1, -1):
            cells = "".join(_EIGHTHS[min(8, max(0, round(height - 8 * row)))] for height in heights)
            rows.append(Text(cells, self.ink("heat-map--peak"), no_wrap=True, end=""))
        signs = {place_on(mark.at[0], -reach, reach, width): mark for mark in self.marks}
        axis = Text(no_wrap=True, end="")
        for x in range(width):
            mark = signs.get(x)
            axis.append(
                mark.sign if mark else "─", self.ink(f"heat-map--{mark.kind if mark else 'axis'}")
            )
        return Text("\n").join([*rows, axis])

    def _map(self, picture: NoisePicture) -> Text:
        # Two pixels a cell, its upper and its lower half: so they are about square.
        (width, height), reach = self.size, self._reach(picture)
        across = reach * max(1.0, width / (2 * height))
        down = across * 2 * height / width
        peak, edge = max(picture.density), sqrt(picture.density[-1])
        plain = is_without_color(self.app)
        field, top = (self.get_component_styles(f"heat-map--{part}") for part in ("field", "peak"))
        shades = colors(field.background, top.color, 0.7, self.app.console.color_system)
        xs = [density_at(picture, _spread(across, x, width)) for x in range(width)]
        ys = [density_at(picture, _spread(-down, y, 2 * height)) for y in range(2 * height)]
        signs = {
            (
                place_on(mark.at[0], -across, across, width),
                place_on(-mark.at[1], -down, down, height),
            ): mark
            for mark in self.marks
        }
        rows = []
        for row in range(height):
            line = Text(no_wrap=True, end="")
            for x, density in enumerate(xs):
                upper, lower = (
                    self._shade(density * ys[y], peak, edge) for y in (2 * row, 2 * row + 1)
                )
                mark = signs.get((x, row))
                paper = Style() if plain else Style(bgcolor=shades[lower])
                if mark:
                    line.append(mark.sign, self.ink(f"heat-map--{mark.kind}") + paper)
                elif plain:
                    step = (upper + lower) / 2 / STEPS
                    line.append(CHARACTERS[round(step * (len(CHARACTERS) - 1))])
                else:
                    line.append("▀", Style(color=shades[upper]) + paper)
            rows.append(line)
        return Text("\n").join(rows)

    @staticmethod
    def _shade(density: float, peak: float, edge: float) -> int:
        # The root lets the eye see the tails, where most of the noise is; it fades at the edge.
        least = edge * sqrt(peak)
        return round(STEPS * max(0.0, sqrt(density) - least) / (peak - least))

    def _reach(self, picture: NoisePicture) -> float:
        # Every mark is inside, and most of the noise.
        far = (1.25 * abs(x) for mark in self.marks for x in mark.at)
        return max((picture.reach[-1], *far))


def density_at(picture: NoisePicture, x: float) -> float:
    """Return the density of the noise at a distance x from the middle, as computed for the next
    point of the picture at or above x; 0.0 up to the first point and beyond the last.
    """
    at = bisect_left(picture.reach, x)
    return picture.density[at] if 0 < at < len(picture.density) else 0.0


def _spread(reach: float, index: int, count: int) -> float:
    # The place of one of `count` cells between -reach and reach.
    return reach * (2 * index / (count - 1) - 1)


def axes_words(connection: Connection) -> str:
    """Return "; directions 1 and 3 of 8, where this catalog differs most", numbered as the bars
    are; "" where the map shows all directions.
    """
    if connection.dimension == len(connection.map_axes):
        return ""
    shown = " and ".join(str(axis + 1) for axis in connection.map_axes)
    return f"; directions {shown} of {connection.dimension}, where this catalog differs most"
