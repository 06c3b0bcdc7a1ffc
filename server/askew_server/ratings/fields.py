"""The limits of single fields, and the reasons given when one is broken."""

from __future__ import annotations

import math
import re

from askew.errors import AskewError
from askew.limits import FEW_MARKS, has_few_marks

KEY_LIMIT = 200
TITLE_LIMIT = 500
GENRE_LIMIT = 100
RATING_LIMIT = 1000
YEAR_LIMIT = 9999
SHOWN = 40

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_YEAR_AT_END = re.compile(r"\(([0-9]{4})\)$")
_NO_GENRE = frozenset({"", "(no genres listed)", "unknown"})
"""How MovieLens says that an item has no genre."""


class BadField(AskewError):
    """A field breaks its limit; the message is the reason to report. rule: the same without the
    text that was found.
    """

    def __init__(self, field: str, limit: str, text: str) -> None:
        self.rule = f"{field} must be {limit}"
        super().__init__(f"{self.rule}, got {_shown(text)}")


def key(field: str, text: str) -> str:
    """The key of a person or an item."""
    return _plain_text(field, text, KEY_LIMIT)


def number(text: str, field: str = "rating") -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # float() reads "1_000" as a number, which no rating file means.
    if not math.isfinite(value) or "_" in text:
        raise BadField(field, "a finite number", text)
    return value


def time(text: str) -> float:
    """When something was; nan for what is no number: who asks needs all of them."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_on_scale(value: float, *, counts: bool) -> bool:
    """Whether a column of ratings, or of counts, can hold this."""
    return value >= 0 if counts else abs(value) <= RATING_LIMIT


def title_and_year(text: str) -> tuple[str, int | None]:
    """A title, and the year when the title ends in one: "Heat (1995)" is ("Heat", 1995)."""
    title = _plain_text("title", text, TITLE_LIMIT)
    match = _YEAR_AT_END.search(title)
    if match is None or match.start() == 0:
        return title, None
    return title[: match.start()].rstrip(), int(match[1])


def check_marks(field: str, text: str) -> None:
    """Raises BadField for more combining marks in a row than a device takes."""
    if not has_few_marks(text):
        raise BadField(field, FEW_MARKS, text)


def year(text: str) -> int | None:
    """A year from a column of its own; None when the field is empty."""
    digits = text.strip()
    if not digits:
        return None
    # The length comes first: int() refuses thousands of digits with an error of its own.
    if len(digits) > 4 or not _is_number(digits) or int(digits) == 0:
        raise BadField("year", f"a whole number from 1 to {YEAR_LIMIT}", text)
    return int(digits)


def joined_genres(text: str) -> tuple[str, ...]:
    """Genres joined by "|", such as "Comedy|Romance"."""
    if text.strip() in _NO_GENRE:
        return ()
    return tuple(_plain_text("genre", genre, GENRE_LIMIT) for genre in text.split("|"))


def flagged_genres(flags: list[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """The genres whose flag is 1."""
    for name, flag in zip(names, flags, strict=True):
        if flag not in ("0", "1"):
            raise BadField(f"the flag of genre {name}", "0 or 1", flag)
    flagged = (name for name, flag in zip(names, flags, strict=True) if flag == "1")
    return tuple(name for name in flagged if name not in _NO_GENRE)


def key_order(text: str) -> tuple[int, int, str]:
    """Sorts keys: numbers first and by value, then the others as text."""
    return (0, int(text), text) if _is_number(text) else (1, 0, text)


def _plain_text(field: str, text: str, limit: int) -> str:
    plain = text.strip()
    # isprintable() is quick but also refuses harmless marks such as a no-break space.
    acceptable = plain.isprintable() or not _CONTROL.search(plain)
    if not acceptable or not 0 < len(plain) <= limit:
        raise BadField(field, f"1 to {limit} characters without control characters", text)
    return plain


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _shown(text: str) -> str:
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}..."
