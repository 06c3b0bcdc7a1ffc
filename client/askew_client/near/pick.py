"""What a person wants of a result besides being near, and the private choice by that among the k
items of an answer. Pure.

Nothing of it is ever sent, and no second question follows: where no item passes, the answer says
so. So a person may change their preferences as often as they like, and nobody hears.

The device judges every preference and filter for every item, whatever they are: there is no early
exit, and it goes through the columns of the collection, which are public, and not through the
preferences. So a server that makes an item slow to judge makes it as slow for everybody.

A like is worth kilometers (on axes, units of distance): a liked kind weighs as much as being so
much nearer. A trade says how many kilometers one of a unit is worth, such as a EUR. With the
disutility h(d) = d**exponent, the cost of a result is

    h(distance + sum of trade * number) - sum of h(worth) of what it has,

h of what is below zero being that of its size, taken away.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import copysign, inf
from string import ascii_lowercase
from typing import Any, Final

from askew.catalog.item import Attribute, AttributeKind, Listing, Value, title_key
from askew.errors import PreferenceError, maybe
from askew_client.views.answers import NearAnswer, Rated

EXAMPLE: Final = "open, kind = bakery | café, price <= 10, kind: curry house +2, 1 EUR = 2 km"
_COMMENT = re.compile(r'("[^"\n]*")|#[^\n]*')  # none within quotes
_PARTS = re.compile(r'(?:[^,\n"]|"[^"\n]*")+')
_ONLY = re.compile(r"([^=<>:]+)=([^=<:]+)")
_AT_MOST = re.compile(r"([^=<>:]+)<=?\s*(-?\d+(?:\.\d+)?)")
_TRADE = re.compile(r"1\s+([^=<:]+)=\s*([+-]?\d+(?:\.\d+)?)(?:\s*km)?")
_LIKED = re.compile(r"([^=<:]+):(.+?)\s([+-]\d+(?:\.\d+)?)(?:\s*km)?")
_NUMBER = re.compile(r"(stars|exponent)\s+([+-]?\d+(?:\.\d+)?)")
MOST: Final = 1e12  # of a worth or a limit: its fourth power is far from overflowing


@dataclass(frozen=True)
class Preferences:
    """likes: {attribute: {kind: worth}}. trades: {unit: kilometers that one is worth}, of numbers
    in that unit, or of that name where they have no unit. only: {attribute: kinds}, at_most:
    {attribute: number} and open_now are filters; what is unknown of a result does not pass.
    ratings: what a star above three of the person's own rating of a title is worth. Kinds and units
    are words in any case, kept in small letters; of a flag they are "yes" and "no". Raises
    PreferenceError, which repeats nothing of them.
    """

    likes: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    only: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    at_most: Mapping[str, float] = field(default_factory=dict, repr=False)
    open_now: bool = field(default=False, repr=False)
    ratings: float = field(default=0.0, repr=False)
    exponent: float = field(default=1.0, repr=False)
    trades: Mapping[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        fold = str.casefold
        if not isinstance(self.open_now, bool):
            raise PreferenceError("open_now must be true or false")
        for field_name, form, read in (
            (
                "likes",
                'such as {"kind": {"bakery": 3}}',
                lambda: {
                    name: {_kind(kind): _number(worth) for kind, worth in kinds.items()}
                    for name, kinds in self.likes.items()
                },
            ),
            (
                "only",
                'such as {"kind": ["bakery"]}',
                lambda: {name: _kinds(kinds) for name, kinds in self.only.items()},
            ),
            (
                "at_most",
                'such as {"price": 10}',
                lambda: {name: _number(most) for name, most in self.at_most.items()},
            ),
            ("ratings", "a number", lambda: _number(self.ratings)),
            ("exponent", "a number", lambda: _number(self.exponent)),
            (
                "trades",
                'such as {"EUR": 2}',
                lambda: {fold(unit): _number(worth) for unit, worth in self.trades.items()},
            ),
        ):
            try:
                object.__setattr__(self, field_name, read())
            except (TypeError, AttributeError, OverflowError):
                raise PreferenceError(f"{field_name} must be {form}") from None
        worths = [worth for kinds in self.likes.values() for worth in kinds.values()]
        numbers = [*worths, *self.trades.values(), *self.at_most.values(), self.ratings]
        if not all(abs(number) <= MOST for number in numbers):  # written so that NaN is refused
            raise PreferenceError(f"a preference must be a number from -{MOST:g} to {MOST:g}")
        if not 0 < self.exponent <= 4:
            raise PreferenceError("the exponent of the disutility must be above 0 and at most 4")

    @property
    def attributes(self) -> frozenset[str]:
        """Return the names of all attributes in likes, only and at_most; not the units of
        trades.
        """
        return frozenset((*self.likes, *self.only, *self.at_most))


def preferences_of(text: str) -> Preferences:
    """Return the preferences that a text says, as a person types them in the app or in a file;
    for an empty text all mappings {}, open_now False, ratings 0.0 and exponent 1.0.

    Each stands on a line of its own or between commas; what follows a # is a comment.

        open               now: by a flag of the server's, else by hours and this device's clock
        kind = a | b       only these kinds; "yes" and "no" of a flag
        price <= 10        at most this number
        kind: a +2         a is as good as being 2 km nearer; -2, farther
        1 EUR = 2 km       a EUR more is as bad as 2 km more; -2, as good as 2 km less
        stars +0.5         the same for each star above three of one's own rating of a title
        exponent 2         of the disutility of a distance, above 0 and at most 4

    In this order they fill open_now, only, at_most, likes, trades, ratings and exponent. A sign
    before the worth of a kind is needed, and "km" is not. "<" is "<=". Kinds and units are kept in
    small letters, names of attributes as typed. Of two that say the same, the later counts.
    A name with a comma or a # stands between double quotes. Raises PreferenceError, which repeats
    nothing, for anything else, and for a number beyond 1e12 in size.
    """
    likes: dict[str, dict[str, float]] = {}
    only: dict[str, frozenset[str]] = {}
    at_most: dict[str, float] = {}
    trades: dict[str, float] = {}
    others: dict[str, Any] = {}
    for each in filter(None, map(str.strip, _PARTS.findall(_COMMENT.sub(r"\1", text)))):
        if each.casefold() in ("open", "open now"):
            others["open_now"] = True
        elif found := _TRADE.fullmatch(each):
            trades[_name(found[1])] = float(found[2])
        elif found := _ONLY.fullmatch(each):
            only[_name(found[1])] = frozenset(map(_name, found[2].split("|")))
        elif found := _AT_MOST.fullmatch(each):
            at_most[_name(found[1])] = float(found[2])
        elif found := _LIKED.fullmatch(each):
            likes.setdefault(_name(found[1]), {})[_name(found[2])] = float(found[3])
        elif found := _NUMBER.fullmatch(each):
            others[{"stars": "ratings"}.get(found[1], found[1])] = float(found[2])
        else:
            raise PreferenceError(f"this is no preference; preferences read like: {EXAMPLE}")
    return Preferences(likes, only, at_most, trades=trades, **others)


def _name(text: str) -> str:
    return text.strip().strip('"')


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _kinds(kinds: Iterable[str]) -> frozenset[str]:
    if isinstance(kinds, str):
        raise TypeError  # its letters are no kinds
    return frozenset(map(_kind, kinds))


NO_PREFERENCES: Final = Preferences()


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
class ColumnPreferences:
    """What a person prefers of one attribute: the worths of its kinds, what one of its unit is
    worth, and its filters. highest: of the numbers that an answer knows.
    """

    trade: float = field(repr=False)
    highest: float = field(repr=False)
    likes: Mapping[str, float] = field(repr=False)
    only: frozenset[str] = field(repr=False)
    any_kind: bool = field(repr=False)
    most: float = field(repr=False)
    any_number: bool = field(repr=False)

    @classmethod
    def of(
        cls, attribute: Attribute, values: Sequence[Value], preferences: Preferences
    ) -> ColumnPreferences:
        """Return what a person prefers of one attribute, whose column has these values. highest is
        that of the floats among them, else 0.0. What is not named is neutral: trade 0.0, no likes,
        any_kind and any_number True, only empty, most infinite.
        """
        name = attribute.name
        known = [value for value in values if isinstance(value, float)]
        return cls(
            trade=preferences.trades.get((attribute.unit or name).casefold(), 0.0),
            highest=max(known, default=0.0),
            likes=preferences.likes.get(name, {}),
            only=preferences.only.get(name, frozenset()),
            any_kind=name not in preferences.only,
            most=preferences.at_most.get(name, inf),
            any_number=name not in preferences.at_most,
        )

    def worth(self, value: Value) -> float:
        """Return what a value's kind is worth to the person, in kilometers (on axes, in units of
        distance); 0.0 where it is None or not among the likes. The kind is the text in any case,
        "yes" or "no" of a bool, and of a number its text, "8.5", "10" of 10.0.
        """
        word = _word(value)
        return self.likes.get(word, 0.0) if word is not None else 0.0

    def traded(self, value: Value) -> float:
        """Return what a number counts as in kilometers (or units of distance): trade times the
        number, which is at most 1e12 in size, so that no power of it overflows. Only a float is a
        number: an int, bool, text or None counts as `highest`, that of the column (0.0 without
        any).
        """
        number = value if isinstance(value, float) else self.highest
        return self.trade * min(max(number, -MOST), MOST)

    def lets(self, value: Value) -> bool:
        """Return True if a value passes both filters of its attribute: its kind, as in `worth`, is
        in `only`, and it is a float of at most `most`. Without a filter everything passes; with one
        None does not, nor with `at_most` an int or text.
        """
        number = value if isinstance(value, float) else inf
        is_kind, is_low = _word(value) in self.only, number <= self.most
        return (is_kind | self.any_kind) & (is_low | self.any_number)


def judged(  # noqa: PLR0913, PLR0917  # all that a choice depends on
    listings: Sequence[Listing],
    attributes: Sequence[Attribute],
    distances: Sequence[float],
    preferences: Preferences,
    own_stars: Mapping[str, float],
    now: datetime.datetime,
) -> tuple[Judged, ...]:
    """Return one Judged (index, distance, passes, cost) for each listing, from best to worst: those
    that pass first, then by ascending cost; ties keep the order of `listings`. index: that of the
    listing.

    cost = h(distance + sum of traded) - sum of h(worth), with h(d) = d**exponent and h(-d) = -h(d).
    own_stars: what the person gave titles, by `title_key`; `preferences.ratings` times the stars
    above three (negative below, 0 without any) is one more worth. To pass, a listing has to pass
    all filters and open_now; none passes where a filter names an attribute that is not there.

    Work: the same steps for all preferences and ratings; linear in the length of every text.
    """
    rows = [listing.values for listing in listings]
    columns = [
        ColumnPreferences.of(each, [row[at] for row in rows], preferences)
        for at, each in enumerate(attributes)
    ]
    filtered = preferences.only.keys() | preferences.at_most.keys()
    known = filtered <= {each.name for each in attributes}
    found: list[Judged] = []
    for index, (listing, distance) in enumerate(zip(listings, distances, strict=True)):
        pairs = [*zip(columns, listing.values, strict=True)]
        own = preferences.ratings * (own_stars.get(title_key(listing.title), _MIDDLE) - _MIDDLE)
        worths = [column.worth(value) for column, value in pairs]
        away = distance + sum([column.traded(value) for column, value in pairs])
        cost = _h(away, preferences) - sum([_h(each, preferences) for each in (*worths, own)])
        lets = [column.lets(value) for column, value in pairs]
        is_now = _is_open(attributes, listing.values, now) | (not preferences.open_now)
        found.append(Judged(index, distance, known & all(lets) & is_now, cost))
    return tuple(sorted(found, key=lambda each: (not each.passes, each.cost, each.index)))


def missing(attributes: Sequence[Attribute], preferences: Preferences) -> tuple[str, ...]:
    """Return in words what preferences name and these attributes lack, in this order: "cind
    (perhaps kind)", the nearest name that is there; "kind as a number", for at_most; "a number in
    eur", for trades; "kind deli (perhaps bakery)", where the kinds are listed; "opening hours". ()
    where nothing is missing. A filter by what is missing lets nothing pass.
    """
    kinds = {each.name: each.kind for each in attributes}
    names = [
        f"{each}{maybe(each, kinds)}" for each in sorted(preferences.attributes - kinds.keys())
    ]
    limits = sorted(preferences.at_most.keys() & kinds.keys())
    names += [f"{each} as a number" for each in limits if kinds[each] is not AttributeKind.NUMBER]
    units = {(a.unit or a.name).casefold() for a in attributes if a.kind is AttributeKind.NUMBER}
    names += [f"a number in {each}" for each in sorted(preferences.trades.keys() - units)]
    for each in attributes:
        words = {word.casefold(): word for word in each.words}
        wished = {*preferences.likes.get(each.name, ()), *preferences.only.get(each.name, ())}
        unknown = sorted(wished - words.keys()) if words else ()
        names += [f"{each.name} {word}{maybe(word, words.values())}" for word in unknown]
    if preferences.open_now and not any(
        each.kind is AttributeKind.HOURS or is_open_flag(each) for each in attributes
    ):
        names.append("opening hours")
    return tuple(names)


def stars(rating: float | None) -> float:
    """Return the stars that a rating of the profile counts as: the rating itself, 5.0 for None, a
    like.
    """
    return _LIKE if rating is None else rating


def _h(worth: float, preferences: Preferences) -> float:
    return copysign(abs(worth) ** preferences.exponent, worth)


def _word(value: Value) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else _kind(str(value))


def _kind(text: str) -> str:
    # In any case; 10.0 is 10.
    return re.sub(r"^(-?[0-9]+)\.0$", r"\1", text.casefold())


def _is_open(
    attributes: Sequence[Attribute], values: Sequence[Value], now: datetime.datetime
) -> bool:
    pairs = [*zip(attributes, values, strict=True)]
    flags = [value for each, value in pairs if is_open_flag(each) and value is not None]
    return True in (flags or [value_is_open(each, value, now) for each, value in pairs])


def hours_have(
    attributes: Sequence[Attribute], values: Sequence[Value], now: datetime.datetime
) -> bool | None:
    """Return True if opening hours of an item have `now`, False if none do; None without hours that
    can be read, and where a flag of `is_open_flag` is not None, which says so itself. values: of
    the item, one for each attribute.
    """
    pairs = [*zip(attributes, values, strict=True)]
    said = [
        is_open(value, now)
        for each, value in pairs
        if each.kind is AttributeKind.HOURS and isinstance(value, str)
    ]
    is_flagged = any(is_open_flag(each) and value is not None for each, value in pairs)
    return None if is_flagged or {*said} <= {None} else True in said


def value_is_open(attribute: Attribute, value: Value, now: datetime.datetime) -> bool:
    """Return True if this one value says open at `now`: hours that have it, or True of a flag that
    `is_open_flag` knows. False for what is unknown or cannot be read.
    """
    if attribute.kind is AttributeKind.HOURS and isinstance(value, str):
        return bool(is_open(value, now))
    return is_open_flag(attribute) and value is True


def is_open_flag(attribute: Attribute) -> bool:
    """Return True if an attribute is a flag called "open" or "open now", in any case, with _ for a
    space.
    """
    name = attribute.name.casefold().replace("_", " ")
    return attribute.kind is AttributeKind.FLAG and name in _OPEN_FLAGS


def by_other_preferences(
    answer: NearAnswer,
    attributes: Sequence[Attribute],
    preferences: Preferences,
    ratings: Sequence[Rated],
    now: datetime.datetime,
) -> NearAnswer:
    """Return the answer with its results ranked anew by these preferences and ratings of one's own,
    and with rank, passes, picked, is_open, none_passes and missing to fit. attributes: of its
    collection.
    """
    before = answer.results
    listings = [
        Listing(n, each.title, each.coordinates, tuple(each.values.values()))
        for n, each in enumerate(before)
    ]
    own = {title_key(rated.label): stars(rated.rating) for rated in ratings}
    distances = [each.distance for each in before]
    order = judged(listings, attributes, distances, preferences, own, now)
    results = tuple(
        replace(
            before[each.index],
            rank=rank,
            passes=each.passes,
            picked=rank == 1 and each.passes,
            is_open=hours_have(attributes, listings[each.index].values, now),
        )
        for rank, each in enumerate(order, 1)
    )
    return replace(
        answer,
        results=results,
        none_passes=not any(each.passes for each in results),
        missing=missing(attributes, preferences),
    )


_DAYS: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
_MIDNIGHT: Final = 24 * 60
_IN_DAYS: Final = ascii_lowercase + " ,-"
_CLOSED: Final = ("off", "closed")
_ANOTHER: Final = re.compile("(?<=[0-9df]) *, *(?=[a-z])")  # rule, behind a time or "off"
_Span = tuple[int, int, bool]  # from and to a minute of its day, and whether it is open then


def is_open(hours: str, now: datetime.datetime) -> bool | None:
    """Return True if these opening hours have `now`, a local time of the device's own clock, else
    False, as for ""; None for hours that cannot be read, such as "PH off". At 08:00 "08:00-18:00"
    is open, at 18:00 it is not.

        hours = "24/7" | rule {(";" | ",") rule},   rule = [days] (times | [times] "off")
        days  = day ["-" day] {"," ...},            day = Mo | Tu | We | Th | Fr | Sa | Su
        times = HH:MM-HH:MM {"," ...}, up to 48:00; a time that ends before it begins ends on the
                next day

    After ";" a rule replaces what its days had, after "," it adds to it; times that are "off" (or
    "closed") are taken from it. Letters are of any case. This is the weekly part of OpenStreetMap's
    opening_hours, to which `collect` brings the rest. Each step of the grammar splits a text once
    and goes on with its parts, so the steps are in proportion to the length: hours that are slow to
    read would tell a server who reads them.
    """
    try:
        week = _week(hours)
    except ValueError:
        return None
    minute, day = now.hour * 60 + now.minute, now.weekday()
    late = minute + _MIDNIGHT  # as the day before has it
    found = [opens for start, end, opens in week[day - 1] if start <= late < end]
    found += [opens for start, end, opens in week[day] if start <= minute < end]
    return bool(found) and found[-1]


def _week(hours: str) -> list[list[_Span]]:
    # Spans for each day, Monday first; of several that have a minute the last counts.
    text = "00:00-24:00" if hours.strip() == "24/7" else hours.lower()
    week: list[list[_Span]] = [[] for _ in _DAYS]
    for rules in text.split(";"):
        parts = _ANOTHER.split(rules.strip()) if rules.strip() else []
        for number, rule in enumerate(parts):
            days, spans, opens = _parts(rule)
            for day in days:
                if not spans or (opens and number == 0):
                    week[day] = []
                week[day] += [(start, end, opens) for start, end in spans]
    return week


def _parts(rule: str) -> tuple[set[int], list[tuple[int, int]], bool]:
    # Days (0 is Monday), spans in minutes, and whether it is open then.
    closed = next((word for word in _CLOSED if rule.endswith(word)), "")
    rule = rule.removesuffix(closed).rstrip()
    times = rule.lstrip(_IN_DAYS)
    spans = [_span(part) for part in times.split(",")] if times or not closed else []
    return _days(rule.removesuffix(times)), spans, not closed


def _days(text: str) -> set[int]:
    if not text.strip():
        return set(range(7))
    days: set[int] = set()
    for part in text.split(","):
        ends = [_DAYS.index(end.strip()) for end in part.split("-")]
        if len(ends) > 2:
            raise ValueError
        days |= {day % 7 for day in range(ends[0], ends[-1] + (8 if ends[-1] < ends[0] else 1))}
    return days


def _span(text: str) -> tuple[int, int]:
    first, last = text.split("-", 1)
    start, end = _minute(first.strip(), _MIDNIGHT), _minute(last.strip(), 2 * _MIDNIGHT)
    return start, end if end > start else end + _MIDNIGHT


def _minute(text: str, most: int) -> int:
    hour, minute = text.split(":", 1)
    is_time = 1 <= len(hour) <= 2 == len(minute) and (hour + minute).isdecimal()
    if not (is_time and text.isascii()):
        raise ValueError
    found = 60 * int(hour) + int(minute)
    if found > most or int(minute) > 59:
        raise ValueError
    return found
