"""Items that came in answers and that the device does not hold: kept so that they can be rated.

What is kept is what a reply brought: the words, and the codes by which a space scores the item.
Another space reads codes in another way, so they go with their space. Nothing fetches an item again
by its number: which ones matter to a person would show in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from askew.catalog.item import Item
from askew.errors import ProfileError
from askew.limits import MAX_RANKING_DIMENSION

MAX_RECEIVED = 1000
_MOST_BYTES = (MAX_RANKING_DIMENSION + 1) // 2


@dataclass(frozen=True)
class ReceivedItem:
    """One item: its words, its 4-bit codes in its space, and the code of its boost.

    Raises ProfileError for codes that no space has.
    """

    item: Item = field(repr=False)
    codes: bytes = field(repr=False)
    boost: int = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.codes) <= _MOST_BYTES or not 0 <= self.boost <= 255:
            raise ProfileError("an item that was met has codes that no space has")

    def to_json(self) -> list[Any]:
        """As text and numbers."""
        words = self.item.title, self.item.year, self.item.genres
        return [*words, self.codes.hex(), self.boost]

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> Self:
        """The inverse. Raises AskewError, ValueError or TypeError for anything else."""
        title, year, genres, codes, boost = value
        return cls(Item(title, year, tuple(genres)), bytes.fromhex(codes), int(boost))


@dataclass(frozen=True)
class ReceivedItems:
    """The items met last, oldest first, and the version of the one space that they are of."""

    space_version: str = ""
    items: tuple[ReceivedItem, ...] = field(default=(), repr=False)

    def joined(self, space_version: str, new: Iterable[ReceivedItem]) -> ReceivedItems:
        """With more items, all of them; those of another space go, and the oldest of too many."""
        before = self.items if space_version == self.space_version else ()
        by_label = {each.item.label: each for each in before}
        latest = {each.item.label: each for each in new}
        for label in latest:
            by_label.pop(label, None)  # what is met again is the newest
        kept = tuple((by_label | latest).values())
        return ReceivedItems(space_version, kept[-max(MAX_RECEIVED, len(latest)) :])

    def only(self, kept: Callable[[str], bool]) -> ReceivedItems:
        """Those whose label is kept."""
        items = tuple(each for each in self.items if kept(each.item.label))
        return ReceivedItems(self.space_version, items)

    def to_json(self) -> dict[str, Any]:
        """As text and numbers."""
        return {"space": self.space_version, "items": [each.to_json() for each in self.items]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse. Raises AskewError, ValueError, KeyError or TypeError for anything else."""
        return cls(str(value["space"]), tuple(map(ReceivedItem.from_json, value["items"])))
