"""What the screen of the profile asks of the device, in a thread: values in and values out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from askew_client.tui.profile_words import LIMIT
from askew_client.views.answers import Match, Title

if TYPE_CHECKING:
    from askew_client.device.device import Companion


def found(device: Companion, text: str, *, only_rated: bool) -> Sequence[Match]:
    """Matches of the catalog; without a catalog, or on request, what the person rated."""
    if device.locked:
        return ()
    if device.connection is not None and not only_rated:
        return device.search(text, LIMIT)
    words = text.casefold().split() if not only_rated else ()
    return tuple(
        Match(Title(rated.label, rated.label), rated)
        for rated in device.ratings()
        if all(word in rated.label.casefold() for word in words)
    )


def undo(device: Companion) -> str:
    """Take the last edit back, and say so."""
    changed = device.undo()
    return "Undone." if changed else "There is nothing to undo."
