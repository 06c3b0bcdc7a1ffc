"""The reply of items of tastes as bytes, of parts that are bytes already."""

from __future__ import annotations

from collections.abc import Iterable

from askew.catalog.item import Item
from askew.wire.fields import SIZES, VARINT, sized, tags
from askew.wire.v1 import retrieval_pb2 as pb

_VERSION, _IDS, _BOOSTS, _CODES, _ITEM, _PAYLOAD = tags(
    pb.RetrieveResponse, "catalog_version", "item_ids", "boosts", "codes", "items", "payloads"
)
_TITLE, _GENRE = tags(pb.Item, "title", "genres")
(_YEAR,) = tags(pb.Item, "year", end=VARINT)


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
