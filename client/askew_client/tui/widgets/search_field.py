"""A line to type a search into, which leaves keys with Alt to the screen."""

from __future__ import annotations

from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.events import Key
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input


class SearchField(Input):
    """Text is a search; the same keys with Alt do what they do elsewhere."""

    # As it was, but for the layout: the field is as wide whatever is typed, and a layout of the
    # whole screen draws everything twice, which is a fifth of a key press.
    virtual_size = Reactive(Size(0, 0))

    def on_key(self, event: Key) -> None:
        """A terminal sends the letter along with Alt, and Textual would type it."""
        if event.key.startswith("alt+"):
            event.prevent_default()


def read_alt_and_digits() -> None:
    """From now on Alt and a digit are a key.

    Textual reads them as the sign that a Mac's Option key types with the digit, which nobody could
    tell from the sign itself, such as the £ of a British keyboard.
    """
    table = cast("dict[str, object]", ANSI_SEQUENCES_KEYS)
    for digit in "12345":
        table.pop(f"\x1b{digit}", None)
