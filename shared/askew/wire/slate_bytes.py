"""The reply of items of tastes as bytes, of parts that are bytes already."""

from __future__ import annotations

from collections.abc import Iterable

from askew.item import Item
from askew.wire.fields import SIZED, SIZES, VARINT, sized, tag
from askew.wire.v1 import retrieval_pb2 as pb

_VERSION = tag(pb.RetrieveResponse.CATALOG_VERSION_FIELD_NUMBER, SIZED)
_IDS = tag(pb.RetrieveResponse.ITEM_IDS_FIELD_NUMBER, SIZED)
_BOOSTS = tag(pb.RetrieveResponse.BOOSTS_FIELD_NUMBER, SIZED)
_CODES = tag(pb.RetrieveResponse.CODES_FIELD_NUMBER, SIZED)
_ITEM = tag(pb.RetrieveResponse.ITEMS_FIELD_NUMBER, SIZED)
_PAYLOAD = tag(pb.RetrieveResponse.PAYLOADS_FIELD_NUMBER, SIZED)
_TITLE = tag(pb.Item.TITLE_FIELD_NUMBER, SIZED)
_YEAR = tag(pb.Item.YEAR_FIELD_NUMBER, VARINT)
_GENRE = tag(pb.Item.GENRES_FIELD_NUMBER, SIZED)


def reply_of_parts(  # noqa: PLR0913, PLR0917 - the fields of a reply, in their order
    version: bytes,
    ids: bytes,
    boosts: bytes,
    codes: bytes,
    items: Iterable[Item],
    payloads: Iterable[bytes],
) -> bytes:
    """A reply of one item at least. ids: four bytes each, little-endian."""
    head = sized(_VERSION, version), sized(_IDS, ids), sized(_BOOSTS, boosts), sized(_CODES, codes)
    tail = [sized(_PAYLOAD, payload) for payload in payloads]
    return b"".join([*head, *map(_item_to_bytes, items), *tail])


def _item_to_bytes(item: Item) -> bytes:
    content = sized(_TITLE, item.title.encode())
    if item.year:
        content += _YEAR + SIZES[item.year]
    for genre in item.genres:
        content += sized(_GENRE, genre.encode())
    return sized(_ITEM, content)
