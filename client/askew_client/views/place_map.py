"""A map in characters: you, the signal, where the server looks, what came back, and the heat map.

Pure: positions and a frame in, cells out. Whoever shows them gives the cells their colors; `lines`
is the same map without any. Nothing from a server is drawn but positions: no title, no markup.

The heat map is what a server can know of a place from its signal. In kilometers of the device's
plane the density of the noise is proportional to exp(-rate g), with g the gauge of the hexagonal
law and rate = epsilon / 1.1545:

    t = 15 y / 13,   g(x, y) = max(|x + t/2|, |t|, |x - t/2|)

The law is symmetric, so with no other knowledge this is also the density of the true place around a
signal. u = rate g is the depth at which a point lies; the law keeps 1 - (1 + u) exp(-u) of its
weight above depth u. Rounding to the lattice and to its grain is left out: a picture does not show
it. Source: `askew.noise.hexagonal`, whose law on the lattice this is in the limit of a small step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import cos, exp, floor, hypot, inf, log10, pi, radians, sin
from typing import Final
from unicodedata import combining, east_asian_width

from askew.spaces.map import COSINE_PARTS, KM_OF_LATITUDE, KM_OF_LONGITUDE, Position

KM_A_DEGREE: Final = 6371.0088 * pi / 180  # on a sphere of the Earth's size
WIDEST = 1000.0  # kilometers a row
_MARGIN = 1.12  # how much more than what is shown fits in
_LEAST_COSINE = 0.05  # near a pole, where a degree of longitude has no length


@dataclass(frozen=True)
class Frame:
    """width times height cells around a position. A cell is half as wide as it is high.

    Distances are those of a plane that touches a sphere at the middle, good to some per cent on a
    map of a country. km_a_row: what a row is high.
    """

    middle: Position = field(repr=False)
    km_a_row: float = field(repr=False)
    width: int
    height: int

    @classmethod
    def around(cls, positions: Sequence[Position], width: int, height: int) -> Frame:
        """Return the frame around the middle of these positions, 1.12 times as large as they need,
        at least 1 km high and at most 1000 km a row, in at least 4 times 3 cells; 1000 km high
        around 0, 0 without any. Longitudes count from the first one's, so no two are torn apart at
        180 degrees.
        """
        width, height = max(4, width), max(3, height)
        if not positions:
            return cls(Position(0, 0), WIDEST / height, width, height)
        first = positions[0].longitude
        east = [(position.longitude - first + 180) % 360 - 180 for position in positions]
        north = [position.latitude for position in positions]
        middle = _kept((min(north) + max(north)) / 2, first + (min(east) + max(east)) / 2)
        wide = (max(east) - min(east)) * KM_A_DEGREE * _cosine(middle) / (width - 1) * 2
        high = (max(north) - min(north)) * KM_A_DEGREE / (height - 1)
        km_a_row = max(_MARGIN * max(wide, high), 1 / height)
        return cls(middle, min(km_a_row, WIDEST), width, height)

    def cell(self, at: Position) -> tuple[int, int] | None:
        """Return the row (from the north) and the column (from the west) of a position, counted
        from 0; None if it lies outside.
        """
        east = (at.longitude - self.middle.longitude + 180) % 360 - 180
        x = east * KM_A_DEGREE * _cosine(self.middle)
        y = (at.latitude - self.middle.latitude) * KM_A_DEGREE
        column = round((self.width - 1) / 2 + 2 * x / self.km_a_row)
        row = round((self.height - 1) / 2 - y / self.km_a_row)
        inside = 0 <= row < self.height and 0 <= column < self.width
        return (row, column) if inside else None

    def position(self, row: float, column: float) -> Position:
        """Return the position at the middle of a cell, counted as by `cell`, kept on Earth."""
        x = (column - (self.width - 1) / 2) * self.km_a_row / 2
        y = ((self.height - 1) / 2 - row) * self.km_a_row
        east = x / (KM_A_DEGREE * _cosine(self.middle))
        return _kept(self.middle.latitude + y / KM_A_DEGREE, self.middle.longitude + east)

    def scale(self) -> str:
        """Return a bar and its length in words: "├─────┤ 20 km", in meters below 1 km. That is the
        largest 1, 2 or 5 times a power of ten that is at most a third of the width, from the middle
        of the bar's first cell to that of its last.
        """
        most = self.width / 3 * self.km_a_row / 2
        power = 10.0 ** floor(log10(most))
        length = max(step for step in (1, 2, 5) if step * power <= most * (1 + 1e-9)) * power
        cells = max(2, round(2 * length / self.km_a_row) + 1)
        words = f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
        return f"├{'─' * (cells - 2)}┤ {words}"


def gap(a: Position, b: Position) -> float:
    """Return the kilometers between two positions that are near one another, as on a plane."""
    east = ((a.longitude - b.longitude + 180) % 360 - 180) * _cosine(b)
    return hypot(east, a.latitude - b.latitude) * KM_A_DEGREE


def _cosine(middle: Position) -> float:
    return max(_LEAST_COSINE, cos(radians(middle.latitude)))


def _kept(latitude: float, longitude: float) -> Position:
    return Position(max(-90.0, min(90.0, latitude)), (longitude + 180) % 360 - 180)


HALF: Final = 1.6783469900166603  # the depth above which half of the law lies
MOST: Final = 3.8897201698674286  # the same for nine tenths
_GAUGE = 1.1545  # gauge a straight-line kilometer, at most
_CORNERS = 24  # of the hexagon's outline: where its box is read off


@dataclass(frozen=True)
class Town:
    """A town of the device's own list. Public. country: its two-letter code."""

    name: str
    at: Position
    population: int
    country: str = ""
    district: str = ""


@dataclass(frozen=True)
class PlaceHeatMap:
    """The heat map of a signal. epsilon: per straight-line kilometer. cosine: of the device's
    plane, in parts of 1/65536. All of it is public once the signal has left.
    """

    signal: Position
    epsilon: float
    cosine: int

    def position(self, x: float, y: float) -> Position:
        """Return the position x kilometers east and y north of the signal, kept on Earth."""
        latitude = self.signal.latitude + y / float(KM_OF_LATITUDE)
        longitude = self.signal.longitude + x / self._east
        return Position(max(-90.0, min(90.0, latitude)), (longitude + 180) % 360 - 180)

    def depth(self, at: Position) -> float:
        """Return the depth u of a position: 0 at the signal, larger the less likely the true place
        is there: epsilon / 1.1545 * max(|x + t/2|, |t|, |x - t/2|), t = 15 y / 13, of x kilometers
        east and y north, the short way around.
        """
        x = self._east * ((at.longitude - self.signal.longitude + 180) % 360 - 180)
        t = 15 * (float(KM_OF_LATITUDE) * (at.latitude - self.signal.latitude)) / 13
        return self.epsilon / _GAUGE * max(abs(x + t / 2), abs(t), abs(x - t / 2))

    def outline(self, depth: float) -> tuple[Position, ...]:
        """Return 24 positions of this depth around the signal, from the east on, counterclockwise,
        15 degrees apart.
        """
        points = []
        for corner in range(_CORNERS):
            angle = 2 * pi * corner / _CORNERS
            x, y = cos(angle), sin(angle)
            t = 15 * y / 13
            reach = depth * _GAUGE / self.epsilon / max(abs(x + t / 2), abs(t), abs(x - t / 2))
            points.append(self.position(reach * x, reach * y))
        return tuple(points)

    @property
    def _east(self) -> float:
        return float(KM_OF_LONGITUDE) * self.cosine / COSINE_PARTS


def share_above(depth: float) -> float:
    """Return the share of all draws, from 0 to 1, in which the true place lies at this depth u or
    less, 1 - (1 + u) exp(-u): 0 for depth 0, 0.264 for 1.
    """
    return 1 - (1 + depth) * exp(-depth)


def likeliest(
    towns: Sequence[Town], heat_map: PlaceHeatMap, count: int = 3
) -> tuple[tuple[Town, float], ...]:
    """Return the `count` towns with the largest share, largest first, and their shares, (town,
    0.25): where a server would look that knows no more than the list, by population times exp(-u),
    u the `PlaceHeatMap.depth` of the town.

    The shares are among all towns of the list, so they sum to at most one. A town without a share
    is left out; without people there is none.
    """
    weights = [(town.population * exp(-heat_map.depth(town.at)), town) for town in towns]
    total = sum(weight for weight, _ in weights)
    best = sorted(weights, key=lambda weight: -weight[0])[:count]
    return tuple((town, weight / total) for weight, town in best if total and weight)


def people_within(towns: Sequence[Town], heat_map: PlaceHeatMap, depth: float = HALF) -> int:
    """Return the sum of the people of all listed towns at this depth or less (by default 1.678,
    where the true place is 5 times in 10): those whom you are hidden among.
    """
    return sum(town.population for town in towns if heat_map.depth(town.at) <= depth)


_RANKS: Final = "123456789abcdefghijklmnopqrstuvwxyz"
_HALF_SHADE, _MOST_SHADE = "░", "·"  # half of the law, nine tenths
_TOWNS = 12  # names on one map
_TOWN_WITHIN = 50.0  # kilometers: a town as far as this is shown, even if the map is smaller


Signs = dict[tuple[int, int], tuple[str, "Ink"]]  # by the row and the column of a cell


class Ink(Enum):
    """What a cell shows: each with its sign. A result has that of its rank."""

    TOWN = "∘"
    PROBE = "◇"
    RESULT = "1"
    PICK = "★"
    SIGNAL = "◆"
    YOU = "●"
    YOU_AND_SIGNAL = "◈"


@dataclass(frozen=True)
class Scene:
    """What a map shows. results: best first. Private as a whole: it has the true place.

    picked: the index of the pick among the results, or None. drawn: whether the middle of the heat
    map is a signal, rather than the place from which one would be drawn. area: corners of what the
    map has besides its marks, such as a region's. A part that is not there is not drawn.
    """

    you: Position | None = field(default=None, repr=False)
    heat_map: PlaceHeatMap | None = field(default=None, repr=False)
    probes: tuple[Position, ...] = field(default=(), repr=False)
    results: tuple[Position, ...] = field(default=(), repr=False)
    picked: int | None = field(default=None, repr=False)
    towns: tuple[Town, ...] = field(default=(), repr=False)
    area: tuple[Position, ...] = field(default=(), repr=False)
    drawn: bool = True

    def frame(self, width: int, height: int) -> Frame:
        """Return a frame of this many cells, as `Frame.around`, that has every mark, half of the
        heat map, the area, and the town nearest to you if that is within 50 km; of a scene without
        any of these all towns.
        """
        marks = [*self.probes, *self.results, *([self.you] if self.you else [])]
        if self.heat_map is not None:
            marks += [self.heat_map.signal, *self.heat_map.outline(HALF)]
        if (you := self.you) is not None and self.towns:
            town = min(self.towns, key=lambda town: gap(town.at, you))
            marks += [town.at] if gap(town.at, you) <= _TOWN_WITHIN else []
        marks += self.area
        return Frame.around(marks or [town.at for town in self.towns], width, height)


def rank_sign(rank: int) -> str:
    """Return the one character that stands for a rank on the map: "1" to "9", "a" to "z" for 10 to
    35, beyond "+".
    """
    return _RANKS[rank - 1] if rank <= len(_RANKS) else "+"


def signs(scene: Scene, frame: Frame) -> Signs:
    """Return what stands in the cells of a frame, {(row, column): (sign, ink)}, without the empty
    cells: a mark's sign, or a letter of the names of at most 12 towns, the largest that there is
    room for. Names go over query points alone; of two marks in a cell, the later of `Ink` is seen,
    and "◈" for you and the signal.
    """
    marks = _marks(scene, frame)
    fixed = {at: sign for at, sign in marks.items() if sign[1] is not Ink.PROBE}
    return {**marks, **_names(scene.towns, frame, fixed), **fixed}


def depths(scene: Scene, frame: Frame, row: int) -> list[tuple[float, float]]:
    """Return of each cell of a row, from the west, the depth of the heat map in its upper and its
    lower half; infinite where there is none.
    """
    heat_map = scene.heat_map
    if heat_map is None:
        return [(inf, inf)] * frame.width
    upper, lower = (
        [heat_map.depth(frame.position(row + part, n)) for n in range(frame.width)]
        for part in (-0.25, 0.25)
    )
    return list(zip(upper, lower, strict=True))


def lines(scene: Scene, frame: Frame) -> tuple[str, ...]:
    """Return the map as text without color, a string a row, less the spaces at its end, and one
    with the scale last: where nothing stands, the heat map is a shade, "░" for half of the law, "·"
    for nine tenths.
    """
    marks, rows = signs(scene, frame), []
    for row in range(frame.height):
        halves = depths(scene, frame, row)
        cells = [(marks.get((row, n), (" ",))[0], shade(*halves[n])) for n in range(frame.width)]
        rows.append("".join(grey if sign == " " else sign for sign, grey in cells).rstrip())
    return (*rows, frame.scale())


def legend(scene: Scene, *, shaded: bool = True) -> tuple[str, ...]:
    """Return a phrase for each kind of sign that this scene has, in a fixed order: "● you", "◆ the
    noisy position", "◈ both", "◇ query points", "1 2 3 results in your order" (above 9 with ", then
    a b c"), "+ later results" (above 35), "★ your pick", "∘ town"; then of the heat map "░ you, 5
    times in 10" and "░ and · you, 9 times in 10", or, if it is not `shaded` but in color, "the
    brighter, the likelier you". Where no signal is drawn, "you" is "the noisy position" in these.
    """
    who = "you" if scene.drawn else "the noisy position"
    said = (
        (scene.you, "● you"),
        (scene.heat_map and scene.drawn, "◆ the noisy position"),
        (scene.you and scene.heat_map and scene.drawn, "◈ both"),
        (scene.probes, "◇ query points"),
        (scene.results, "1 2 3 results in your order" + ", then a b c" * (len(scene.results) > 9)),
        (len(scene.results) > len(_RANKS), "+ later results"),
        (scene.picked is not None, "★ your pick"),
        (scene.towns, "∘ town"),
        (scene.heat_map and shaded, f"{_HALF_SHADE} {who}, 5 times in 10"),
        (scene.heat_map and shaded, f"{_HALF_SHADE} and {_MOST_SHADE} {who}, 9 times in 10"),
        (scene.heat_map and not shaded, f"the brighter, the likelier {who}"),
    )
    return tuple(words for there, words in said if there)


def _marks(scene: Scene, frame: Frame) -> Signs:
    # Of two in one cell the one that matters more is seen.
    cells: Signs = {}
    for at, ink, sign in _signs(scene):
        cell = frame.cell(at)
        if cell is not None:
            both = ink is Ink.YOU and cell in cells and cells[cell][1] is Ink.SIGNAL
            shown = Ink.YOU_AND_SIGNAL if both else ink
            cells[cell] = (sign or shown.value, shown)
    return cells


def _signs(scene: Scene) -> Iterator[tuple[Position, Ink, str]]:
    # From what matters least; a sign of its own, or the ink's.
    for probe in scene.probes:
        yield probe, Ink.PROBE, ""
    for index in reversed(range(len(scene.results))):
        yield scene.results[index], Ink.RESULT, rank_sign(index + 1)
    if scene.picked is not None:
        yield scene.results[scene.picked], Ink.PICK, ""
    if scene.heat_map is not None and scene.drawn:
        yield scene.heat_map.signal, Ink.SIGNAL, ""
    if scene.you is not None:
        yield scene.you, Ink.YOU, ""


def _names(towns: Sequence[Town], frame: Frame, marks: Signs) -> Signs:
    # Names need room beside the marks and one another.
    taken, cells, named = set(marks), Signs(), 0
    middle, reach = frame.middle.latitude, frame.height * frame.km_a_row / KM_A_DEGREE
    near = (town for town in towns if abs(town.at.latitude - middle) <= reach)
    for town in sorted(near, key=lambda town: -town.population):
        if named == _TOWNS:
            break
        at, name = frame.cell(town.at), town.name
        # Else a name would move what stands beside it.
        is_narrow = all(east_asian_width(x) not in "WF" and not combining(x) for x in name)
        if at is None or not (name.isprintable() and is_narrow):
            continue
        # Where a mark stands on the town, the name stands beside it.
        sign, free = (" ", {at}) if at in marks else (Ink.TOWN.value, set())
        for text, start in ((f"{sign}{name}", at[1]), (f"{name}{sign}", at[1] - len(name))):
            end = start + len(text)
            room = {(at[0], column) for column in range(start - 1, end + 1)}
            if start >= 0 and end <= frame.width and not (room - free) & taken:
                taken |= room
                for step, letter in enumerate(text):
                    cells[at[0], start + step] = (letter, Ink.TOWN)
                named += 1
                break
    return cells


def shade(upper: float, lower: float) -> str:
    """Return the heat of a cell as a character, by the mean depth of its halves: "░" where half of
    the law lies, up to 1.678, "·" up to nine tenths of it, 3.890, else " ".
    """
    depth = (upper + lower) / 2
    return _HALF_SHADE if depth <= HALF else _MOST_SHADE if depth <= MOST else " "
