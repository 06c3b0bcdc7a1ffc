"""A line to type a search into, which leaves keys with Alt to the screen."""

from __future__ import annotations

from textual.events import Key
from textual.widgets import Input


class SearchField(Input):
    """Text is a search; the same keys with Alt do what they do elsewhere."""

    def on_key(self, event: Key) -> None:
        """A terminal sends the letter along with Alt, and Textual would type it."""
        if event.key.startswith("alt+"):
            event.prevent_default()
