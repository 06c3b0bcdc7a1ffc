"""Shades of a heat map, further from the ground step by step, in what a terminal has for it."""

from __future__ import annotations

from typing import Final

from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from textual.app import App
from textual.color import Color

STEPS: Final = 24
CHARACTERS: Final = " ·░▒▓█"  # more ink from each to the next


def is_without_color(app: App[object]) -> bool:
    """Return True where shades have to be characters: no color is wanted, or the terminal has fewer
    than 256.
    """
    return app.no_color or app.console.color_system not in {"truecolor", "256"}


def colors(ground: Color, peak: Color, strength: float, system: str | None) -> list[TerminalColor]:
    """Return STEPS + 1 colors from the ground towards the peak, the last one `strength` (0 to 1) of
    the way.

    system: "truecolor", or "256", whose nearest colors do not rise by themselves: there a color
    whose contrast with the ground is less than that of the one before gives way to it.
    """
    mixed = [ground.blend(peak, strength * step / STEPS) for step in range(STEPS + 1)]
    exact = [TerminalColor.parse(color.hex6) for color in mixed]
    if system == "truecolor":
        return exact
    near = [color.downgrade(ColorSystem.EIGHT_BIT) for color in exact]
    rising = near[:1]
    for color in near[1:]:
        further = contrast(color, near[0]) >= contrast(rising[-1], near[0])
        rising.append(color if further else rising[-1])
    return rising


def contrast(one: TerminalColor, other: TerminalColor) -> float:
    """Return the absolute difference between the brightness of two colors, from 0 to 1."""
    bright, dark = (Color(*each.get_truecolor()).brightness for each in (one, other))
    return abs(bright - dark)
