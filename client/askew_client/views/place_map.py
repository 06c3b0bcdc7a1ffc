"""A map in characters: you, the signal, where the server looks, what came back, and the glow.

Pure: positions and a frame in, cells out. Whoever shows them gives the cells their colors; `lines`
is the same map without any. Nothing from a server is drawn but positions: no title, no markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final
from unicodedata import combining, east_asian_width, normalize

from askew.spaces.metric.position import Position
from askew_client.views.map_frame import Frame
from askew_client.views.place_glow import HALF, MOST, PlaceGlow, Town

_RANKS: Final = "123456789abcdefghijklmnopqrstuvwxyz"
_SHADES: Final = (("░", "·"), (":", "."))  # half of the law, nine tenths; the same in ASCII
_TOWNS = 12  # names on one map


Cells = dict[tuple[int, int], "Cell"]


class Ink(Enum):
    """What a cell shows, each with its sign and its sign in plain ASCII."""

    NOTHING = (" ", " ")
    TOWN = ("∘", "o")
    PROBE = ("◇", "+")
    RESULT = ("1", "1")
    PICK = ("★", "*")
    SIGNAL = ("◆", "#")
    YOU = ("●", "@")
    YOU_AND_SIGNAL = ("◈", "%")
    CURSOR = ("╋", "X")

    def sign(self, *, plain: bool) -> str:
        """Its sign; plain: in ASCII."""
        return self.value[plain]


@dataclass(frozen=True)
class Cell:
    """One cell. upper and lower: the depth of the glow in its two halves, infinite where there is
    none. sign: a sign of its ink, or a letter of a town's name.
    """

    sign: str = " "
    ink: Ink = Ink.NOTHING
    upper: float = field(default=float("inf"), repr=False)
    lower: float = field(default=float("inf"), repr=False)


@dataclass(frozen=True)
class Scene:
    """What a map shows. results: best first. Private as a whole: it has the true place.

    picked: the index of the pick among the results, or None. drawn: whether the middle of the glow
    is a signal, rather than the place from which one would be drawn. A part that is not there is
    not drawn.
    """

    you: Position | None = field(default=None, repr=False)
    glow: PlaceGlow | None = field(default=None, repr=False)
    probes: tuple[Position, ...] = field(default=(), repr=False)
    results: tuple[Position, ...] = field(default=(), repr=False)
    picked: int | None = field(default=None, repr=False)
    towns: tuple[Town, ...] = field(default=(), repr=False)
    cursor: Position | None = field(default=None, repr=False)
    drawn: bool = True

    def frame(self, width: int, height: int) -> Frame:
        """A frame of so many cells that has every mark, and half of the glow."""
        marks = [*self.probes, *self.results, *(at for at in (self.you, self.cursor) if at)]
        if self.glow is not None:
            marks += [self.glow.signal, *self.glow.outline(HALF)]
        return Frame.around(marks, width, height)


def probes_around(glow: PlaceGlow, offsets: Sequence[Sequence[float]]) -> tuple[Position, ...]:
    """Where a rule looks: its offsets (k, 2), in kilometers of the device's plane, on the map."""
    return tuple(glow.position(x, y) for x, y in offsets)


def rank_sign(rank: int) -> str:
    """The sign of a result on the map: 1 to 9, then a to z; beyond, a plus."""
    return _RANKS[rank - 1] if rank <= len(_RANKS) else "+"


def draw(scene: Scene, frame: Frame, *, plain: bool = False) -> tuple[tuple[Cell, ...], ...]:
    """The cells, row by row from the north."""
    marks = _marks(scene, frame, plain=plain)
    marks = {**_names(scene.towns, frame, marks, plain=plain), **marks}
    rows = []
    for row in range(frame.height):
        cells = [marks.get((row, column), Cell()) for column in range(frame.width)]
        if scene.glow is not None:
            glow = scene.glow
            cells = [_lit(cell, glow, frame, row, column) for column, cell in enumerate(cells)]
        rows.append(tuple(cells))
    return tuple(rows)


def lines(scene: Scene, frame: Frame, *, plain: bool = False) -> tuple[str, ...]:
    """The map as text, without color: blanks of the glow become shades. Then the scale."""
    rows = tuple(
        "".join(shade(cell, plain=plain) if cell.sign == " " else cell.sign for cell in row)
        for row in draw(scene, frame, plain=plain)
    )
    return (*(row.rstrip() for row in rows), frame.scale(plain=plain))


def legend(scene: Scene, *, plain: bool = False, shaded: bool = True) -> tuple[str, ...]:
    """What the signs on this map mean, a phrase each: only of what it has.

    shaded: the glow is in characters, and not in color.
    """
    ink = {each: each.sign(plain=plain) for each in Ink}
    half, most = _SHADES[plain]
    who = "you" if scene.drawn else "the signal"
    said = (
        (scene.you, f"{ink[Ink.YOU]} you"),
        (scene.glow and scene.drawn, f"{ink[Ink.SIGNAL]} the signal"),
        (scene.probes, f"{ink[Ink.PROBE]} probes"),
        (scene.results, "1 2 3 results in your order"),
        (scene.picked is not None, f"{ink[Ink.PICK]} your pick"),
        (scene.towns, f"{ink[Ink.TOWN]} town"),
        (scene.glow and shaded, f"{half} {who}, 5 times in 10"),
        (scene.glow and shaded, f"{half} and {most} {who}, 9 times in 10"),
        (scene.glow and not shaded, f"the brighter, the likelier {who}"),
    )
    return tuple(words for there, words in said if there)


def _marks(scene: Scene, frame: Frame, *, plain: bool) -> Cells:
    """The marks by their cells; of two in one cell the one that matters more is seen."""
    found: Cells = {}
    for at, ink, sign in _signs(scene):
        cell = frame.cell(at)
        if cell is not None:
            both = ink is Ink.YOU and cell in found and found[cell].ink is Ink.SIGNAL
            shown = Ink.YOU_AND_SIGNAL if both else ink
            found[cell] = Cell(sign or shown.sign(plain=plain), shown)
    return found


def _signs(scene: Scene) -> Iterator[tuple[Position, Ink, str]]:
    """What is marked where, from what matters least; a sign of its own, or the ink's."""
    for probe in scene.probes:
        yield probe, Ink.PROBE, ""
    for index in reversed(range(len(scene.results))):
        yield scene.results[index], Ink.RESULT, rank_sign(index + 1)
    if scene.picked is not None:
        yield scene.results[scene.picked], Ink.PICK, ""
    if scene.glow is not None and scene.drawn:
        yield scene.glow.signal, Ink.SIGNAL, ""
    if scene.you is not None:
        yield scene.you, Ink.YOU, ""
    if scene.cursor is not None:
        yield scene.cursor, Ink.CURSOR, ""


def _names(towns: Sequence[Town], frame: Frame, marks: Cells, *, plain: bool) -> Cells:
    """The largest towns of the frame whose names have room beside the marks and each other."""
    taken, found, named = set(marks), Cells(), 0
    for town in sorted(towns, key=lambda each: -each.population):
        at, name = frame.cell(town.at), _in_ascii(town.name) if plain else town.name
        if at is None or named == _TOWNS or not _one_cell_each(name):
            continue
        # Where a mark stands on the town, the name stands beside it.
        sign, free = (" ", {at}) if at in marks else (Ink.TOWN.sign(plain=plain), set())
        for text, start in ((f"{sign}{name}", at[1]), (f"{name}{sign}", at[1] - len(name))):
            end = start + len(text)
            room = {(at[0], column) for column in range(start - 1, end + 1)}
            if start >= 0 and end <= frame.width and not (room - free) & taken:
                taken |= room
                for step, letter in enumerate(text):
                    found[at[0], start + step] = Cell(letter, Ink.TOWN)
                named += 1
                break
    return found


def _in_ascii(name: str) -> str:
    """A name without its accents, and with a question mark for what has no letter in ASCII."""
    bare = "".join(each for each in normalize("NFKD", name) if not combining(each))
    return bare.encode("ascii", "replace").decode()


def _one_cell_each(name: str) -> bool:
    """Whether every letter takes one cell, so that a name moves nothing beside it."""
    narrow = all(east_asian_width(each) not in "WF" and not combining(each) for each in name)
    return name.isprintable() and narrow


def _lit(cell: Cell, glow: PlaceGlow, frame: Frame, row: int, column: int) -> Cell:
    upper, lower = (glow.depth(frame.position(row + part, column)) for part in (-0.25, 0.25))
    return replace(cell, upper=upper, lower=lower)


def shade(cell: Cell, *, plain: bool = False) -> str:
    """The glow of a cell as a character."""
    depth = (cell.upper + cell.lower) / 2
    half, most = _SHADES[plain]
    return half if depth <= HALF else most if depth <= MOST else " "
