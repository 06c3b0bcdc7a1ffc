"""A collection: where its items are, what they are called, and what is known of them, in columns.

A server answers from one. A device that holds its rows ranks them itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import COLUMN_OF, UNKNOWN, Column, Titles, Words, named
from askew.catalog.item import MAX_WORDS, Attribute, AttributeKind, Listing
from askew.errors import DimensionMismatch, OutOfRange, ParameterError
from askew.limits import MAX_NAME, VERSION_BYTES
from askew.protocol.cards import CollectionCard

_SPREAD = ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555))  # bits apart
_ID_BYTES = 10  # with what says where an item and its title begin


@dataclass(frozen=True, eq=False)
class Collection:
    """An item's id is its row. coordinates: (n, d) float64, degrees of latitude and longitude on a
    map, else one value an axis. columns: one an attribute of the card, in their order.
    """

    card: CollectionCard
    coordinates: NDArray[np.float64] = field(repr=False)
    titles: Titles = field(repr=False)
    columns: tuple[Column, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for part in (self.coordinates, self.titles, *self.columns):
            if len(part) != self.card.n_items:
                raise DimensionMismatch(len(part), self.card.n_items)
        if len(self.columns) != len(self.card.attributes):
            raise DimensionMismatch(len(self.columns), len(self.card.attributes))
        for attribute, column in zip(self.card.attributes, self.columns, strict=True):
            if not isinstance(column, COLUMN_OF[attribute.kind]):
                raise OutOfRange(f"the column {attribute.name}", f"a {attribute.kind}'s")

    def __len__(self) -> int:
        return self.card.n_items

    def listings(self, items: Iterable[int]) -> tuple[Listing, ...]:
        """Return the items of these ids, in this order, with title, coordinates and all values."""
        rows = np.fromiter(items, np.int64)
        coordinates = map(tuple, self.coordinates[rows].tolist())
        columns = [column.take(rows) for column in self.columns]
        values = zip(*columns, strict=True) if columns else repeat((), len(rows))
        return tuple(map(Listing, rows.tolist(), self.titles.take(rows), coordinates, values))

    def part(self, rows: NDArray[np.int64]) -> Collection:
        """Return the items of these rows, one or more, in their order, under the new ids 0, 1, ...;
        the card keeps all but the number of items, also the whole's version.
        """
        card = replace(self.card, n_items=len(rows))
        columns = tuple([column.part(rows) for column in self.columns])
        return Collection(card, self.coordinates[rows], self.titles.part(rows), columns)

    def spread(self, share: float) -> Collection:
        """Return n items, share * len(self) rounded down, at least 1, evenly along their order: the
        `part` of rows i * len(self) // n.
        """
        count = min(len(self), max(1, int(share * len(self))))
        return self.part(np.arange(count, dtype=np.int64) * len(self) // count)

    @property
    def own_version(self) -> str:
        """Return the version that these items have, as `collection_of` digests them. O(n)."""
        return _version_of(self.card.attributes, self.coordinates, self.titles, self.columns)

    def check(self) -> None:
        """Raise OutOfRange for a title or a value that no reply could carry, and for a version
        that is not its content's. O(n); whoever made the columns of checked values does without.
        """
        self.check_values()
        if self.card.version != self.own_version:
            raise OutOfRange("the version of a collection", "its content's")

    def check_values(self) -> None:
        """Raise OutOfRange as `check` does, but for the version, which no part of a whole has."""
        self.titles.check("the titles")
        for attribute, column in zip(self.card.attributes, self.columns, strict=True):
            column.check(f"the column {attribute.name}")

    def with_live(self, columns: Mapping[str, Column]) -> Collection:
        """Return the same items with other live values, by the attribute's name; nothing else is
        copied.

        Raises ParameterError for a name that is no live attribute.
        """
        live = {attribute.name for attribute in self.card.attributes if attribute.live}
        if unknown := sorted(columns.keys() - live):
            raise ParameterError("live", unknown[0], f"one of {', '.join(sorted(live)) or 'none'}")
        names = [attribute.name for attribute in self.card.attributes]
        pairs = zip(names, self.columns, strict=True)
        return replace(self, columns=tuple([columns.get(name, old) for name, old in pairs]))


def collection_of(  # noqa: PLR0913 - what a collection is made of
    name: str,
    attributes: tuple[Attribute, ...],
    coordinates: NDArray[np.float64],
    titles: Titles,
    columns: tuple[Column, ...],
    *,
    source: str,
    simulated: bool,
    number: int = 0,
) -> Collection:
    """Return a collection of these items. Its card has the attributes as `with_words`, no wants,
    mode ASK, as item_bytes what one takes in a reply on average, rounded up (12 + 8 d, the title's
    bytes, and `reply_bytes` of each column), and as version 32 hexadecimal digits: a digest of
    titles, coordinates, and name, kind, unit and values of every attribute that is not live.
    """
    version = _version_of(attributes, coordinates, titles, columns)
    card = CollectionCard(
        name,
        version,
        len(titles),
        source,
        simulated,
        with_words(attributes, columns),
        ceil(
            _ID_BYTES
            + (8 * coordinates.shape[1] + 2)
            + sum([column.reply_bytes for column in columns])
            + len(titles.blob) / len(titles)
        ),
        number=number,
    )
    return Collection(card, coordinates, titles, columns)


def curve_order(coordinates: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows of 1 or more points along Morton's curve of the first two coordinates, each
    scaled from its least and largest to 0..2**16 - 1, of which the first has the lower bits; rows
    of one cell in their own order: of (0, 0), (0, 1), (1, 0), (1, 1) the rows 0, 2, 1, 3.

    Items in this order take few bytes, and every n-th of them are spread evenly.
    """
    first = coordinates[:, :2]
    low, wide = first.min(axis=0), np.maximum(np.ptp(first, axis=0), 1e-12)
    cells = ((first - low) / wide * (2**16 - 1)).astype(np.uint64)
    curve = np.zeros(len(cells), np.uint64)
    for shift, mask in _SPREAD:
        cells = (cells | (cells << np.uint64(shift))) & np.uint64(mask)
    for axis, values in enumerate(cells.T):
        curve |= values << np.uint64(axis)
    return np.argsort(curve, kind="stable")


def with_words(attributes: Iterable[Attribute], columns: Iterable[Column]) -> tuple[Attribute, ...]:
    """Return the attributes; a category that is not live with the words in use, sorted, if they are
    at most 64 of at most 40 characters; all else without words.
    """
    return tuple(
        replace(attribute, words=_words_of(attribute, column))
        for attribute, column in zip(attributes, columns, strict=True)
    )


def _words_of(attribute: Attribute, column: Column) -> tuple[str, ...]:
    is_category = attribute.kind is AttributeKind.CATEGORY and not attribute.live
    if not is_category or not isinstance(column, Words):
        return ()
    used = [code for code in np.unique(column.codes).tolist() if code != UNKNOWN]
    words = sorted({column.vocabulary[code] for code in used[: MAX_WORDS + 1]})
    few = len(words) <= MAX_WORDS and max(map(len, words), default=0) <= MAX_NAME
    return tuple(words) if few else ()


def _version_of(
    attributes: tuple[Attribute, ...],
    coordinates: NDArray[np.float64],
    titles: Titles,
    columns: tuple[Column, ...],
) -> str:
    # Of titles, positions, and name, kind, unit and values of every attribute that is not live.
    fixed = [(a, column) for a, column in zip(attributes, columns, strict=True) if not a.live]
    arrays: dict[str, NDArray[Any]] = {
        "coordinates": coordinates,
        "titles": titles.blob,
        "ends": titles.ends,
    }
    for at, (_, column) in enumerate(fixed):
        arrays.update(named(str(at), column.arrays))
    said = [[a.name, a.kind, a.unit] for a, _ in fixed]
    shapes = {name: array.shape for name, array in arrays.items()}
    digest = hashlib.sha256(json.dumps(["collection", said, shapes]).encode())
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[: 2 * VERSION_BYTES]
