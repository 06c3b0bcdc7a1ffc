"""The frame of a file that devices hold: its header, and the pieces in which it is fetched.

    magic "askewhld" 8 | length of the body 8, little-endian | SHA-256 of the body 32 | body

The header comes as a piece of its own, so that a device that holds this body already fetches no
more than 48 bytes. Everything here is public, and the same for everybody.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from askew.errors import Malformed

MAGIC = b"askewhld"
HEADER_BYTES = 48
PIECE = 1 << 18  # bytes: the longest piece


class Part(StrEnum):
    """Which file of an edition: every item, or those that a device needs to have a profile."""

    WHOLE = "whole"
    STARTER = "starter"


@dataclass(frozen=True)
class Header:
    """What a file says of its body: length in bytes, and SHA-256 as 64 hexadecimal digits."""

    length: int
    digest: str

    @classmethod
    def of(cls, body: bytes) -> Header:
        """The header of a body."""
        return cls(len(body), hashlib.sha256(body).hexdigest())

    @classmethod
    def from_bytes(cls, data: bytes) -> Header:
        """Raises Malformed for anything but the 48 bytes of a header with a body."""
        length = int.from_bytes(data[8:16], "little")
        if len(data) != HEADER_BYTES or data[:8] != MAGIC or not length:
            raise Malformed("this is no file that a device can hold")
        return cls(length, data[16:].hex())

    def to_bytes(self) -> bytes:
        """Its 48 bytes."""
        return MAGIC + self.length.to_bytes(8, "little") + bytes.fromhex(self.digest)

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return HEADER_BYTES + self.length


def framed(body: bytes) -> bytes:
    """The whole file."""
    return Header.of(body).to_bytes() + body


def piece_of(file: bytes, start: int) -> bytes:
    """What a device gets that asks from a byte on: the header alone from 0, nothing at the end."""
    return file[start:HEADER_BYTES] if start < HEADER_BYTES else file[start : start + PIECE]
