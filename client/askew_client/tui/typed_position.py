"""A position as a person types it: "50.94, 6.96" or "Köln". Private: no message repeats it."""

from __future__ import annotations

from typing import Final

from askew.errors import PlaceError
from askew.spaces.map import Position

EXAMPLE: Final = "50.94, 6.96"


def position_typed(text: str, region: str = "") -> Position:
    """The position of two numbers of degrees, latitude first, or of a town. Raises PlaceError."""
    from askew_client.near.reading import spot_of  # heavy: the app's first screen comes before it

    spot = spot_of(text, region)
    if not isinstance(spot, Position):
        raise PlaceError(f"a position is a town, or two numbers of degrees: {EXAMPLE}")
    return spot


def words_of(position: Position) -> str:
    """A position as it is typed, to ten meters."""
    return f"{position.latitude:.4f}, {position.longitude:.4f}"
