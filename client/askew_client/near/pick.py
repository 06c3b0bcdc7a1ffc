"""The private choice among the k items of an answer: by distance, wishes and filters. Pure.

Nothing of it is ever sent, and nothing is asked again for it: where no item passes, that is said.

Every wish and filter is judged for every item, whoever wishes what: there is no early exit, and the
columns of the collection, which are public, are gone through and not the wishes. So a server that
makes an item dear to judge makes it as dear for everybody.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign, inf

from askew.catalog.listing import Attribute, AttributeKind, Listing, Value
from askew.catalog.title_key import title_key
from askew.errors import maybe
from askew_client.near.opening_hours import is_open
from askew_client.near.wishes import Wishes

_OPEN_FLAGS = frozenset({"open", "open now"})
_MIDDLE = 3.0  # stars: what a rating of one's own that says nothing has
_LIKE = 5.0


@dataclass(frozen=True)
class Judged:
    """One item: its index in the answer, its distance, whether it passes, and its cost."""

    index: int
    distance: float = field(repr=False)
    passes: bool = field(repr=False)
    cost: float = field(repr=False)


@dataclass(frozen=True)
class _Column:
    """What is wished of one attribute: the worths of its kinds, and its filters."""

    likes: Mapping[str, float] = field(repr=False)
    only: frozenset[str] = field(repr=False)
    any_kind: bool = field(repr=False)
    most: float = field(repr=False)
    any_number: bool = field(repr=False)

    @classmethod
    def of(cls, name: str, wishes: Wishes) -> _Column:
        return cls(
            likes=wishes.likes.get(name, {}),
            only=wishes.only.get(name, frozenset()),
            any_kind=name not in wishes.only,
            most=wishes.at_most.get(name, inf),
            any_number=name not in wishes.at_most,
        )

    def worth(self, value: Value) -> float:
        """In kilometers, or in units of distance."""
        word = _word(value)
        return self.likes.get(word, 0.0) if word is not None else 0.0

    def lets(self, value: Value) -> bool:
        """Whether both filters let it through; what is unknown does not pass."""
        is_kind, is_low = _word(value) in self.only, _number(value) <= self.most
        return (is_kind | self.any_kind) & (is_low | self.any_number)


def judged(  # noqa: PLR0913, PLR0917  # all that a choice depends on
    listings: Sequence[Listing],
    attributes: Sequence[Attribute],
    distances: Sequence[float],
    wishes: Wishes,
    own_stars: Mapping[str, float],
    now: datetime.datetime,
) -> tuple[Judged, ...]:
    """The items from best to worst: those that pass first, then by cost, ties to the lower id.

    cost = h(distance) - sum of h(worth), with h(d) = d**exponent. own_stars: what the person gave
    titles, by `title_key`.

    Work: the same steps for all wishes and ratings; linear in the length of every text.
    """
    columns = [_Column.of(each.name, wishes) for each in attributes]
    filtered = wishes.only.keys() | wishes.at_most.keys()
    known = filtered <= {each.name for each in attributes}
    found: list[Judged] = []
    for index, (listing, distance) in enumerate(zip(listings, distances, strict=True)):
        pairs = [*zip(columns, listing.values, strict=True)]
        own = wishes.ratings * (own_stars.get(title_key(listing.title), _MIDDLE) - _MIDDLE)
        worths = [column.worth(value) for column, value in pairs]
        cost = _h(distance, wishes) - sum([_h(each, wishes) for each in (*worths, own)])
        lets = [column.lets(value) for column, value in pairs]
        is_now = _is_open(attributes, listing.values, now) | (not wishes.open_now)
        found.append(Judged(index, distance, known & all(lets) & is_now, cost))
    return tuple(sorted(found, key=lambda each: (not each.passes, each.cost, each.index)))


def missing(attributes: Sequence[Attribute], wishes: Wishes) -> tuple[str, ...]:
    """What wishes name and a collection does not have: such a filter lets nothing pass."""
    kinds = {each.name: each.kind for each in attributes}
    names = [f"{each}{maybe(each, kinds)}" for each in sorted(wishes.attributes - kinds.keys())]
    limits = sorted(wishes.at_most.keys() & kinds.keys())
    names += [f"{each} as a number" for each in limits if kinds[each] is not AttributeKind.NUMBER]
    for each in attributes:
        words = {word.casefold(): word for word in each.words}
        wished = {*wishes.likes.get(each.name, ()), *wishes.only.get(each.name, ())}
        unknown = sorted(wished - words.keys()) if words else ()
        names += [f"{each.name} {word}{maybe(word, words.values())}" for word in unknown]
    if wishes.open_now and not any(_tells_open(each) for each in attributes):
        names.append("opening hours")
    return tuple(names)


def stars(rating: float | None) -> float:
    """What a rating of the profile counts; a like is the best one."""
    return _LIKE if rating is None else rating


def _h(worth: float, wishes: Wishes) -> float:
    """The disutility of a distance, and with its sign what a wish weighs against it."""
    return copysign(abs(worth) ** wishes.exponent, worth)


def _word(value: Value) -> str | None:
    """A value as wishes name it; None where it is unknown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value).casefold()


def _number(value: Value) -> float:
    """A value as limits compare it; beyond every limit where it is none."""
    return value if isinstance(value, float) else inf


def _is_open(
    attributes: Sequence[Attribute], values: Sequence[Value], now: datetime.datetime
) -> bool:
    """By a flag where it is known, which may be live; else by the hours and the device's clock."""
    pairs = [*zip(attributes, values, strict=True)]
    flags = [value for each, value in pairs if _is_flag(each) and value is not None]
    texts = [value for each, value in pairs if each.kind is AttributeKind.HOURS]
    opened = [bool(is_open(each, now)) for each in texts if isinstance(each, str)]
    return True in (flags or opened)


def _tells_open(attribute: Attribute) -> bool:
    return attribute.kind is AttributeKind.HOURS or _is_flag(attribute)


def _is_flag(attribute: Attribute) -> bool:
    name = attribute.name.casefold().replace("_", " ")
    return attribute.kind is AttributeKind.FLAG and name in _OPEN_FLAGS
