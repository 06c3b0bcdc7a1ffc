"""The files that devices hold, as bytes: a card and titles, or a card and rows of its collections.

Every size of what comes in is checked before anything is made of it: words are unpacked to a limit,
fields are counted, and arrays are as long as the items are many. So any file of 4 MB, the default
budget, is read or refused within 100 MB, in time that grows with its length.

Rows are held without their live values: whoever holds the rows of a collection ranks them itself,
and asks for live values alone. About 9 bytes an item with a title of three words: neighbors follow
each other, so positions are small steps, and each byte of a number stands among its like before all
of it is compressed.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from askew.catalog.attributes import COLUMN_OF, Column, Flags, Numbers, Titles, Words
from askew.catalog.catalog import MOST, TOP, Catalog, ItemColumns, Neighbors
from askew.catalog.catalog_file import HEAD_BYTES, OF_ROWS_BYTES, FileHead, Part, file_of
from askew.catalog.item import MAX_ATTRIBUTES, MAX_GENRES, Attribute, AttributeKind, Item
from askew.errors import Malformed, OtherKind, OutOfRange
from askew.limits import DEFAULT_BYTES, DEVICE_BYTES
from askew.protocol.cards import CollectionCard, MetricCard, ModelCard
from askew.protocol.collection import Collection
from askew.spaces.item_codes import (
    check_codes,
    coded_vectors,
    decode_boosts,
    encode,
    encode_boosts,
)
from askew.spaces.map import MapSpace
from askew.wire.messages import (
    FIELDS_OF_CARD,
    SIZED,
    check_count,
    fields_within,
    most_unpacked,
    opening,
    parse,
    parse_few,
    unpack,
)
from askew.wire.places import metric_card_from_bytes, metric_card_to_bytes
from askew.wire.tastes import MAX_ITEMS, card_from_message, card_to_message
from askew.wire.v1 import retrieval_pb2 as pb

_LEVEL = 9
_AT_ONCE = 1 << 12  # items
_MOST_LISTS, _MOST_NAMES = 1 << 17, 1 << 20  # different lists of genres, and the names in all
_OTHER_NUMBER = "a catalog file has words of another number of items"
_TITLES, _YEARS, _LISTS, _GENRES = [
    pb.ItemWords.DESCRIPTOR.fields_by_name[name].number
    for name in ("titles", "years", "lists", "genres")
]


def catalog_files(card: ModelCard, catalog: Catalog) -> dict[Part, bytes]:
    """Return a server's files: Part.WHOLE, and Part.DEFAULT where the default items are fewer than
    all.
    """
    files = {Part.WHOLE: catalog_to_bytes(card, catalog)}
    if card.n_default < len(catalog):
        files[Part.DEFAULT] = catalog_to_bytes(card, catalog.first(card.n_default))
    return files


def catalog_to_bytes(card: ModelCard, catalog: Catalog) -> bytes:
    """Return the file, head and body, of a card and of all its items, or of the first of them.

    Raises OutOfRange for vectors or boosts that codes cannot say.
    """
    return file_of(*_body_of(card, catalog))


def _body_of(card: ModelCard, catalog: Catalog) -> list[bytes | memoryview]:
    # The parts of a message one after the other are the message; a large one takes three times its
    # size in memory while it is serialized.
    small = pb.CatalogFile(card=card_to_message(card), shared_slate=catalog.shared_slate)
    boosts = _part(pb.CatalogFile, "boosts", encode_boosts(catalog.boosts))
    words = _packed(_words_of, catalog.items)
    size = sum(map(len, words))
    codes = _part(
        pb.CatalogFile, "codes", encode(catalog.vectors, card.space.scales).reshape(-1).data
    )
    head = opening(pb.CatalogFile, "words", size)
    last = _neighbors_to_message(catalog.neighbors).SerializeToString()
    return [small.SerializeToString(), head, *words, *boosts, *codes, last]


def catalog_from_body(body: bytes) -> tuple[ModelCard, Catalog]:
    """Return the card of a file's body, without the head, and the catalog of all or the default
    items. Raises OtherKind for rows of collections, and another WireError for what is malformed.
    """
    message = parse_few(pb.CatalogFile(), body, FIELDS_OF_CARD)
    card = card_from_message(message.card)
    n = len(message.boosts)
    if n not in {card.n_items, card.n_default} or n > MAX_ITEMS:
        raise Malformed("a catalog file has neither all items of its card nor its default items")
    if len(message.shared_slate) > n:
        raise Malformed("the shared slate has more items than the catalog")
    vectors = coded_vectors(message.codes, card.space.scales, n)
    shared, boosts, words = tuple(message.shared_slate), message.boosts, message.words
    neighbors = _neighbors_from_message(message, n)
    del message  # which has copies of them, before the largest part is made
    items = _items_of(memoryview(unpack(words, "the words of a catalog file")), n)
    catalog = Catalog(items, vectors, decode_boosts(boosts), shared, neighbors)
    if len(shared) < min(card.max_slate_size, n):  # or what anybody is shown looks worse than it is
        raise Malformed("the shared slate is shorter than what the server answers")
    if n == card.n_items and catalog.version != card.catalog_version:
        raise Malformed("the catalog is not the one that its card names")
    return card, catalog


def _neighbors_to_message(neighbors: Neighbors | None) -> pb.CatalogFile:
    if neighbors is None:
        return pb.CatalogFile()
    codes = neighbors.codes
    packed = codes[:, ::2].copy()
    packed[:, : codes.shape[1] // 2] |= codes[:, 1::2] << 4
    items = neighbors.items.astype("<u2").tobytes()
    return pb.CatalogFile(
        neighbors=items, neighbor_codes=packed.tobytes(), neighbor_step=neighbors.step
    )


def _neighbors_from_message(message: pb.CatalogFile, n: int) -> Neighbors | None:
    count, odd = divmod(len(message.neighbors), 2 * n)
    if not count and not message.neighbor_codes:
        return None
    if odd or not 1 <= count <= MOST:
        raise Malformed("the neighbors of items are not as many for each")
    packed = check_codes(message.neighbor_codes, count, n)
    codes = np.stack([packed & TOP, packed >> 4], axis=-1).reshape(n, -1)[:, :count]
    items = np.frombuffer(message.neighbors, dtype="<u2").reshape(n, count)
    return Neighbors(items.astype(np.uint16), codes, message.neighbor_step)


def _words_of(items: Sequence[Item]) -> Iterator[bytes]:
    # Part by part and some items at a time, as `_body_of`.
    size = sum(len(i.title.encode()) + 1 for i in items) - 1
    yield opening(pb.ItemWords, "titles", size)
    for start in range(0, len(items), _AT_ONCE):
        titles = "\n".join([i.title for i in items[start : start + _AT_ONCE]])
        yield ("\n" * (start > 0) + titles).encode()
    lists = {genres: at for at, genres in enumerate(dict.fromkeys(i.genres for i in items))}
    if len(lists) > _MOST_LISTS or sum(map(len, lists)) > _MOST_NAMES:
        limit = f"at most {_MOST_LISTS} different lists, of {_MOST_NAMES} names in all"
        raise OutOfRange("the genres of a catalog", limit)
    yield pb.ItemWords(lists=[pb.Genres(names=genres) for genres in lists]).SerializeToString()
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        years, genres = [i.year or 0 for i in some], [lists[i.genres] for i in some]
        yield pb.ItemWords(years=years, genres=genres).SerializeToString()


def _items_of(words: memoryview, n: int) -> ItemColumns:
    # Field by field, so that no more is made than n items have.
    parts: dict[int, list[memoryview]] = {_TITLES: [], _YEARS: [], _GENRES: []}
    pieces = n // _AT_ONCE + 1
    most = {_TITLES: 1, _YEARS: pieces, _GENRES: pieces}
    lists: list[tuple[str, ...]] = []
    names: dict[str, str] = {}  # one that is in many lists is kept once
    left = _MOST_NAMES
    for number, end, content in fields_within(words):
        if end == SIZED and number == _LISTS and len(lists) < min(n, _MOST_LISTS):
            check_count(pb.Genres, content, min(MAX_GENRES, left))
            genres = parse(pb.Genres(), bytes(content)).names
            lists.append(tuple([names.setdefault(name, name) for name in genres]))
            left -= len(genres)
        elif end == SIZED and number in parts and len(parts[number]) < most[number]:
            parts[number].append(content)
        else:
            raise Malformed("a catalog file has words of more than its items, or of another kind")
    titles = b"".join(parts[_TITLES])
    if titles.count(b"\n") + 1 != n:
        raise Malformed(_OTHER_NUMBER)
    of_years, of_genres = [
        _words(name, parts[number], n) for name, number in (("years", _YEARS), ("genres", _GENRES))
    ]
    return ItemColumns(titles, of_years.years, of_genres.genres, lists)


def _words(name: str, parts: list[memoryview], n: int) -> pb.ItemWords:
    # Each of n numbers ends in a byte below 128.
    packed = b"".join(parts)
    if np.count_nonzero(np.frombuffer(packed, np.uint8) < 128) != n:
        raise Malformed(_OTHER_NUMBER)
    return parse(pb.ItemWords(), opening(pb.ItemWords, name, len(packed)) + packed)


def _part(
    message: type[Message], name: str, value: bytes | memoryview
) -> tuple[bytes, bytes | memoryview]:
    return opening(message, name, len(value)), value


def _packed(parts: Callable[..., Iterable[bytes]], *of: Any) -> list[bytes]:
    # Not compressed at all where devices would refuse to unpack so much.
    for level in (_LEVEL, 0):
        work, size, packed = zlib.compressobj(level), 0, []
        for part in parts(*of):
            size += len(part)
            packed.append(work.compress(part))
        packed.append(work.flush())
        if size < most_unpacked(sum(map(len, packed))):
            break
    return packed


Rows = Mapping[str, Collection]
_DEGREE = 100_000  # steps: about a meter
_FIELDS_OF_ROWS = 4 + 3 * MAX_ATTRIBUTES


def rows_files(card: MetricCard, collections: Rows) -> dict[Part, bytes]:
    """Return what a server offers: Part.WHOLE, every row, and Part.DEFAULT where that takes more
    than 4,000,000 bytes and some collections have no live values.

    The default part takes about 800,000 bytes of those collections, evenly along their order.
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
    """Return the file of a card and of these rows, by name, without live values; a collection that
    is not among them is empty.
    """
    on_map = isinstance(card.space, MapSpace)
    rows = [
        b"".join(_packed(_rows_of, collections[shown.name], on_map))
        if shown.name in collections
        else b""
        for shown in card.collections
    ]
    message = pb.CatalogFile(rows=rows)
    message.card.ParseFromString(metric_card_to_bytes(card))
    return file_of(message.SerializeToString())


def rows_from_body(body: bytes) -> tuple[MetricCard, Rows]:
    """Return the card of a file's body and its rows by the name of their collection, with unknown
    live values; a collection without rows is left out.

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


def _rows_of(collection: Collection, on_map: bool) -> Iterator[bytes]:
    steps = _steps_of(collection.coordinates) if on_map else b""
    yield pb.CollectionRows(
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


_PLACES = 3 ** np.arange(5, dtype=np.uint8)  # of the digits of a byte


def live_to_bytes(card: MetricCard, collections: Mapping[str, Collection]) -> bytes | None:
    """Return the file of live values, the same for all devices: those of each collection of
    `MetricCard.in_live_file`, whose rows devices hold. None where there is none.

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
    """Return rows that a device holds, by name of their collection, with the live values of a file,
    head and body. Those of a collection of which not every row is held stay as they are.

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
