"""A position as a person types it: "50.94, 6.96". It is private, and no message repeats it."""

from __future__ import annotations

import re

from askew.errors import PlaceError
from askew.metric.position import Position

EXAMPLE = "50.94, 6.96"


def position_typed(text: str) -> Position:
    """The position of two numbers of degrees, latitude first. Raises PlaceError."""
    parts = [part for part in re.split(r"[,;\s]+", text.strip()) if part]
    try:
        latitude, longitude = map(float, parts)
    except ValueError:
        limit = f"two numbers of degrees, latitude first, such as {EXAMPLE}"
        raise PlaceError(f"a position is {limit}") from None
    return Position(latitude, longitude)


def words_of(position: Position) -> str:
    """A position as it is typed, to ten meters."""
    return f"{position.latitude:.4f}, {position.longitude:.4f}"
