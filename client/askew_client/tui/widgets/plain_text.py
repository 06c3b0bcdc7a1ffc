"""Text from outside on a fixed number of cells. Never markup, whatever it says."""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.text import Text


def fitted(text: str, width: int, style: str = "") -> Text:
    """The text on exactly `width` cells: padded, or cut with an ellipsis, wide characters whole."""
    line = Text(text, style=style, no_wrap=True, end="")
    line.truncate(max(width, 0), overflow="ellipsis")
    return Text(set_cell_size(line.plain, max(width, 0)), style=style, no_wrap=True, end="")
