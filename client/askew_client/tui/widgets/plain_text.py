"""Text from outside on a fixed number of cells. Never markup, whatever it says."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def fitted(text: str, width: int) -> str:
    """The text on exactly `width` cells: padded, or cut with an ellipsis, wide characters whole."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)
