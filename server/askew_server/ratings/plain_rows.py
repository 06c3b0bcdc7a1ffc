"""The plainly good rows of a block of text, all at once.

A row is plainly good when its line is regular, its rating is a finite number on the scale, and its
keys are texts that the rules accept: each different text is judged once, by the rules for one row.
All other rows are left to be judged one by one, which then names what is wrong.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import compute

from askew_server.ratings import fields
from askew_server.ratings.codes import Codes, Keys
from askew_server.ratings.cutting import NUMBERED, TEXTS, cut
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import RatingFormat
from askew_server.ratings.parts import Asked
from askew_server.ratings.rows import Floats, Rows, are_on_scale

_BAD = -1  # the code of what is no key


class PlainRows:
    """Reads blocks of files of one format; their keys get codes from `people` and `items`, those of
    rows that turn out to be bad too.
    """

    def __init__(self, layout: RatingFormat, people: Keys, items: Keys, asked: Asked) -> None:
        self._text, self._asked = layout.text, asked
        self._people, self._items = _Coded(people), _Coded(items)
        self._types = dict.fromkeys((layout.user, layout.item, layout.rating), NUMBERED)
        if asked.times and layout.time is not None:
            self._types[layout.time] = TEXTS

    def of(self, block: bytes) -> tuple[Rows, list[tuple[int, str]]]:
        """The plainly good rows, and the other lines with their places among all of the block."""
        (person, item, rating, *times), plain = cut(block, self._text, self._types)
        rows = Rows(
            self._people.codes(person),
            self._items.codes(item),
            _ratings(rating),
            _times(len(rating), times) if self._asked.times else None,
        )
        good = are_on_scale(rows.rating, counts=self._asked.counts)
        good &= (rows.person != _BAD) & (rows.item != _BAD)
        if good.all() and plain.all():
            return rows, []
        plain[plain] = good
        lines = block.decode().split("\n")
        return rows.part(good), [(at, lines[at]) for at in np.flatnonzero(~plain).tolist()]


class _Coded:
    """The codes of texts that came before, each of which was judged once."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._texts, self._codes = pa.array([], TEXTS), np.empty(0, np.int32)

    def codes(self, column: pa.DictionaryArray) -> Codes:
        """The code of each row of a column."""
        texts = column.dictionary
        place = compute.index_in(texts, self._texts)
        if place.null_count:
            fresh = texts.filter(place.is_null())
            more = [_code(self._keys, text) for text in fresh.to_pylist()]
            self._codes = np.append(self._codes, np.array(more, np.int32))
            self._texts = pa.concat_arrays([self._texts, fresh])
            place = compute.index_in(texts, self._texts)
        codes: Codes = self._codes[place.take(column.indices)]
        return codes


def _code(keys: Keys, text: str) -> int:
    try:
        return keys[fields.key("key", text)]
    except BadField:
        return _BAD


def _ratings(column: pa.DictionaryArray) -> Floats:
    of_text = np.array([_rating(text) for text in column.dictionary.to_pylist()], np.float64)
    ratings: Floats = of_text[column.indices.to_numpy()]
    return ratings


def _rating(text: str) -> float:
    try:
        return fields.number(text)
    except BadField:
        return np.nan


def _times(size: int, column: list[pa.Array]) -> Floats:
    """nan where the format has none."""
    if not column:
        return np.full(size, np.nan)
    return np.array([fields.time(text) for text in column[0].to_pylist()], np.float64)
