"""The plainly good rows of a block of text, all at once.

A row is plainly good when its line is regular, its rating is a finite number on the scale, and its
keys are texts that the rules accept: each different text is judged once, by the rules for one row.
All other rows are left to be judged one by one, which then names what is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.randomness import SystemBits
from askew_server.ratings import fields
from askew_server.ratings.codes import Keys
from askew_server.ratings.cutting import CutLines, cut
from askew_server.ratings.fields import BadField
from askew_server.ratings.formats import RatingFormat
from askew_server.ratings.parts import Asked
from askew_server.ratings.rows import Flags, Floats, Rows, are_on_scale
from askew_server.ratings.words import TextTable, Words, texts_of

_REMEMBERED = 1 << 16  # different ratings, of which there are mostly few
_BAD = -1  # the code of what is no key


class PlainRows:
    """Reads blocks of files of one format; their keys get codes from `people` and `items`, those of
    rows that turn out to be bad too.
    """

    def __init__(self, layout: RatingFormat, people: Keys, items: Keys, asked: Asked) -> None:
        self._layout, self._asked = layout, asked
        self._encoding = layout.text.encoding.removesuffix("-sig")
        self._people = _Judged("i", lambda texts: self._codes(people, texts))
        self._items = _Judged("i", lambda texts: self._codes(items, texts))
        self._ratings = self._no_ratings()

    def of(self, block: bytes) -> tuple[Rows, list[tuple[int, str]]]:
        """The plainly good rows, and the other lines with their places among all of the block."""
        lines, layout = cut(block, self._layout.text), self._layout
        person, item, rating = (
            lines.words(field)[0] for field in (layout.user, layout.item, layout.rating)
        )
        rows = Rows(
            self._people.values(person), self._items.values(item), self._rated(rating), None
        )
        good = are_on_scale(rows.rating, counts=self._asked.counts)
        good &= (rows.person != _BAD) & (rows.item != _BAD)
        if self._asked.times:
            time, there = self._times(lines)
            rows = rows._replace(time=time)
            good &= there
        if len(good) == len(lines.regular) and good.all():
            return rows, []
        plain = np.zeros(len(lines.regular), np.bool_)
        plain[lines.regular] = good
        odd = np.flatnonzero(~plain).tolist()
        return rows.part(good), [(at, lines.line(at).decode(self._encoding)) for at in odd]

    def _times(self, lines: CutLines) -> tuple[Floats, Flags]:
        """The times, and whether each is there to be read."""
        if self._layout.time is None:
            return np.full(len(lines.marks), np.nan), np.ones(len(lines.marks), np.bool_)
        words, there = lines.words(self._layout.time)
        return np.array(self._numbers(fields.time, texts_of(words))), there

    def _codes(self, keys: Keys, texts: list[bytes]) -> list[int]:
        return [_code(keys, text.decode(self._encoding)) for text in texts]

    def _no_ratings(self) -> _Judged:
        return _Judged("d", lambda texts: self._numbers(_rating, texts))

    def _rated(self, words: Words) -> Floats:
        if len(self._ratings) > _REMEMBERED:
            self._ratings = self._no_ratings()
        return self._ratings.values(words)

    def _numbers(self, read: Callable[[str], float], texts: list[bytes]) -> list[float]:
        """What `read` makes of each text, which float() mostly does as well and far quicker."""
        try:
            if b"_" not in b"".join(texts):
                return list(map(float, texts))
        except ValueError:
            pass
        return [read(text.decode(self._encoding)) for text in texts]


class _Judged:
    """What became of each different text, judged once."""

    def __init__(self, kind: str, judge: Callable[[list[bytes]], list[Any]]) -> None:
        self._table = TextTable(SystemBits())
        self._judge = judge
        self._values = array(kind, judge(self._table.texts(0)))

    def __len__(self) -> int:
        return len(self._values)

    def values(self, words: Words) -> NDArray[Any]:
        """The value of each text."""
        numbers = self._table.numbers(words)
        if len(self._table) > len(self._values):
            self._values.extend(self._judge(self._table.texts(len(self._values))))
        return np.frombuffer(self._values, self._values.typecode).take(numbers)


def _code(keys: Keys, text: str) -> int:
    try:
        return keys[fields.key("key", text)]
    except BadField:
        return _BAD


def _rating(text: str) -> float:
    try:
        return fields.number(text)
    except BadField:
        return np.nan
