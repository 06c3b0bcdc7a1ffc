"""The catalog files that devices fetch, and the public calendar by which they do.

    file = b"askewhld" | length of the body, 8 bytes, little-endian | SHA-256 of the body | body

The head is a piece of its own: a device that has the same digest already fetches no more. One that
was interrupted goes on where it stopped. The length is what a server says: whoever fetches counts.

A version is named by its catalog date, the Monday on which it comes into force, which a device
reckons from its own clock: a name of the server's choosing, such as a digest, would mark the device
that repeats it. Days are counted from 1970-01-01, in UTC.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from askew.errors import Malformed

_MAGIC = b"askewhld"
HEAD_BYTES = 48
PIECE_BYTES = 1 << 18  # the most that one reply brings


class Part(StrEnum):
    """What a file holds: every item, or the default items alone."""

    WHOLE = "whole"
    DEFAULT = "default"


@dataclass(frozen=True)
class FileHead:
    """The first HEAD_BYTES of a file. length: of the body in bytes. digest: its SHA-256."""

    length: int
    digest: bytes

    @classmethod
    def of(cls, data: bytes) -> FileHead:
        """The head of a file, or of its beginning. Raises Malformed."""
        if len(data) < HEAD_BYTES or data[:8] != _MAGIC:
            raise Malformed("not the beginning of a file that devices hold")
        length = int.from_bytes(data[8:16], "little")
        if not length:
            raise Malformed("the head of a file that holds nothing")
        return cls(length, data[16:HEAD_BYTES])

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return HEAD_BYTES + self.length

    def check(self, body: bytes) -> None:
        """Raises Malformed for another body."""
        if len(body) != self.length or hashlib.sha256(body).digest() != self.digest:
            raise Malformed("what was fetched is not what its head says")


def file_of(*parts: bytes | memoryview) -> bytes:
    """The file of a body, which is these parts one after the other."""
    length, digest = sum(map(len, parts)).to_bytes(8, "little"), hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([_MAGIC, length, digest.digest(), *parts])


def piece_of(file: bytes, start: int) -> bytes:
    """What a device gets that asks from a byte on: the head alone from 0, nothing at the end."""
    return file[start : HEAD_BYTES if start < HEAD_BYTES else start + PIECE_BYTES]


PERIOD = 7  # days
LONGEST_DELAY = 2  # days after a Monday, by which every device has looked for the new version
FIRST = 4  # 1970-01-05, the first Monday: a version that was always in force
LAST = 2**31 - 1


def catalog_date_of(day: int) -> int:
    """The Monday on or before a day; the first one of all for a clock that was never set."""
    return max(FIRST, day - (day - FIRST) % PERIOD)


def is_catalog_date(day: int) -> bool:
    """Whether a day is a Monday that can name a version."""
    return FIRST <= day <= LAST and catalog_date_of(day) == day


def answered(mondays: Sequence[int], today: int) -> list[int]:
    """Of versions by their Mondays, those that are answered on a day or will be, in order."""
    ordered = sorted(mondays)
    retired = sum(today > last_day(successor) for successor in ordered[1:])
    return ordered[retired:]


def last_day(successor: int) -> int:
    """The last day on which a version is still answered, once another came into force: devices
    look for that one within the longest delay, and those that were off have a period more.
    """
    return successor + PERIOD + LONGEST_DELAY
