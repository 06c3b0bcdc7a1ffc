"""Which part of the ground a map in characters shows, and which cell a position is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import cos, floor, log10, pi, radians
from typing import Final

from askew.spaces.metric.position import Position

KM_A_DEGREE: Final = 6371.0088 * pi / 180  # on a sphere of the Earth's size
_NARROWEST, _WIDEST = 0.01, 1000.0  # kilometers a row
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
    def around(
        cls, positions: Sequence[Position], width: int, height: int, *, least_km: float = 1.0
    ) -> Frame:
        """The closest frame that has all these positions; at least so many kilometers high.

        Longitudes count from the first position, so no two are torn apart at 180 degrees.
        """
        width, height = max(4, width), max(3, height)
        if not positions:
            return cls(Position(0, 0), _WIDEST / height, width, height)
        first = positions[0].longitude
        east = [(each.longitude - first + 180) % 360 - 180 for each in positions]
        north = [each.latitude for each in positions]
        middle = _kept((min(north) + max(north)) / 2, first + (min(east) + max(east)) / 2)
        wide = (max(east) - min(east)) * KM_A_DEGREE * _cosine(middle) / (width - 1) * 2
        high = (max(north) - min(north)) * KM_A_DEGREE / (height - 1)
        km_a_row = max(_MARGIN * max(wide, high), least_km / height)
        return cls(middle, min(km_a_row, _WIDEST), width, height)

    def cell(self, at: Position) -> tuple[int, int] | None:
        """The row and the column of a position, or None if it lies outside."""
        east = (at.longitude - self.middle.longitude + 180) % 360 - 180
        x = east * KM_A_DEGREE * _cosine(self.middle)
        y = (at.latitude - self.middle.latitude) * KM_A_DEGREE
        column = round((self.width - 1) / 2 + 2 * x / self.km_a_row)
        row = round((self.height - 1) / 2 - y / self.km_a_row)
        inside = 0 <= row < self.height and 0 <= column < self.width
        return (row, column) if inside else None

    def position(self, row: float, column: float) -> Position:
        """The position at the middle of a cell, kept on Earth."""
        x = (column - (self.width - 1) / 2) * self.km_a_row / 2
        y = ((self.height - 1) / 2 - row) * self.km_a_row
        east = x / (KM_A_DEGREE * _cosine(self.middle))
        return _kept(self.middle.latitude + y / KM_A_DEGREE, self.middle.longitude + east)

    def zoomed(self, factor: float, at: Position) -> Frame:
        """A frame around another position, with this many times the kilometers a row."""
        km_a_row = max(_NARROWEST, min(_WIDEST, self.km_a_row * factor))
        return replace(self, middle=at, km_a_row=km_a_row)

    def resized(self, width: int, height: int) -> Frame:
        """The same middle and scale on other cells."""
        return replace(self, width=max(4, width), height=max(3, height))

    def scale(self, *, plain: bool = False) -> str:
        """A bar of 1, 2 or 5 times a power of ten kilometers, in at most a third of the width.

        plain: in ASCII.
        """
        most = self.width / 3 * self.km_a_row / 2
        power = 10.0 ** floor(log10(most))
        length = max(step for step in (1, 2, 5) if step * power <= most * (1 + 1e-9)) * power
        cells = max(2, round(2 * length / self.km_a_row) + 1)
        left, line, right = ("|", "-", "|") if plain else ("├", "─", "┤")
        words = f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
        return f"{left}{line * (cells - 2)}{right} {words}"


def _cosine(middle: Position) -> float:
    return max(_LEAST_COSINE, cos(radians(middle.latitude)))


def _kept(latitude: float, longitude: float) -> Position:
    return Position(max(-90.0, min(90.0, latitude)), (longitude + 180) % 360 - 180)
