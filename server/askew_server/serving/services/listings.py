"""Replies of whole items, from the columns of their collection: what an attribute's values are as
bytes is made once a collection, as far as its values are few.

Nothing is kept of a question: the tables are those of all values there are, and made before a
snapshot is served, or the time of an answer would tell that nobody has asked since.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from askew.listing import Value
from askew.wire.listing_bytes import listings_to_bytes, value_to_bytes
from askew_server.collections.collection import Collection, Picked
from askew_server.collections.columns import Column, Flags, Numbers, Rows, Words

_FEW = 4096  # words are encoded beforehand; more take long

_Encoder = Callable[[Rows], list[bytes]]


class ListingReplies:
    """For any number of threads. What was not made ready is made at the first reply."""

    def __init__(self) -> None:
        self._encoders = WeakKeyDictionary[Collection, list[_Encoder]]()

    def make_ready(self, collection: Collection) -> list[_Encoder]:
        """What gives the values of its columns as bytes, made once."""
        found = self._encoders.get(collection)
        if found is None:
            found = self._encoders[collection] = [*map(_encoder, collection.columns)]
        return found

    def reply(self, picked: Picked) -> bytes:
        """Some items of a collection, on the wire."""
        collection, rows = picked
        titles = collection.titles.encoded(rows)
        coordinates = collection.coordinates[rows].astype("<f8", copy=False).tobytes()
        size = len(coordinates) // len(rows)
        places = [coordinates[at : at + size] for at in range(0, len(coordinates), size)]
        columns = [encode(rows) for encode in self.make_ready(collection)]
        values = zip(*columns, strict=True) if columns else repeat(())
        listings = zip(rows.tolist(), titles, places, values, strict=False)  # values have no end
        return listings_to_bytes(collection.card.version, listings)


def _encoder(column: Column) -> _Encoder:
    """What gives the values of some rows of a column as bytes."""
    if isinstance(column, Flags):
        return _of_table(column.values, [False, True])
    if isinstance(column, Words) and len(column.vocabulary) <= _FEW:
        return _of_table(column.codes, list(column.vocabulary))
    if isinstance(column, Numbers) and len(few := np.unique(column.values.view(np.uint32))) <= _FEW:
        return _of_bits(column, few)
    return lambda rows: [value_to_bytes(value) for value in column.take(rows)]


def _of_bits(column: Numbers, few: NDArray[np.uint32]) -> _Encoder:
    """By the bits of numbers, of which these are all: as numbers, not every NaN is found."""
    values = Numbers(few.view(np.float32)).take(np.arange(len(few)))
    table = dict(zip(few.tolist(), map(value_to_bytes, values), strict=True))
    bits = column.values.view(np.uint32)
    return lambda rows: [table[each] for each in bits[rows].tolist()]


def _of_table(codes: NDArray[np.signedinteger[Any]], values: list[Value]) -> _Encoder:
    table = [value_to_bytes(value) for value in [*values, None]]  # UNKNOWN is the last
    return lambda rows: [table[code] for code in codes[rows].tolist()]
