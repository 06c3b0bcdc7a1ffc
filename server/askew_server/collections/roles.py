"""Columns of a file in their roles: what makes a text of one bad, and how its values are packed as
they come, without a Python object an item.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.catalog.attributes import UNKNOWN, Column, Flags, Numbers, Titles, Words
from askew.catalog.item import MAX_HOURS, AttributeKind
from askew.errors import DataError
from askew.limits import FEW_MARKS, MAX_TEXT, has_few_marks, is_visible
from askew_server.collections.model import MOST_PEOPLE
from askew_server.ratings import fields
from askew_server.ratings.fields import BadField

MAX_CATEGORIES = 10_000
_KEY_LIMIT = 200
_MOST = 0.9  # of the values that are there make a guess
_TRUE, _FALSE = {"true", "yes", "t", "y", "1"}, {"false", "no", "f", "n", "0"}
_LARGEST = float(np.finfo(np.float32).max)
_HOURS = re.compile(r"\b[0-2]?[0-9]:[0-5][0-9]\b|^24/7$")
Mask = NDArray[np.bool_]


class FileColumn:
    """One column of a file. read: the value of a text, or BadField. code: the type of packed
    values; missing: what stands for a bad one.
    """

    def __init__(
        self, name: str, read: Callable[[str], float], code: str = "d", missing: float = np.nan
    ) -> None:
        self.name, self._read, self._missing = name, read, missing
        self._values: array[Any] = array(code)

    def take(self, texts: Iterable[str], faults: dict[int, BadField]) -> None:
        """The texts of some rows; the first fault of each row is kept."""
        for at, text in enumerate(texts):
            try:
                value = self._read(text)
            except BadField as reason:
                faults.setdefault(at, reason)
                value = self._missing
            self._values.append(value)

    @property
    def found(self) -> NDArray[Any]:
        """The packed values of all rows."""
        return np.frombuffer(self._values, self._values.typecode)


def number_column(name: str) -> FileColumn:
    """A coordinate."""
    return FileColumn(name, lambda text: fields.number(text, name))


def people_column(name: str) -> FileColumn:
    """How many people live in a town."""

    def read(text: str) -> float:
        number = fields.number(text, name)
        if not 0 < number <= MOST_PEOPLE:
            raise BadField(name, f"above 0 and at most {MOST_PEOPLE:g}", text)
        return number

    return FileColumn(name, read)


class TitleColumn(FileColumn):
    """Titles end to end; a value is the size of one."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self._sized, "q", 0)
        self._blob = bytearray()

    def titles(self, good: Mask) -> Titles:
        """Those of the good rows."""
        blob, sizes = np.frombuffer(self._blob, np.uint8), self.found
        return Titles(blob[np.repeat(good, sizes)], np.cumsum(sizes[good]))

    def _sized(self, text: str) -> int:
        encoded = _shown_text(self.name, text).encode()
        self._blob += encoded
        return len(encoded)


class KeyColumn(FileColumn):
    """Digests of keys: names of one size, no secrets. A value says whether there is one."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self._digested, "b", False)
        self._digests = bytearray()

    def digests(self) -> NDArray[np.uint64]:
        """The two halves of each."""
        digests = np.zeros((len(self._values), 2), np.uint64)
        digests[self.found.astype(np.bool_)] = np.frombuffer(self._digests, "<u8").reshape(-1, 2)
        return digests

    def _digested(self, text: str) -> bool:
        if not 0 < len(text) <= _KEY_LIMIT:
            raise BadField(self.name, f"1 to {_KEY_LIMIT} characters long", text)
        self._digests += hashlib.blake2b(text.encode(), digest_size=16).digest()
        return True


class AttributeColumn(FileColumn):
    """The values of an attribute; an empty field is unknown."""

    def __init__(self, name: str, kind: AttributeKind) -> None:
        self._kind, self._words = kind, {"": UNKNOWN}
        match kind:
            case AttributeKind.NUMBER:
                super().__init__(name, self._number, "f")
            case AttributeKind.FLAG:
                super().__init__(name, self._flag, "b", UNKNOWN)
            case _:
                super().__init__(name, self._word, "i", UNKNOWN)

    def column(self, good: Mask) -> Column:
        """The values of the good rows. Raises DataError for a category that is none."""
        values = self.found[good]
        match self._kind:
            case AttributeKind.NUMBER:
                return Numbers(values)
            case AttributeKind.FLAG:
                return Flags(values)
        known = list(self._words)[1:]
        used = sorted(np.unique(values[values != UNKNOWN]).tolist(), key=known.__getitem__)
        if self._kind is AttributeKind.CATEGORY and len(used) > MAX_CATEGORIES:
            raise DataError(
                f"the column {self.name} has {len(used):,} different words; a category has at most "
                f"{MAX_CATEGORIES:,}"
            )
        new = np.full(len(known) + 1, UNKNOWN, np.int32)  # the last is that of UNKNOWN
        new[used] = np.arange(len(used))
        return Words(new[values], Titles.of([known[code] for code in used]))

    def _number(self, text: str) -> float:
        number = fields.number(text, self.name) if text else np.nan
        if abs(number) > _LARGEST:
            raise BadField(self.name, f"a number up to {_LARGEST:.2g}", text)
        return number

    def _flag(self, text: str) -> int:
        low = text.lower()
        if text and low not in _TRUE | _FALSE:
            raise BadField(self.name, "a flag, such as yes or no", text)
        return low in _TRUE if text else UNKNOWN

    def _word(self, text: str) -> int:
        if (code := self._words.get(text)) is None:
            longest = MAX_HOURS if self._kind is AttributeKind.HOURS else MAX_TEXT
            code = len(self._words) - 1
            self._words[_shown_text(self.name, text, longest)] = code
        return code


def guess(texts: Iterable[str]) -> AttributeKind:
    """What nine in ten of the values of a column look like; a category where nothing else."""
    known = [text for text in map(str.strip, texts) if text]

    def is_mostly(like: Callable[[str], object]) -> bool:
        return bool(known) and sum(map(bool, map(like, known))) >= _MOST * len(known)

    words = (_TRUE | _FALSE) - {"0", "1"}
    if is_mostly(lambda text: text.lower() in words):
        return AttributeKind.FLAG
    if is_mostly(_is_number):
        return AttributeKind.NUMBER
    return AttributeKind.HOURS if is_mostly(_HOURS.search) else AttributeKind.CATEGORY


def _is_number(text: str) -> bool:
    try:
        return abs(fields.number(text)) <= _LARGEST
    except BadField:
        return False


def _shown_text(name: str, text: str, longest: int = MAX_TEXT) -> str:
    """A text that a reply may carry. Raises BadField."""
    if not 0 < len(text) <= longest:
        raise BadField(name, f"1 to {longest} characters long", text)
    if not is_visible(text):
        raise BadField(name, "text that shows, without controls or turned directions", text)
    if not has_few_marks(text):
        raise BadField(name, FEW_MARKS, text)
    return text
