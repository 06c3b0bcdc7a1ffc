"""What a person wants of a result besides being near. Private: wishes and filters never leave.

A wish is worth kilometers (on axes, units of distance): a liked kind weighs as much as being so
much nearer. With the disutility h(d) = d**exponent, the cost of a result is

    h(distance) - sum of h(worth) of what it has, worths below zero adding instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from askew.errors import ProfileError

_MOST: Final = 1e12  # of a worth or a limit: its fourth power is far from overflowing


@dataclass(frozen=True)
class Wishes:
    """likes: {attribute: {kind: worth}}. only: {attribute: kinds}, at_most: {attribute: number} and
    open_now are filters; what is unknown of a result does not pass. ratings: what a star above
    three of the person's own rating of a title is worth. Raises ProfileError.
    """

    likes: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    only: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    at_most: Mapping[str, float] = field(default_factory=dict, repr=False)
    open_now: bool = field(default=False, repr=False)
    ratings: float = field(default=0.0, repr=False)
    exponent: float = field(default=1.0, repr=False)

    def __post_init__(self) -> None:
        worths = [worth for kinds in self.likes.values() for worth in kinds.values()]
        numbers = [*worths, *self.at_most.values(), self.ratings]
        if not all(abs(number) <= _MOST for number in numbers):  # written so that NaN is refused
            raise ProfileError(f"a wish must be worth a number of at most {_MOST:g} in size")
        if not 0 < self.exponent <= 4:
            raise ProfileError("the exponent of the disutility must be above 0 and at most 4")

    @property
    def attributes(self) -> frozenset[str]:
        """Every attribute that they name."""
        return frozenset((*self.likes, *self.only, *self.at_most))

    @classmethod
    def from_toml(cls, text: str) -> Wishes:
        """Wishes as a file has them (docs/device.md). Raises ProfileError, without repeating it."""
        import tomllib  # few questions have a file

        try:
            value = tomllib.loads(text)
            known = {"likes", "only", "at_most", "open_now", "ratings", "exponent"}
            if not value.keys() <= known or not isinstance(value.get("open_now", False), bool):
                raise ValueError
            return cls(
                {name: _worths(kinds) for name, kinds in value.get("likes", {}).items()},
                {name: _kinds(kinds) for name, kinds in value.get("only", {}).items()},
                _worths(value.get("at_most", {})),
                value.get("open_now", False),
                _number(value.get("ratings", 0.0)),
                _number(value.get("exponent", 1.0)),
            )
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise ProfileError("the wishes are no file of wishes; docs/device.md has one") from None


NO_WISHES = Wishes()


def _worths(value: Mapping[str, Any]) -> dict[str, float]:
    return {name: _number(number) for name, number in value.items()}


def _kinds(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(kind, str) for kind in value):
        raise ValueError
    return frozenset(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return float(value)
