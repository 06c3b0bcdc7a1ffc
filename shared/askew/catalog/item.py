"""What can be recommended: titles of a catalog, and listings of a collection, which a reply carries
whole with their coordinates and attributes."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite

from askew.errors import OutOfRange
from askew.limits import JOINERS, MAX_NAME, MAX_TEXT, check_marks, check_plain, check_text

MAX_YEAR = 9999
MAX_GENRES = 20


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that can be recommended. Titles are text from outside: never markup.

    Raises OutOfRange for text that is empty, long or not printable, or a year beyond 1..9999.
    """

    title: str
    year: int | None = None
    genres: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.genres) > MAX_GENRES:
            raise OutOfRange("the number of genres", f"at most {MAX_GENRES}")
        for text in (self.title, *self.genres):
            check_text("a title or genre", text)
            check_marks("a title or genre", text)
        if self.year is not None and not 1 <= self.year <= MAX_YEAR:
            raise OutOfRange("a year", f"from 1 to {MAX_YEAR}")

    @property
    def label(self) -> str:
        """Return the title and the year, "Alien (1979)"; the title alone where no year is known."""
        return f"{self.title} ({self.year})" if self.year else self.title


MAX_ATTRIBUTES = 16
MAX_HOURS = 200
MAX_WORDS = 64

Value = str | float | bool | None


class AttributeKind(StrEnum):
    """What a column of attributes holds."""

    CATEGORY = "category"  # one of a few words: a cuisine
    NUMBER = "number"  # a price
    FLAG = "flag"  # open now
    HOURS = "hours"  # "Mo-Fr 08:00-18:00; Sa 09:00-13:00", read by the device's own clock


@dataclass(frozen=True)
class Attribute:
    """A typed column of a collection. live: its values change without a new catalog. words: what
    a category may be, if they are few and it is not live, so that a person can choose among them.

    Raises OutOfRange for a name, a unit or a word that is no short plain text.
    """

    name: str
    kind: AttributeKind
    live: bool = False
    unit: str = ""
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.words) > (MAX_WORDS if self.kind is AttributeKind.CATEGORY else 0):
            raise OutOfRange("the words of an attribute", f"at most {MAX_WORDS}, of a category")
        for word in self.words:
            check_plain("a word of an attribute", word, MAX_NAME)
        check_plain("an attribute's name", self.name, MAX_NAME)
        if self.unit:
            check_plain("an attribute's unit", self.unit, MAX_NAME)

    def check(self, value: Value) -> None:
        """Raise OutOfRange unless a value is None, which is unknown, or of the kind: a finite float
        and no int, a bool, or plain text of 1 to 500 characters, 1 to 200 for hours.
        """
        match self.kind:
            case AttributeKind.NUMBER:
                fits = type(value) is float and isfinite(value)
            case AttributeKind.FLAG:
                fits = type(value) is bool
            case _:
                fits = type(value) is str
                if fits:
                    longest = MAX_HOURS if self.kind is AttributeKind.HOURS else MAX_TEXT
                    check_plain(f"the attribute {self.name}", str(value), longest)
        if not fits and value is not None:
            raise OutOfRange(f"the attribute {self.name}", f"a {self.kind}")


@dataclass(frozen=True)
class Listing:
    """One item of a reply. Public.

    coordinates: latitude and longitude in degrees on a map, else one value an axis. values: one an
    attribute of its collection, in their order. Raises OutOfRange for a negative id, a title that
    steers terminals or shows nothing, or coordinates that are not finite.
    """

    id: int
    title: str
    coordinates: tuple[float, ...]
    values: tuple[Value, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.id < 0:
            raise OutOfRange("an item id", "at least 0")
        check_plain("a title", self.title, MAX_TEXT)
        if not all(isfinite(c) for c in self.coordinates):
            raise OutOfRange("the coordinates of an item", "finite")


# "Avventura, L' (1960)", "City of Lost Children, The (Cité des enfants perdus, La) (1995)"
_ARTICLE_AT_THE_END = re.compile(
    r"([^(]+), (the|an?|l[aeo]s?|l'|il|el|der|die|das|den|det|une?|una)( \(.*)?"
)
_ARTICLE_AT_THE_START = re.compile(r"^(the|an?) (?=[^(])")


def title_key(text: str) -> str:
    """Return the key of a title: as `plain_text`, one space for several, an article that stands
    behind a comma first: "the miserables (1998)" for "Misérables, The (1998)".
    """
    plain = " ".join(plain_text(text).split())
    turned = _ARTICLE_AT_THE_END.fullmatch(plain)
    if turned is None:
        return plain
    name, article, rest = turned.groups(default="")
    joint = "" if article.endswith("'") else " "
    return f"{article}{joint}{name}{rest}"


def without_article(key: str) -> str:
    """Return the key without a leading "the ", "a " or "an ", unless "(" follows it."""
    return _ARTICLE_AT_THE_START.sub("", key)


def plain_text(text: str) -> str:
    """Return text casefolded and in NFKD, without accents and joiners: "amelie" for "Amélie",
    "strasse" for "Straße". O(length) where few combining marks are in a row, as
    `askew.limits.check_marks` has it.
    """
    folded = text.casefold()
    if folded.isascii():  # nothing to take apart: most titles, of which there may be a million
        return folded
    decomposed = unicodedata.normalize("NFKD", folded)
    return "".join(c for c in decomposed if not unicodedata.combining(c) and c not in JOINERS)
