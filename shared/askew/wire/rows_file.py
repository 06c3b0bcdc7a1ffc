"""The files of a server of places that devices hold: its card, and rows of its collections without
their live values.

Whoever holds the rows of a collection ranks them itself, and asks for live values alone. About 9
bytes an item with a title of three words: neighbors follow each other, so positions are small
steps, and each byte of a number stands among its like before all of it is compressed.

Every size of what comes in is checked before anything is made of it, as in `catalog_file`.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import COLUMN_OF, Column, Flags, Numbers, Titles, Words
from askew.catalog.catalog_file import HEAD_BYTES, OF_ROWS_BYTES, FileHead, Part, file_of
from askew.catalog.item import MAX_ATTRIBUTES, Attribute, AttributeKind
from askew.errors import Malformed, OtherKind, OutOfRange
from askew.limits import DEFAULT_BYTES, DEVICE_BYTES
from askew.protocol.collection import Collection
from askew.protocol.metric_card import CollectionCard, MetricCard
from askew.spaces.map import MapSpace
from askew.wire.messages import FIELDS_OF_CARD, most_unpacked, parse_few, unpack
from askew.wire.places import metric_card_from_bytes, metric_card_to_bytes
from askew.wire.v1 import retrieval_pb2 as pb

Rows = Mapping[str, Collection]
_LEVEL = 9
_DEGREE = 100_000  # steps: about a meter
_FIELDS_OF_ROWS = 4 + 3 * MAX_ATTRIBUTES


def rows_files(card: MetricCard, collections: Rows) -> dict[Part, bytes]:
    """Return what a server offers: every row, and a default part where those are more than a device
    holds.

    The default part takes DEFAULT_BYTES of the collections without live values, evenly along their
    order.
    """
    whole = rows_to_bytes(card, collections)
    files = {Part.WHOLE: whole}
    still = {
        collection.name: collections[collection.name]
        for collection in card.collections
        if not collection.is_live
    }
    if len(whole) > DEVICE_BYTES and still:
        share = DEFAULT_BYTES / len(rows_to_bytes(card, still))
        files[Part.DEFAULT] = rows_to_bytes(card, {n: c.spread(share) for n, c in still.items()})
    return files


def rows_to_bytes(card: MetricCard, collections: Rows) -> bytes:
    """Return the file of a card and of these rows."""
    on_map = isinstance(card.space, MapSpace)
    rows = [
        _packed(_rows_of(collections[collection.name], on_map=on_map))
        if collection.name in collections
        else b""
        for collection in card.collections
    ]
    message = pb.CatalogFile(rows=rows)
    message.card.ParseFromString(metric_card_to_bytes(card))
    return file_of(message.SerializeToString())


def rows_from_body(body: bytes) -> tuple[MetricCard, Rows]:
    """Return the card of a file's body and its rows by collection, with unknown live values.

    Raises OtherKind for a catalog of titles, and another WireError for what is malformed.
    """
    message = parse_few(pb.CatalogFile(), body, FIELDS_OF_CARD)
    if message.card.WhichOneof("kind") == "space":
        raise OtherKind("this server has a catalog of titles, and no collections of places")
    card = metric_card_from_bytes(message.card.SerializeToString())
    if len(message.rows) != len(card.collections):
        raise Malformed("a file of rows has not one part for each collection")
    pairs = zip(card.collections, message.rows, strict=True)
    return card, {part.name: _collection(part, card, rows) for part, rows in pairs if rows}


def _rows_of(collection: Collection, *, on_map: bool) -> bytes:
    steps = _steps_of(collection.coordinates) if on_map else b""
    return pb.CollectionRows(
        titles="\n".join(collection.titles),
        steps=steps,
        coordinates=b"" if steps else _planes(collection.coordinates.T.astype("<f8")),
        columns=[
            _column_of(column)
            for attribute, column in zip(
                collection.card.attributes, collection.columns, strict=True
            )
            if not attribute.live
        ],
    ).SerializeToString()


def _collection(card: CollectionCard, whole: MetricCard, packed: bytes) -> Collection:
    rows = parse_few(
        pb.CollectionRows(), unpack(packed, "the rows of a collection"), _FIELDS_OF_ROWS
    )
    titles = Titles.of(rows.titles.split("\n"))
    n = len(titles)
    if n > card.n_items:
        raise Malformed("a collection has fewer items than its rows")
    dimension = whole.space.dimension
    if rows.steps:
        steps = _numbers(rows.steps, "<u4", n, dimension).astype(np.int64)
        coordinates = np.cumsum((steps >> 1) ^ -(steps & 1), axis=1) / _DEGREE
    else:
        coordinates = _numbers(rows.coordinates, "<f8", n, dimension)
    _check_inside(whole, coordinates)
    fixed = [attribute for attribute in card.attributes if not attribute.live]
    if len(rows.columns) != len(fixed):
        raise Malformed("rows have not one column for each attribute")
    still = {
        attribute.name: _column(attribute, message, n)
        for attribute, message in zip(fixed, rows.columns, strict=True)
    }
    columns: list[Column] = [
        still[a.name] if a.name in still else COLUMN_OF[a.kind].unknown(n) for a in card.attributes
    ]
    here = replace(card, n_items=n)
    collection = Collection(here, coordinates.T.copy(), titles, tuple(columns))
    if n == card.n_items:
        collection.check()
    else:
        collection.check_values()
    return collection


def _column_of(column: Column) -> pb.RowColumn:
    if isinstance(column, Words):
        words = "\n".join(column.vocabulary)
        return pb.RowColumn(values=_planes((column.codes + 1).astype("<u4")), words=words)
    return pb.RowColumn(values=_planes(column.values))


def _column(attribute: Attribute, message: pb.RowColumn, n: int) -> Column:
    kind = COLUMN_OF[attribute.kind]
    if kind is Numbers:
        return Numbers(_numbers(message.values, "<f4", n)[0])
    if kind is Flags:
        return Flags(_numbers(message.values, "i1", n)[0])
    codes = _numbers(message.values, "<u4", n)[0].astype(np.int64) - 1
    words = message.words.split("\n") if message.words else []
    if (codes >= len(words)).any():
        raise Malformed("a column has the number of a word that it does not have")
    return Words(codes.astype(np.int32), Titles.of(words))


def _steps_of(coordinates: NDArray[np.float64]) -> bytes:
    # b"" where a position has more than five decimals.
    whole = np.rint(coordinates.T * _DEGREE)
    if not np.array_equal(whole / _DEGREE, coordinates.T):
        return b""
    steps = whole.astype(np.int64)
    steps[:, 1:] -= steps[:, :-1].copy()
    return _planes(((steps << 1) ^ (steps >> 63)).astype("<u4"))


def _check_inside(card: MetricCard, coordinates: NDArray[np.float64]) -> None:
    # coordinates: (d, n).
    if isinstance(card.space, MapSpace):
        low, high = np.array([[-90.0, -180.0], [90.0, 180.0]])[:, :, np.newaxis]
    else:
        ends = np.array([(axis.low, axis.high) for axis in card.space.axes])
        low, high = ends[:, :1], ends[:, 1:]
    if not ((coordinates >= low) & (coordinates <= high)).all():  # NaN is nowhere
        raise Malformed("a row lies outside of the server's own space")


def _planes(numbers: NDArray[Any]) -> bytes:
    # The first byte of every number, then the second byte of every number.
    flat = np.ascontiguousarray(numbers).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, flat.itemsize).T.tobytes()


def _numbers(planes: bytes, kind: str, n: int, rows: int = 1) -> NDArray[Any]:
    size = np.dtype(kind).itemsize
    if len(planes) != size * rows * n:
        raise Malformed("a column has not one value for each row")
    bytes_of = np.frombuffer(planes, np.uint8).reshape(size, rows * n)
    return np.ascontiguousarray(bytes_of.T).view(kind).reshape(rows, n)


def _packed(rows: bytes) -> bytes:
    # Not compressed at all where devices would refuse to unpack so much.
    packed = zlib.compress(rows, _LEVEL)
    return packed if len(rows) < most_unpacked(len(packed)) else zlib.compress(rows, 0)


_PLACES = 3 ** np.arange(5, dtype=np.uint8)  # of the digits of a byte


def live_to_bytes(card: MetricCard, collections: Mapping[str, Collection]) -> bytes | None:
    """Return the file of live values, the same for all devices: those of each collection whose rows
    devices hold. None where the card has no such collection.

        body = SHA-256 of the rows that they are of | each live column of each collection, in order

    Five flags are one byte, the digits of a number to base 3: 0 unknown, 1 no, 2 yes, the first
    flag the lowest digit. A number is a float32, little-endian; NaN is unknown. So the length says
    nothing of the values, and a device knows it before it asks.
    """
    parts = [_of_rows(card)]
    for shown in card.in_live_file:
        columns = collections[shown.name].columns
        for attribute, column in zip(shown.attributes, columns, strict=True):
            if attribute.live and isinstance(column, Flags):
                digits = np.zeros(-(-len(column) // len(_PLACES)) * len(_PLACES), np.uint8)
                digits[: len(column)] = column.values + 1
                parts.append((digits.reshape(-1, len(_PLACES)) @ _PLACES).tobytes())
            elif attribute.live and isinstance(column, Numbers):
                parts.append(column.values.astype("<f4").tobytes())
    return file_of(*parts) if card.in_live_file else None


def with_live_values(
    card: MetricCard, rows: Mapping[str, Collection], file: bytes
) -> Mapping[str, Collection]:
    """Return rows that a device holds, by name of their collection, with the live values of a
    file. Those of a collection of which not every row is held stay as they are.

    Raises Malformed for a file that is damaged, of another length, or of other rows.
    """
    head, body = FileHead.of(file), file[HEAD_BYTES:]
    head.check(body)
    if body[:OF_ROWS_BYTES] != _of_rows(card):
        raise Malformed("the live values are of other rows than those held here: ask again")
    sizes = [shown.live_bytes or 0 for shown in card.in_live_file]
    if len(body) != OF_ROWS_BYTES + sum(sizes):
        raise Malformed("the file of live values has not one value for each row")
    merged, at = dict(rows), OF_ROWS_BYTES
    for shown in card.in_live_file:
        columns: dict[str, Column] = {}
        for attribute in shown.attributes:
            if not attribute.live:
                continue
            is_flag = attribute.kind is AttributeKind.FLAG
            size = -(-shown.n_items // len(_PLACES)) if is_flag else 4 * shown.n_items
            part, at = body[at : at + size], at + size
            columns[attribute.name] = (
                Flags(_unpacked(part, shown.n_items))
                if is_flag
                else Numbers(np.frombuffer(part, "<f4").astype(np.float32))
            )
            try:
                columns[attribute.name].check(f"live values of {shown.name}")
            except OutOfRange as error:
                raise Malformed(str(error)) from None
        if shown.name in rows and len(rows[shown.name]) == shown.n_items:
            merged[shown.name] = rows[shown.name].with_live(columns)
    return merged


def _of_rows(card: MetricCard) -> bytes:
    # Which rows, in which order, and which columns values are of.
    identity = [
        [shown.number, shown.version, shown.n_items]
        + [[a.name, a.kind, a.unit] for a in shown.attributes if a.live]
        for shown in card.in_live_file
    ]
    return hashlib.sha256(json.dumps(identity).encode()).digest()


def _unpacked(packed: bytes, n: int) -> NDArray[np.int8]:
    numbers = np.frombuffer(packed, np.uint8)
    if (numbers >= 3 ** len(_PLACES)).any():
        raise Malformed("live flags have a byte that is no five flags")
    digits = numbers[:, np.newaxis] // _PLACES % 3
    return digits.reshape(-1)[:n].astype(np.int8) - np.int8(1)
