"""Titles, what a person said of them, and past answers: what a profile shows."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Title:
    """One thing of the catalog. All three are text from outside: never markup.

    label is the title as people write it, "Alien (1979)", and the key of a rating.
    """

    label: str = field(repr=False)
    title: str = field(repr=False)
    genres: tuple[str, ...] = field(repr=False, default=())


@dataclass(frozen=True)
class Rated:
    """One rating of the person's own; rating is None for a like without a number.

    known is false for a title of no item that is held or was met: it is kept, and unused.
    """

    label: str = field(repr=False)
    rating: float | None = field(repr=False)
    known: bool = field(repr=False, default=True)


@dataclass(frozen=True)
class PastAnswer:
    """One earlier answer, as it is kept on the device and nowhere else.

    when is a local day; slot is of the signal that was sent, "" where none was.
    """

    when: datetime.date = field(repr=False)
    slot: str = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    picked: str = field(repr=False)
