"""Columns of a file in their roles: what makes a text of one bad, and how its values are packed as
they come, without a Python object an item.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import UNKNOWN, Column, Flags, Numbers, Titles, Words
from askew.catalog.item import AttributeKind
from askew.errors import DataError
from askew.limits import FEW_MARKS, MAX_TEXT, has_few_marks, is_visible
from askew_server.collections.hours import weekly_hours
from askew_server.collections.model import MOST_PEOPLE
from askew_server.tables.rows import BadField, number

MAX_CATEGORIES = 10_000
_KEY_LIMIT = 200
_MOST, _HALF = 0.9, 0.5  # of the values that are there make a guess, or a doubt
_TRUE, _FALSE = {"true", "yes", "t", "y", "1"}, {"false", "no", "f", "n", "0"}
_LARGEST = float(np.finfo(np.float32).max)
_HOURS = re.compile(r"\b[0-2]?[0-9]:[0-5][0-9]\b|^24/7$")
Mask = NDArray[np.bool_]


class FileColumn:
    """A column of a file, or the first of several that is filled. read: the value of a text, or
    BadField. code: the type of packed values; missing: what stands for a bad one.
    """

    is_optional = False  # else a row needs its value

    def __init__(
        self,
        names: Sequence[str],
        read: Callable[[str], float],
        code: str = "d",
        missing: float = nan,
    ) -> None:
        self.names, self.name = tuple(names), " or ".join(names)
        self._read, self._missing = read, missing
        self._packed: array[Any] = array(code)

    def take(self, texts: Iterable[str]) -> list[tuple[int, str]]:
        """Take the texts of the next rows. Return the place among these texts, from 0 on, of each
        bad one, and why it is bad: (1, "lat must be a finite number").
        """
        faults = []
        for at, text in enumerate(texts):
            try:
                value = self._read(text)
            except BadField as bad:
                faults.append((at, bad.rule))
                value = self._missing if bad.value is None else bad.value
            self._packed.append(value)
        return faults

    @property
    def values(self) -> NDArray[Any]:
        """Return the packed values of all rows taken, in their order; those of bad texts are
        `missing`, or what their BadField has in place of the text.
        """
        return np.frombuffer(self._packed, self._packed.typecode)


def number_column(names: Sequence[str]) -> FileColumn:
    """Return the column of a coordinate, of one of these names, whose texts are finite numbers."""
    name = " or ".join(names)
    return FileColumn(names, lambda text: number(text, name))


def people_column(names: Sequence[str]) -> FileColumn:
    """Return the column, of one of these names, of how many people live in a town; its `take`
    returns as bad what is no number above 0 and at most 1e11.
    """
    name = " or ".join(names)

    def read(text: str) -> float:
        people = number(text, name)
        if not 0 < people <= MOST_PEOPLE:
            raise BadField(name, f"above 0 and at most {MOST_PEOPLE:g}", text)
        return people

    return FileColumn(names, read)


class TitleColumn(FileColumn):
    """Titles end to end; a value is the size of one."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names, self._sized, "q", 0)
        self._blob = bytearray()

    def titles(self, good: Mask) -> Titles:
        """Return the titles of the good rows, in their order."""
        blob, sizes = np.frombuffer(self._blob, np.uint8), self.values
        return Titles(blob[np.repeat(good, sizes)], np.cumsum(sizes[good]))

    def _sized(self, text: str) -> int:
        encoded = _shown_text(self.name, text).encode()
        self._blob += encoded
        return len(encoded)


class KeyColumn(FileColumn):
    """Digests of keys: names of one size, no secrets. A value says whether there is one."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names, self._digested, "b", False)
        self._digests = bytearray()

    def digests(self) -> NDArray[np.uint64]:
        """Return the digest of each row in two halves, (n, 2); zeros where there is none."""
        digests = np.zeros((len(self._packed), 2), np.uint64)
        digests[self.values.astype(np.bool_)] = np.frombuffer(self._digests, "<u8").reshape(-1, 2)
        return digests

    def _digested(self, text: str) -> bool:
        if not 0 < len(text) <= _KEY_LIMIT:
            raise BadField(self.name, f"1 to {_KEY_LIMIT} characters long", text)
        self._digests += hashlib.blake2b(text.encode(), digest_size=16).digest()
        return True


class AttributeColumn(FileColumn):
    """The values of an attribute. An empty field is unknown, and so is one that cannot be read,
    which is reported. monday: of the week whose hours count.
    """

    is_optional = True

    def __init__(self, name: str, kind: AttributeKind, monday: datetime.date) -> None:
        self._kind, self._monday = kind, monday
        self._codes: dict[str, tuple[int, str | None]] = {"": (UNKNOWN, None)}
        self._words: dict[str, int] = {}
        match kind:
            case AttributeKind.NUMBER:
                super().__init__([name], self._number, "f")
            case AttributeKind.FLAG:
                super().__init__([name], self._flag, "b", UNKNOWN)
            case _:
                super().__init__([name], self._code, "i", UNKNOWN)

    def column(self, good: Mask) -> Column:
        """Return the attribute's values of the good rows, in their order; words are coded in the
        order in which they come. Raises DataError for a category of more than 10,000 words.
        """
        values = self.values[good]
        match self._kind:
            case AttributeKind.NUMBER:
                return Numbers(values)
            case AttributeKind.FLAG:
                return Flags(values)
        words = list(self._words)
        used = sorted(np.unique(values[values != UNKNOWN]).tolist(), key=words.__getitem__)
        if self._kind is AttributeKind.CATEGORY and len(used) > MAX_CATEGORIES:
            raise DataError(
                f"the column {self.name} has {len(used):,} different words; a category has at most "
                f"{MAX_CATEGORIES:,}"
            )
        new = np.full(len(words) + 1, UNKNOWN, np.int32)  # the last is that of UNKNOWN
        new[used] = np.arange(len(used))
        return Words(new[values], Titles.of([words[code] for code in used]))

    def _number(self, text: str) -> float:
        if not text:
            return nan
        value = number(text, self.name)
        if abs(value) > _LARGEST:
            raise BadField(self.name, f"a number up to {_LARGEST:.2g}", text)
        return value

    def _flag(self, text: str) -> int:
        low = text.lower()
        if text and low not in _TRUE | _FALSE:
            raise BadField(self.name, "a flag, such as yes or no", text)
        return low in _TRUE if text else UNKNOWN

    def _code(self, text: str) -> int:
        if text not in self._codes:
            if self._kind is AttributeKind.HOURS:
                word, reason = weekly_hours(text, self._monday)
            else:
                word, reason = _shown_text(self.name, text), None
            code = UNKNOWN if word is None else self._words.setdefault(word, len(self._words))
            self._codes[text] = code, reason
        code, reason = self._codes[text]
        if reason is not None:
            raise BadField(self.name, reason, text, code)
        return code


def guess_kind(name: str, texts: Iterable[str]) -> AttributeKind:
    """Return the kind of which nine in ten of the filled values of a column look: flag (true, yes,
    t, y and their opposites, in any case, not 1 or 0), number or hours (a time 08:00, or 24/7), in
    this order; a category where at most half look like any of these, or none is filled. Raises
    DataError for a share between.
    """
    filled = [text for text in map(str.strip, texts) if text]
    words = (_TRUE | _FALSE) - {"0", "1"}
    looks: dict[AttributeKind, Callable[[str], object]] = {
        AttributeKind.FLAG: lambda text: text.lower() in words,
        AttributeKind.NUMBER: _is_number,
        AttributeKind.HOURS: _HOURS.search,
    }
    for kind, like in looks.items():
        share = sum(map(bool, map(like, filled))) / max(1, len(filled))
        if share >= _MOST:
            return kind
        if share > _HALF:
            raise DataError(
                f"the column {name} looks like {kind} in {share:.0%} of its values: name "
                f"{name}={kind}, where the others are unknown, or {name}=category"
            )
    return AttributeKind.CATEGORY


def _is_number(text: str) -> bool:
    try:
        return abs(number(text)) <= _LARGEST
    except BadField:
        return False


def _shown_text(name: str, text: str) -> str:
    """Return the text as it is, which a reply may carry. Raises BadField where it is empty, too
    long, or would not show as it is.
    """
    if not 0 < len(text) <= MAX_TEXT:
        raise BadField(name, f"1 to {MAX_TEXT} characters long", text)
    if not is_visible(text):
        raise BadField(name, "text that shows, without controls or turned directions", text)
    if not has_few_marks(text):
        raise BadField(name, FEW_MARKS, text)
    return text
