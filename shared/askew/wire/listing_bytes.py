"""The items of a metric space's reply as bytes, of parts that are bytes already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct

from askew.catalog.listing import Value
from askew.wire.fields import FIXED32, FIXED64, SIZES, VARINT, sized, tags
from askew.wire.v1 import retrieval_pb2 as pb

_VERSION, _LISTING = tags(pb.RetrieveResponse, "catalog_version", "listings")
(_ITEM,) = tags(pb.Listing, "item", end=FIXED32)
_TITLE, _COORDINATES, _VALUE = tags(pb.Listing, "title", "coordinates", "values")
(_TEXT,) = tags(pb.AttributeValue, "text")
(_NUMBER,) = tags(pb.AttributeValue, "number", end=FIXED64)
(_FLAG,) = tags(pb.AttributeValue, "flag", end=VARINT)
_YES, _NO, _UNKNOWN = [sized(_VALUE, value) for value in (_FLAG + b"\x01", _FLAG + b"\x00", b"")]
_id = Struct("<I").pack
_number = Struct("<d").pack

Parts = tuple[int, bytes, bytes, Iterable[bytes]]
"""The parts of a `Listing`: its id, its title in UTF-8, its coordinates as little-endian doubles,
and its values by `value_to_bytes`.
"""


def listings_to_bytes(version: str, listings: Iterable[Parts]) -> bytes:
    """A reply of these items."""
    pieces = [sized(_VERSION, bytes.fromhex(version))]
    for item, title, places, values in listings:
        head = _ITEM + _id(item) if item else b""  # a field that is zero is left out
        sizes = SIZES[len(title)], SIZES[len(places)]
        content = b"".join((head, _TITLE, sizes[0], title, _COORDINATES, sizes[1], places, *values))
        pieces += _LISTING, SIZES[len(content)], content
    return b"".join(pieces)


def parts_of(item: int, title: str, coordinates: Sequence[float], values: Iterable[Value]) -> Parts:
    """The parts of an item."""
    places = b"".join(map(_number, coordinates))
    return item, title.encode(), places, map(value_to_bytes, values)


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
    return sized(_VALUE, _NUMBER + _number(value))
