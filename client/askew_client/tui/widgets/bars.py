"""Bars of half a cell's precision, drawn with heavy lines: the same in every terminal."""

from __future__ import annotations


def growing(share: float, width: int) -> str:
    """A bar from the left, `share` of it full, padded to `width` cells."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(width)


def diverging(value: float, reach: float, side: int) -> tuple[str, str]:
    """A bar from the middle towards `value`, `reach` being the end of either side of `side` cells.

    Returns what stands left of the middle, and right of it.
    """
    bar = growing(abs(value) / reach, side)
    return (" " * side, bar) if value >= 0 else (bar[::-1].replace("╸", "╺"), " " * side)


def place_on(value: float, lowest: float, highest: float, width: int) -> int:
    """The cell of a line of `width` cells on which a value lies; beyond an end, the end."""
    share = (value - lowest) / (highest - lowest)
    return round(min(max(share, 0.0), 1.0) * (width - 1))
