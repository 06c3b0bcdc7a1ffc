"""Bars of half a cell's precision, drawn with heavy lines: the same characters in every terminal."""

from __future__ import annotations

from rich.text import Text


def growing(share: float, width: int) -> str:
    """A bar from the left, share of it full, padded to `width` cells."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(width)


def diverging(value: float, low: float, high: float, width: int) -> tuple[str, str, str]:
    """A bar from zero towards `value` as (left of zero, the zero mark, right of zero)."""
    reach = max(abs(low), abs(high)) or 1.0
    side = (width - 1) // 2
    bar = growing(abs(value) / reach, side)
    if value >= 0:
        return " " * side, "│", bar
    return bar[::-1].replace("╸", "╺"), "│", " " * side


def number_line(width: int) -> Text:
    """An empty line with its zero in the middle."""
    line = Text("─" * width)
    return line
