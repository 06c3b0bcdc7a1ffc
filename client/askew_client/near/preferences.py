"""What a person wants of a result besides being near. Private: preferences and filters never leave.

A like is worth kilometers (on axes, units of distance): a liked kind weighs as much as being so
much nearer. A trade says how many kilometers one of a unit is worth, such as a EUR. With the
disutility h(d) = d**exponent, the cost of a result is

    h(distance + sum of trade * number) - sum of h(worth) of what it has,

h of what is below zero being that of its size, taken away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from askew.errors import PreferenceError

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
        for name, (read, limit) in _READ.items():
            try:
                object.__setattr__(self, name, read(getattr(self, name)))
            except (ValueError, TypeError, AttributeError, OverflowError):
                raise PreferenceError(f"{name} must be {limit}") from None
        worths = [worth for kinds in self.likes.values() for worth in kinds.values()]
        numbers = [*worths, *self.trades.values(), *self.at_most.values(), self.ratings]
        if not all(abs(number) <= MOST for number in numbers):  # written so that NaN is refused
            raise PreferenceError(
                f"a preference must be worth a number of at most {MOST:g} in size"
            )
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
    those that prefer nothing for an empty text.

    Each stands on a line of its own or between commas; what follows a # is a comment.

        open               now: by a flag of the server's, else by hours and this device's clock
        kind = a | b       only these kinds; "yes" and "no" of a flag
        price <= 10        at most this number
        kind: a +2         a is as good as being 2 km nearer; -2, farther
        1 EUR = 2 km       a EUR more is as bad as 2 km more; -2, as good as 2 km less
        stars +0.5         the same for each star above three of one's own rating of a title
        exponent 2         of the disutility of a distance

    A name with a comma or a # stands between double quotes. Raises PreferenceError, which repeats
    nothing, for anything else.
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
        raise ValueError
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _numbers(value: Mapping[str, Any]) -> dict[str, float]:
    return {name: _number(number) for name, number in value.items()}


def _trades(value: Mapping[str, Any]) -> dict[str, float]:
    return {unit.casefold(): worth for unit, worth in _numbers(value).items()}


def _likes(value: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        name: {kind.casefold(): worth for kind, worth in _numbers(kinds).items()}
        for name, kinds in value.items()
    }


def _kinds(value: Iterable[Any]) -> frozenset[str]:
    kinds = frozenset(value)
    if not all(isinstance(kind, str) for kind in kinds):
        raise ValueError
    return frozenset(map(str.casefold, kinds))


def _only(value: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    if any(isinstance(kinds, str) for kinds in value.values()):
        raise ValueError  # its letters are no kinds
    return {name: _kinds(kinds) for name, kinds in value.items()}


_READ: Final[Mapping[str, tuple[Callable[[Any], Any], str]]] = {
    "likes": (_likes, 'tables of numbers, such as {"kind": {"bakery": 3}}'),
    "only": (_only, 'a table of lists of words, such as {"kind": ["bakery"]}'),
    "at_most": (_numbers, 'a table of numbers, such as {"price": 10}'),
    "trades": (_trades, 'a table of numbers, such as {"EUR": 2}'),
    "open_now": (_flag, "true or false"),
    "ratings": (_number, "a number"),
    "exponent": (_number, "a number"),
}
NO_PREFERENCES: Final = Preferences()
