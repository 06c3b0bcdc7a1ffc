"""The files that devices hold, as bytes: a card and items, all of them or the default items.

Every size of what comes in is checked before anything is made of it: words are unpacked to a limit,
fields are counted, and arrays are as long as the items are many. So any file of 4 MB, the default
budget, is read or refused within 100 MB, in time that grows with its length.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from google.protobuf.message import Message

from askew.catalog.catalog import MOST, TOP, Catalog, ItemColumns, Neighbors
from askew.catalog.catalog_file import Part, file_of
from askew.catalog.item import MAX_GENRES, Item
from askew.errors import Malformed, OutOfRange
from askew.protocol.model_card import ModelCard
from askew.spaces.item_codes import (
    check_codes,
    coded_vectors,
    decode_boosts,
    encode,
    encode_boosts,
)
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
    """Return a server's files: the whole, and the default items where they are fewer."""
    files = {Part.WHOLE: catalog_to_bytes(card, catalog)}
    if card.n_default < len(catalog):
        files[Part.DEFAULT] = catalog_to_bytes(card, catalog.first(card.n_default))
    return files


def catalog_to_bytes(card: ModelCard, catalog: Catalog) -> bytes:
    """Return the file of a card and of all its items, or of the first of them.

    Raises OutOfRange for vectors or boosts that codes cannot say.
    """
    return file_of(*_body_of(card, catalog))


def _body_of(card: ModelCard, catalog: Catalog) -> list[bytes | memoryview]:
    # The parts of a message one after the other are the message; a large one takes three times its
    # size in memory while it is serialized.
    small = pb.CatalogFile(card=card_to_message(card), shared_slate=catalog.shared_slate)
    boosts = _part(pb.CatalogFile, "boosts", encode_boosts(catalog.boosts))
    words = _packed(catalog.items)
    size = sum(map(len, words))
    codes = _part(
        pb.CatalogFile, "codes", encode(catalog.vectors, card.space.scales).reshape(-1).data
    )
    head = opening(pb.CatalogFile, "words", size)
    last = neighbors_to_message(catalog.neighbors).SerializeToString()
    return [small.SerializeToString(), head, *words, *boosts, *codes, last]


def catalog_from_body(body: bytes) -> tuple[ModelCard, Catalog]:
    """Return the card of a file's body, and all or the default items. Raises a WireError."""
    message = parse_few(pb.CatalogFile(), body, FIELDS_OF_CARD)
    card = card_from_message(message.card)
    n = len(message.boosts)
    if n not in {card.n_items, card.n_default} or n > MAX_ITEMS:
        raise Malformed("a catalog file has neither all items of its card nor its default items")
    if len(message.shared_slate) > n:
        raise Malformed("the shared slate has more items than the catalog")
    vectors = coded_vectors(message.codes, card.space.scales, n)
    shared, boosts, words = tuple(message.shared_slate), message.boosts, message.words
    neighbors = neighbors_from_message(message, n)
    del message  # which has copies of them, before the largest part is made
    items = _items_of(memoryview(unpack(words, "the words of a catalog file")), n)
    catalog = Catalog(items, vectors, decode_boosts(boosts), shared, neighbors)
    if len(shared) < min(card.max_slate_size, n):  # or what anybody is shown looks worse than it is
        raise Malformed("the shared slate is shorter than what the server answers")
    if n == card.n_items and catalog.version != card.catalog_version:
        raise Malformed("the catalog is not the one that its card names")
    return card, catalog


def neighbors_to_message(neighbors: Neighbors | None) -> pb.CatalogFile:
    """Return the fields of a file that are of neighbors."""
    if neighbors is None:
        return pb.CatalogFile()
    codes = neighbors.codes
    packed = codes[:, ::2].copy()
    packed[:, : codes.shape[1] // 2] |= codes[:, 1::2] << 4
    items = neighbors.items.astype("<u2").tobytes()
    return pb.CatalogFile(
        neighbors=items, neighbor_codes=packed.tobytes(), neighbor_step=neighbors.step
    )


def neighbors_from_message(message: pb.CatalogFile, n: int) -> Neighbors | None:
    """Return the neighbors of n items, None if a file has none. Raises Malformed."""
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
        _column(name, parts[number], n) for name, number in (("years", _YEARS), ("genres", _GENRES))
    ]
    return ItemColumns(titles, of_years.years, of_genres.genres, lists)


def _column(name: str, parts: list[memoryview], n: int) -> pb.ItemWords:
    # Each of n numbers ends in a byte below 128.
    packed = b"".join(parts)
    if np.count_nonzero(np.frombuffer(packed, np.uint8) < 128) != n:
        raise Malformed(_OTHER_NUMBER)
    return parse(pb.ItemWords(), opening(pb.ItemWords, name, len(packed)) + packed)


def _part(
    message: type[Message], name: str, value: bytes | memoryview
) -> tuple[bytes, bytes | memoryview]:
    return opening(message, name, len(value)), value


def _packed(items: Sequence[Item]) -> list[bytes]:
    # Not compressed at all where devices would refuse to unpack so much.
    size, small = _compressed(items, _LEVEL)
    return small if size < most_unpacked(sum(map(len, small))) else _compressed(items, 0)[1]


def _compressed(items: Sequence[Item], level: int) -> tuple[int, list[bytes]]:
    work, size, packed = zlib.compressobj(level), 0, []
    for part in _words_of(items):
        size += len(part)
        packed.append(work.compress(part))
    return size, [*packed, work.flush()]
