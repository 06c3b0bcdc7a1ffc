"""Text on a fixed number of cells, in inks of the style sheet; never markup, whatever it says."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from textual.widget import Widget


class Inked(Widget):
    """A widget whose parts have inks of their own in the style sheet."""

    def ink(self, component: str) -> Style:
        """Return the style of a part by its component class, without a background of its own."""
        return self.get_component_rich_style(component, partial=True)


def fitted(text: str, width: int) -> str:
    """Return text in exactly `width` cells: padded with spaces, or cut with an ellipsis at the end,
    wide characters whole; "" for a width of 0.
    """
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)
