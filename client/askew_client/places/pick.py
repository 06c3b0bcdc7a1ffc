"""The private choice among the k items of an answer: by distance, wishes and filters. Pure.

Nothing of it is ever sent, and nothing is asked again for it: where no item passes, that is said.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign

from askew.listing import Attribute, AttributeKind, Listing, Value
from askew_client.places.opening_hours import is_open
from askew_client.places.wishes import Wishes

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


def judged(  # noqa: PLR0913, PLR0917  # all that a choice depends on
    listings: Sequence[Listing],
    attributes: Sequence[Attribute],
    distances: Sequence[float],
    wishes: Wishes,
    own_rating: Callable[[str], float | None],
    now: datetime.datetime,
) -> tuple[Judged, ...]:
    """The items from best to worst: those that pass first, then by cost, ties to the lower id.

    cost = h(distance) - sum of h(worth), with h(d) = d**exponent. own_rating: the stars that the
    person gave a title, or None.
    """
    found: list[Judged] = []
    wishes = wishes.folded()
    for index, (listing, distance) in enumerate(zip(listings, distances, strict=True)):
        values = {each.name: value for each, value in zip(attributes, listing.values, strict=True)}
        worth = _worths(values, wishes, own_rating(listing.title))
        cost = _h(distance, wishes) - sum(_h(each, wishes) for each in worth)
        passes = _passes(values, attributes, wishes, now)
        found.append(Judged(index, distance, passes, cost))
    return tuple(sorted(found, key=lambda each: (not each.passes, each.cost, each.index)))


def missing(attributes: Sequence[Attribute], wishes: Wishes) -> tuple[str, ...]:
    """What wishes name and a collection does not have: such a filter lets nothing pass."""
    kinds = {each.name: each.kind for each in attributes}
    names = sorted(wishes.attributes - kinds.keys())
    limits = sorted(wishes.at_most.keys() & kinds.keys())
    names += [f"{each} as a number" for each in limits if kinds[each] is not AttributeKind.NUMBER]
    if wishes.open_now and not any(_tells_open(each) for each in attributes):
        names.append("opening hours")
    return tuple(names)


def stars(rating: float | None) -> float:
    """What a rating of the profile counts; a like is the best one."""
    return _LIKE if rating is None else rating


def _h(worth: float, wishes: Wishes) -> float:
    """The disutility of a distance, and with its sign what a wish weighs against it."""
    return copysign(abs(worth) ** wishes.exponent, worth)


def _worths(values: Mapping[str, Value], wishes: Wishes, rating: float | None) -> list[float]:
    likes = [
        kinds.get(word, 0.0)
        for name, kinds in wishes.likes.items()
        if (word := _word(values.get(name))) is not None
    ]
    own = 0.0 if rating is None else wishes.ratings * (rating - _MIDDLE)
    return [*likes, own]


def _passes(
    values: Mapping[str, Value],
    attributes: Sequence[Attribute],
    wishes: Wishes,
    now: datetime.datetime,
) -> bool:
    """Whether every filter lets it through; what is unknown does not pass."""
    kinds = all(_word(values.get(name)) in only for name, only in wishes.only.items())
    limits = all(_at_most(values.get(name), most) for name, most in wishes.at_most.items())
    return kinds and limits and (not wishes.open_now or _is_open(values, attributes, now))


def _word(value: Value) -> str | None:
    """A value as folded wishes name it; None where it is unknown."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value).casefold()


def _at_most(value: Value, most: float) -> bool:
    return isinstance(value, float) and value <= most


def _is_open(
    values: Mapping[str, Value], attributes: Sequence[Attribute], now: datetime.datetime
) -> bool:
    """By a flag where it is known, which may be live; else by the hours and the device's clock."""
    flags = [values[each.name] for each in attributes if _is_flag(each)]
    if any(flag is not None for flag in flags):
        return True in flags
    hours = [values[each.name] for each in attributes if each.kind is AttributeKind.HOURS]
    return any(isinstance(each, str) and is_open(each, now) for each in hours)


def _tells_open(attribute: Attribute) -> bool:
    return attribute.kind is AttributeKind.HOURS or _is_flag(attribute)


def _is_flag(attribute: Attribute) -> bool:
    name = attribute.name.casefold().replace("_", " ")
    return attribute.kind is AttributeKind.FLAG and name in _OPEN_FLAGS
