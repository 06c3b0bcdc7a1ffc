"""Fields of messages as bytes: what a message would be, without the message, which takes several
times as long to make; and how many a message has, before it is made: an empty one of 2 bytes takes
50 times as much memory.

A field is its tag, its length unless that follows from its type, and its content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from askew.errors import Malformed

VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5  # how a field's content ends
_FIXED = {FIXED64: 8, FIXED32: 4}  # bytes
_MOST_BYTES = 10  # of a varint
_NONE = "not a message of the expected type"


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


Field = tuple[int, int, memoryview]
"""Its number, how it ends, and its content, of a varint the bytes."""


def fields_within(data: memoryview) -> Iterator[Field]:
    """The fields of a message, one by one, without a copy. Raises Malformed where they end amid
    one, and for groups, which no message of ours has. O(1) a field.
    """
    at = 0
    while at < len(data):
        tag, at = _number_at(data, at)
        end, start = tag & 7, at
        if end == VARINT:
            _, at = _number_at(data, at)
        elif end == SIZED:
            size, start = _number_at(data, at)
            at = start + size
        elif end in _FIXED:
            at += _FIXED[end]
        else:
            raise Malformed(_NONE)
        if at > len(data):
            raise Malformed(_NONE)
        yield tag >> 3, end, data[start:at]


def check_count(message: type[Message], data: bytes | memoryview, most: int) -> None:
    """Raises Malformed for a message of more than so many fields, those of its messages included.
    O(most), however long the message is.
    """
    _left(message.DESCRIPTOR, memoryview(data), most)


def _left(kind: Any, data: memoryview, most: int) -> int:
    """How many more there may be. kind: a descriptor, of which protobuf has two types."""
    for number, end, content in fields_within(data):
        most -= 1
        if most < 0:
            raise Malformed("a message has more fields than any answer to this question")
        field = kind.fields_by_number.get(number)
        if end == SIZED and field is not None and field.message_type is not None:
            most = _left(field.message_type, content, most)
    return most


def _number_at(data: memoryview, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    found = 0
    for place, byte in enumerate(data[at : at + _MOST_BYTES]):
        found |= (byte & 127) << 7 * place
        if byte < 128:
            return found, at + place + 1
    raise Malformed(_NONE)
