"""One thing that can be recommended, in words."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import OutOfRange
from askew.limits import check_marks, check_text

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
        """The title as people write it: "Alien (1979)"."""
        return f"{self.title} ({self.year})" if self.year else self.title
