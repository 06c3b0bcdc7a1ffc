"""The items of a metric space's reply as bytes, of their parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct

from askew.listing import Value
from askew.wire.fields import FIXED32, FIXED64, SIZED, SIZES, VARINT, sized, tag
from askew.wire.v1 import retrieval_pb2 as pb

_VERSION = tag(pb.RetrieveResponse.CATALOG_VERSION_FIELD_NUMBER, SIZED)
_LISTING = tag(pb.RetrieveResponse.LISTINGS_FIELD_NUMBER, SIZED)
_ITEM = tag(pb.Listing.ITEM_FIELD_NUMBER, FIXED32)
_TITLE = tag(pb.Listing.TITLE_FIELD_NUMBER, SIZED)
_COORDINATES = tag(pb.Listing.COORDINATES_FIELD_NUMBER, SIZED)
_VALUE = tag(pb.Listing.VALUES_FIELD_NUMBER, SIZED)
_TEXT = tag(pb.AttributeValue.TEXT_FIELD_NUMBER, SIZED)
_NUMBER = _VALUE + b"\x09" + tag(pb.AttributeValue.NUMBER_FIELD_NUMBER, FIXED64)
_FLAG = _VALUE + b"\x02" + tag(pb.AttributeValue.FLAG_FIELD_NUMBER, VARINT)
_YES, _NO, _UNKNOWN = _FLAG + b"\x01", _FLAG + b"\x00", _VALUE + b"\x00"
_id = Struct("<I").pack
_number = Struct("<d").pack


def listings_to_bytes(version: str, listings: Iterable[bytes]) -> bytes:
    """A reply of items as bytes."""
    return b"".join([sized(_VERSION, bytes.fromhex(version)), *listings])


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
    places = _COORDINATES + SIZES[len(coordinates)] + coordinates  # of 8 axes at most
    content = b"".join((head, sized(_TITLE, title), places, *values))
    return sized(_LISTING, content)


def value_to_bytes(value: Value) -> bytes:
    """The value of an attribute, as a part of its listing."""
    if value is None:
        return _UNKNOWN
    if value is True:
        return _YES
    if value is False:
        return _NO
    if isinstance(value, str):
        return sized(_VALUE, sized(_TEXT, value.encode()))
    return _NUMBER + _number(value)
