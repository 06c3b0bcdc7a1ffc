"""Fields of messages as bytes: what a message would be, without the message, which takes several
times as long to make.

A field is its tag, its length unless that follows from its type, and its content.
"""

from __future__ import annotations

from google.protobuf.message import Message

VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5  # how a field's content ends


def tags(message: type[Message], *fields: str, end: int = SIZED) -> list[bytes]:
    """What begins each of these fields, which all end alike."""
    by_name = message.DESCRIPTOR.fields_by_name
    return [varint(by_name[field].number << 3 | end) for field in fields]


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; all but the last have the eighth set."""
    low = number & 127
    return bytes([low | 128]) + varint(number >> 7) if number > 127 else bytes([low])


class _Sizes(dict[int, bytes]):
    """Numbers as varints; small ones are made beforehand, the others each time."""

    def __missing__(self, size: int) -> bytes:
        return varint(size)


SIZES = _Sizes({size: varint(size) for size in range(512)})


def sized(tag: bytes, content: bytes) -> bytes:
    """A field of text, bytes, packed numbers or a message."""
    return tag + SIZES[len(content)] + content
