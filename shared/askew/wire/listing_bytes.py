"""The items of a metric space's reply as bytes: what their messages would be, without the messages,
which take several times as long to make.

A field is its tag, its length unless that follows from its type, and its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct

from askew.listing import Value
from askew.wire.v1 import retrieval_pb2 as pb

_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5  # how a field's content ends


def _tag(field: int, wire_type: int) -> bytes:
    return bytes([field << 3 | wire_type])


_VERSION = _tag(pb.RetrieveResponse.CATALOG_VERSION_FIELD_NUMBER, _SIZED)
_LISTING = _tag(pb.RetrieveResponse.LISTINGS_FIELD_NUMBER, _SIZED)
_ITEM = _tag(pb.Listing.ITEM_FIELD_NUMBER, _FIXED32)
_TITLE = _tag(pb.Listing.TITLE_FIELD_NUMBER, _SIZED)
_COORDINATES = _tag(pb.Listing.COORDINATES_FIELD_NUMBER, _SIZED)
_VALUE = _tag(pb.Listing.VALUES_FIELD_NUMBER, _SIZED)
_TEXT = _tag(pb.AttributeValue.TEXT_FIELD_NUMBER, _SIZED)
_NUMBER = _VALUE + b"\x09" + _tag(pb.AttributeValue.NUMBER_FIELD_NUMBER, _FIXED64)
_FLAG = _VALUE + b"\x02" + _tag(pb.AttributeValue.FLAG_FIELD_NUMBER, _VARINT)
_YES, _NO, _UNKNOWN = _FLAG + b"\x01", _FLAG + b"\x00", _VALUE + b"\x00"
_id = Struct("<I").pack
_number = Struct("<d").pack
_SIZES = [bytes([size]) for size in range(128)]


def listings_to_bytes(version: str, listings: Iterable[bytes]) -> bytes:
    """A reply of items as bytes."""
    return b"".join([_sized(_VERSION, bytes.fromhex(version)), *listings])


def listing_to_bytes(
    item: int, title: str, coordinates: Sequence[float], values: Iterable[Value]
) -> bytes:
    """One of the items of a reply, of the parts of a `Listing`."""
    places = b"".join(map(_number, coordinates))
    return listing_of_parts(item, title.encode(), places, map(value_to_bytes, values))


def listing_of_parts(item: int, title: bytes, coordinates: bytes, values: Iterable[bytes]) -> bytes:
    """The same of parts that are bytes already: the title in UTF-8, the coordinates as
    little-endian doubles, the values by `value_to_bytes`.
    """
    head = _ITEM + _id(item) if item else b""  # a field that is zero is left out
    places = _COORDINATES + _SIZES[len(coordinates)] + coordinates  # of 8 axes at most
    content = b"".join((head, _sized(_TITLE, title), places, *values))
    return _sized(_LISTING, content)


def value_to_bytes(value: Value) -> bytes:
    """The value of an attribute, as a part of its listing."""
    if value is None:
        return _UNKNOWN
    if value is True:
        return _YES
    if value is False:
        return _NO
    if isinstance(value, str):
        return _sized(_VALUE, _sized(_TEXT, value.encode()))
    return _NUMBER + _number(value)


def _sized(tag: bytes, content: bytes) -> bytes:
    size = len(content)
    return tag + (_SIZES[size] if size < len(_SIZES) else _varint(size)) + content


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; all but the last have the eighth set."""
    low = number & 127
    return bytes([low | 128]) + _varint(number >> 7) if number > 127 else bytes([low])
