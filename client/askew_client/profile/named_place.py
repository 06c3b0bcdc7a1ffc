"""A place or a value that the person has named, as the profile keeps it. Private.

Its handle is random and stands for its signal in the ledger: what is named again, or moved, has
another one, and nothing of the place can be read from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from askew.errors import PlaceError
from askew.limits import MAX_AXES
from askew.noise.randomness import RandomBits
from askew.spaces.map import Position

MAX_PLACES: Final = 100
_HANDLE_BYTES = 16
_NAME = re.compile(r"[^\W_][\w .'-]{0,39}")


@dataclass(frozen=True)
class AxisValues:
    """Values on axes, by the name of the axis: {"hour": 8.5}. Raises PlaceError."""

    values: Mapping[str, float] = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= MAX_AXES:
            raise PlaceError(f"a place on axes has 1 to {MAX_AXES} values")
        if not all(name and name.isprintable() for name in self.values):
            raise PlaceError("an axis needs a name of printable characters")
        if not all(isfinite(value) for value in self.values.values()):
            raise PlaceError("a value on an axis must be a finite number")


Spot = Position | AxisValues


@dataclass(frozen=True)
class NamedPlace:
    """Where it truly is, and the handle of its signal."""

    handle: str = field(repr=False)
    spot: Spot = field(repr=False)

    def __post_init__(self) -> None:
        if re.fullmatch(f"[0-9a-f]{{{2 * _HANDLE_BYTES}}}", self.handle) is None:
            raise PlaceError("the handle of a place is damaged")

    @property
    def is_position(self) -> bool:
        """Whether its signal belongs to the person alone, and not to a server's space."""
        return isinstance(self.spot, Position)

    def to_json(self) -> dict[str, Any]:
        """As the profile and a copied place hold it."""
        if isinstance(self.spot, Position):
            return {"handle": self.handle, "position": [self.spot.latitude, self.spot.longitude]}
        return {"handle": self.handle, "values": dict(self.spot.values)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NamedPlace:
        """The inverse. Raises PlaceError, KeyError, TypeError, ValueError for anything else."""
        if "position" in value:
            latitude, longitude = value["position"]
            return cls(value["handle"], Position(float(latitude), float(longitude)))
        values = {str(name): float(number) for name, number in dict(value["values"]).items()}
        return cls(value["handle"], AxisValues(values))


def new_handle(bits: RandomBits) -> str:
    """A name that nobody has used, and that says nothing."""
    return bits.read(_HANDLE_BYTES).hex()


def check_name(name: str) -> None:
    """Raises PlaceError for what is no name of a place; the name is not repeated."""
    if _NAME.fullmatch(name) is None:
        limit = "1 to 40 letters, digits, spaces and . ' - _, and begins with a letter or a digit"
        raise PlaceError(f"the name of a place has {limit}")
