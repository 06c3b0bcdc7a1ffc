"""Two calm themes, shades of a heat map, and text on a fixed number of cells.

Warm stays on this device, cool leaves it: primary is what is private (the true profile, ratings,
the pick), secondary what is public or sent (the signal, offsets, results), accent the bent line.
$soft and $faint are the ink of what matters less.
"""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

DARK: Final = Theme(
    name="askew-dark",
    primary="#e6ab63",
    secondary="#6cbcb3",
    accent="#e0826f",
    success="#93b978",
    warning="#e0b45c",
    error="#e0796a",
    foreground="#dcd7cb",
    background="#15171c",
    surface="#1b1e25",
    panel="#262a33",
    dark=True,
    variables={
        "soft": "#9d998f",
        "faint": "#5c6069",
        "block-cursor-background": "#323743",
        "block-cursor-foreground": "#f4efe2",
        "block-cursor-text-style": "none",
        "border": "#6cbcb3",
        "border-blurred": "#363b47",
        "footer-key-foreground": "#e6ab63",
        "input-selection-background": "#6cbcb3 35%",
        "scrollbar": "#363b47",
        "scrollbar-hover": "#4a5060",
        "scrollbar-active": "#6cbcb3",
        "scrollbar-background": "#1b1e25",
    },
)

LIGHT: Final = Theme(
    name="askew-light",
    primary="#96550c",
    secondary="#14706a",
    accent="#a23c26",
    success="#3d6822",
    warning="#795500",
    error="#a5301f",
    foreground="#2d2b27",
    background="#f5f1e8",
    surface="#fcfaf4",
    panel="#e9e3d5",
    dark=False,
    variables={
        "soft": "#636055",
        "faint": "#b3aa97",
        "block-cursor-background": "#e4dbc7",
        "block-cursor-foreground": "#1d1b18",
        "block-cursor-text-style": "none",
        "border": "#14706a",
        "border-blurred": "#d3cab6",
        "footer-key-foreground": "#96550c",
        "input-selection-background": "#14706a 30%",
        "scrollbar": "#d3cab6",
        "scrollbar-hover": "#bdb29a",
        "scrollbar-active": "#14706a",
        "scrollbar-background": "#fcfaf4",
    },
)


STEPS: Final = 24
CHARACTERS: Final = " ·░▒▓█"  # more ink from each to the next


def is_without_color(app: App[object]) -> bool:
    """Return True where shades have to be characters: no color is wanted, or the terminal has fewer
    than 256.
    """
    return app.no_color or app.console.color_system not in {"truecolor", "256"}


def colors(ground: Color, peak: Color, strength: float, system: str | None) -> list[TerminalColor]:
    """Return 25 colors from the ground, in equal steps, towards the peak, the last one `strength`
    (0 to 1) of the way.

    system: "truecolor", or else the nearest of 256 colors, which do not rise by themselves: there a
    color whose contrast with the ground is less than that of the one before gives way to it.
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
    """Return the absolute difference between the brightness of two colors of Rich, from 0 to 1.
    Brightness: (299 red + 587 green + 114 blue) / 255,000, so 0.299 for "#ff0000" and black.
    """
    bright, dark = (Color(*each.get_truecolor()).brightness for each in (one, other))
    return abs(bright - dark)


class Inked(Widget):
    """A widget whose parts have inks of their own in the style sheet."""

    def ink(self, component: str) -> Style:
        """Return the style of a part by its component class, without a background of its own."""
        return self.get_component_rich_style(component, partial=True)


def fitted(text: str, width: int) -> str:
    """Return text in exactly `width` cells: padded with spaces, or cut with an ellipsis next to
    the last letter, wide characters whole: "ab… " of "ab def" in 4; "" for a width of 0 or less.
    """
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)
