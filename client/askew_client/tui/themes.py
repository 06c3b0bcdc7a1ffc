"""Two calm themes that say one thing by color: warm stays on this device, cool leaves it.

primary is the warm color of what is private (the true profile, ratings, the pick), secondary the
cool one of what is public or sent (the signal, offsets, results), accent the bent line. $soft and
$faint are the ink of what matters less.
"""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

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
