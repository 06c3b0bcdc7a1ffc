"""Files that devices hold, from a source in this process that writes down what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from askew.catalog.catalog_file import HEAD_BYTES, Part, file_of
from askew.errors import AskewError, NotFound
from askew_client.catalog.cache import CatalogSource

MONDAY = 20_780  # 2026-11-23
DAY = 86_400
Asked = tuple[int, Part, int]


def body_of(word: str, size: int = 3 * 2**18 + 5) -> bytes:
    return (word.encode() * (size // len(word) + 1))[:size]


@dataclass
class FakeSource(CatalogSource):
    """Files by catalog date and part; those of any catalog date under None.

    heard: what was asked. troubles: raised in turn, None being none. spoil: of what is read, with
    where it begins.
    """

    files: dict[tuple[int | None, Part], bytes]
    heard: list[Asked] = field(default_factory=list)
    troubles: list[AskewError | None] = field(default_factory=list)
    spoil: Callable[[bytes, int], bytes] = lambda part, start: part

    @classmethod
    def of(cls, whole: bytes, default_items: bytes | None = None) -> FakeSource:
        bodies = {
            Part.WHOLE: whole,
            Part.DEFAULT: whole if default_items is None else default_items,
        }
        return cls({(None, part): file_of(body) for part, body in bodies.items()})

    async def read(self, catalog_date: int, part: Part, start: int, size: int) -> bytes:
        self.heard.append((catalog_date, part, start))
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is not None:
            raise trouble
        file = self.files.get((catalog_date, part)) or self.files.get((None, part))
        if file is None:
            raise NotFound("catalog date")
        return self.spoil(file[start : start + size], start)

    @property
    def looks(self) -> int:
        return sum(start < HEAD_BYTES for _, _, start in self.heard)


class Clock:
    """A clock that a test sets, in days since 1970-01-01 and seconds."""

    def __init__(self, day: int, seconds: int = 0) -> None:
        self.set(day, seconds)

    def set(self, day: int, seconds: int = 0) -> None:
        self.day, self.now = day, day * DAY + seconds
