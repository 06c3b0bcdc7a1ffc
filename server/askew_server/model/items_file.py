"""The file of a saved model that holds its items: keys and words, one item a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from askew.errors import ArtifactError
from askew.item import Item
from askew_server.model.stored_keys import StoredKeys

Year = Annotated[int, Meta(ge=1, le=9999)]
_BETWEEN = b"],\n["  # rows, and nothing else: no text has a line break as it is
_Items = list[tuple[str, str, Year | None, tuple[str, ...]]]


def encode_items(keys: Iterable[str], items: Sequence[Item]) -> bytes:
    """Keys, titles, years and genres, in order of item id, one item a line."""
    rows = ((key, i.title, i.year, i.genres) for key, i in zip(keys, items, strict=True))
    return b"[" + b",\n".join(map(msgspec.json.encode, rows)) + b"]"


def decode_items(pieces: Iterable[bytes]) -> tuple[StoredKeys, tuple[Item, ...]]:
    """The keys and the items of a catalog, of its file in pieces: all of it is half as large as
    what is made of it. Raises ArtifactError for anything else.
    """
    items: list[Item] = []
    years: dict[int | None, int | None] = {}  # one object for all items of a year, or of the same
    genres: dict[tuple[str, ...], tuple[str, ...]] = {}  # genres: there are few of either

    def read() -> Iterator[str]:
        for part in _parts_of(pieces):
            for key, title, year, kinds in msgspec.json.decode(part, type=_Items):
                known = genres.setdefault(kinds, kinds)
                items.append(Item(title, years.setdefault(year, year), known))
                yield key

    try:
        keys = StoredKeys(read())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"the items cannot be read: {error}") from None
    if not keys.distinct:
        raise ArtifactError("two items have the same key")
    return keys, tuple(items)


def _parts_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A list of rows as shorter lists, for all rows at once are far larger than what is made of
    them; or as it is, where it has no lines.
    """
    rest, opening = bytearray(), b""
    for piece in pieces:
        seen = max(len(rest) - len(_BETWEEN) + 1, 0)
        rest += piece
        end = rest.rfind(_BETWEEN, seen)
        if end >= 0:
            yield opening + rest[: end + 1] + b"]"
            del rest[: end + 3]
            opening = b"["
    yield opening + rest
