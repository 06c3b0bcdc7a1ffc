"""A position as a person types it: "50.94, 6.96". It is private, and no message repeats it."""

from __future__ import annotations

from typing import Final

from askew.errors import PlaceError
from askew.metric.position import Position

EXAMPLE: Final = "50.94, 6.96"


def position_typed(text: str) -> Position:
    """The position of two numbers of degrees, latitude first. Raises PlaceError."""
    from askew_client.places.reading import spot_of  # heavy: the app's first screen comes before it

    spot = spot_of(text)
    if not isinstance(spot, Position):
        raise PlaceError(f"a position is two numbers of degrees, such as {EXAMPLE}")
    return spot


def words_of(position: Position) -> str:
    """A position as it is typed, to ten meters."""
    return f"{position.latitude:.4f}, {position.longitude:.4f}"
