"""The catalog files that devices fetch, and the Mondays that name them.

    file = b"askewhld" | length of the body, 8 bytes, little-endian | SHA-256 of the body | body

A device reads the head first: one that has the same digest already fetches no more. The length is
what a server says: whoever fetches counts.

A device names a file by the Monday of its own clock: a name of the server's choosing, such as a
digest, would mark the device that repeats it. The server answers about that Monday from the newest
model that was in force then. Days are counted from 1970-01-01, in UTC.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from askew.errors import Malformed

_MAGIC = b"askewhld"
HEAD_BYTES = 48


class Part(StrEnum):
    """What a file holds: every item, the default items alone, or live values."""

    WHOLE = "whole"
    DEFAULT = "default"
    LIVE = "live"


LIVE_BYTES = 4_000  # all live values, in no more than a reply takes
OF_ROWS_BYTES = 32  # before them: a digest of the rows that they are of
LIVE_FILE_BYTES = HEAD_BYTES + OF_ROWS_BYTES + LIVE_BYTES
"""What a device asks for of a file of live values, whatever a card says of its length."""


@dataclass(frozen=True)
class FileHead:
    """The first HEAD_BYTES of a file. length: of the body in bytes. digest: its SHA-256."""

    length: int
    digest: bytes

    @classmethod
    def of(cls, data: bytes) -> FileHead:
        """Return the head of a file, or of its first 48 bytes. Raises Malformed for less, for
        another beginning than b"askewhld", and for a length of 0; what follows is not looked at.
        """
        if len(data) < HEAD_BYTES or data[:8] != _MAGIC:
            raise Malformed("not the beginning of a file that devices hold")
        length = int.from_bytes(data[8:16], "little")
        if not length:
            raise Malformed("the head of a file that holds nothing")
        return cls(length, data[16:HEAD_BYTES])

    @property
    def size(self) -> int:
        """Return how many bytes the whole file has: 48 and the body's length."""
        return HEAD_BYTES + self.length

    def check(self, body: bytes) -> None:
        """Raise Malformed unless a body has the length and the digest of the head."""
        if len(body) != self.length or hashlib.sha256(body).digest() != self.digest:
            raise Malformed("what was fetched is not what its head says")


def file_of(*parts: bytes | memoryview) -> bytes:
    """Return a whole file: a head of 48 bytes (magic, length, digest), then the body, which is
    these parts one after the other.
    """
    length, digest = sum(map(len, parts)).to_bytes(8, "little"), hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join([_MAGIC, length, digest.digest(), *parts])


PERIOD = 7  # days
LONGEST_DELAY = 2  # days after a Monday, by which every device has looked for the new file
LONGEST_USE = 2 * PERIOD + LONGEST_DELAY  # days after its Monday: one look may fail
FIRST = 4  # 1970-01-05, the first Monday: a model that was always in force
LAST = 2**31 - 1


def catalog_date_of(day: int) -> int:
    """Return the Monday on or before a day, both in days from 1970-01-01; 4, the first Monday, for
    any day before it, as of a clock that was never set.
    """
    return max(FIRST, day - (day - FIRST) % PERIOD)


def is_catalog_date(day: int) -> bool:
    """Return True for a Monday, in days from 1970-01-01, that is from 4 to 2**31 - 1."""
    return FIRST <= day <= LAST and catalog_date_of(day) == day
