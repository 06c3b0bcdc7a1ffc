"""Text on a fixed number of cells, in inks of the style sheet; never markup, whatever it says."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from textual.widget import Widget


class Inked(Widget):
    """A widget whose parts have inks of their own in the style sheet."""

    def ink(self, component: str) -> Style:
        """Return the ink of a part, over whatever ground there is."""
        return self.get_component_rich_style(component, partial=True)


def fitted(text: str, width: int) -> str:
    """Pad text to `width` cells, or cut it with an ellipsis, wide characters whole."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + "…", width)
