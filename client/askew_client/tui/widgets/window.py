"""A part of a screen that scrolls, by keys as well where it does not fit."""

from __future__ import annotations

from textual.containers import VerticalScroll


class Window(VerticalScroll):
    """Tab reaches it, and arrows scroll it, while there is more than it shows."""

    def allow_focus(self) -> bool:
        """Whether there is anything to scroll."""
        return self.max_scroll_y > 0
