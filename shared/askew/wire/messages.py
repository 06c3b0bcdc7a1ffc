"""Messages as bytes: parsed with an error of ours, and counted before anything is made of them.

An empty message of 2 bytes takes 50 times as much memory once it is made. So whoever reads what a
server sends first counts the fields of its bytes. A field is its tag, its length unless that
follows from its type, and its content.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message

from askew.errors import Malformed
from askew.limits import VERSION_BYTES

VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5  # how a field's content ends
FIELDS_OF_ITEM = 64  # with all its genres, or with a value of each attribute
FIELDS_OF_CARD = 1 << 15  # with 256 collections of 16 attributes
_FIXED = {FIXED64: 8, FIXED32: 4}  # bytes
_MOST_BYTES = 10  # of a varint
_LARGEST_FACTOR = 8  # of data to its packed size; titles reach about 4, rows about 5
_NONE = "not a message of the expected type"

Field = tuple[int, int, memoryview]
"""Its number, how it ends, and its content, of a varint the bytes."""
_Message = TypeVar("_Message", bound=Message)


def parse(message: _Message, data: bytes) -> _Message:
    """Parse bytes into this message, which is empty, and return it. Raises Malformed for bytes that
    are none; no bytes are one without fields.
    """
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise Malformed(_NONE) from None
    return message


def parse_few(message: _Message, data: bytes, most: int) -> _Message:
    """Parse bytes into a message, counted first as by `check_count`, and return it. Raises
    Malformed for more than `most` fields, and for other bytes.
    """
    check_count(type(message), data, most)
    return parse(message, data)


def version_from_bytes(digest: bytes) -> str:
    """Return the 32 hexadecimal digits, in lower case, of a version of 16 bytes. Raises Malformed
    for another size.
    """
    if len(digest) != VERSION_BYTES:
        raise Malformed(f"a version must be {VERSION_BYTES} bytes")
    return digest.hex()


def opening(message: type[Message], field: str, size: int) -> bytes:
    """Return what stands before `size` bytes of a field: its tag, number << 3 | 2, and their
    length, both as `varint`.
    """
    number = message.DESCRIPTOR.fields_by_name[field].number
    return varint(number << 3 | SIZED) + varint(size)


def varint(number: int) -> bytes:
    """Return a number >= 0 as seven bits a byte, lowest first; all but the last have bit 8 set:
    bytes 172 and 2 for 300.
    """
    low = number & 127
    return bytes([low | 128]) + varint(number >> 7) if number > 127 else bytes([low])


def fields_within(data: memoryview) -> Iterator[Field]:
    """Yield (number, end, content) of the fields of a message, one by one. end: 0, 1, 2 or 5,
    protobuf's wire type. content: the bytes behind the tag, without the length of type 2, as a
    memoryview without a copy, also of a varint. O(1) a field.

    Raises Malformed where the bytes end amid one, and for groups, which no message of ours has.
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


def most_unpacked(packed: int) -> int:
    """Return the most bytes that so many packed bytes may unpack to: 65536 + 8 * packed."""
    return (1 << 16) + _LARGEST_FACTOR * packed


def unpack(packed: bytes, what: str) -> bytes:
    """Return what zlib unpacks. Raises Malformed for what is no zlib, is cut short, has bytes
    behind it, or unpacks to more than `most_unpacked`.

    what: names it in the error.
    """
    work = zlib.decompressobj()
    try:
        data = work.decompress(packed, most_unpacked(len(packed)))
    except zlib.error:
        raise Malformed(f"{what} cannot be unpacked") from None
    if not work.eof or work.unused_data:
        raise Malformed(f"{what} are cut short, or too large")
    return data


def check_count(message: type[Message], data: bytes | memoryview, most: int) -> None:
    """Raise Malformed for a message of more than so many fields, those of its messages included.
    O(most), however long the message is.
    """
    _left(message.DESCRIPTOR, memoryview(data), most)


def _left(kind: Any, data: memoryview, most: int) -> int:
    # kind: a descriptor, of which protobuf has two types.
    for number, end, content in fields_within(data):
        most -= 1
        if most < 0:
            raise Malformed("a message has more fields than any answer to this question")
        field = kind.fields_by_number.get(number)
        if end == SIZED and field is not None and field.message_type is not None:
            most = _left(field.message_type, content, most)
    return most


def _number_at(data: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for place, byte in enumerate(data[at : at + _MOST_BYTES]):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, at + place + 1
    raise Malformed(_NONE)
