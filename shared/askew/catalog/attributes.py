"""Attributes as columns: no Python object an item, whatever their number.

A column is made of arrays by name, which is also how it is saved. `check` says whether arrays of
the right types make a column; nothing else here looks at every item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import AttributeKind, Value
from askew.errors import OutOfRange
from askew.limits import MAX_TEXT, check_marks, has_few_marks, is_visible

_SIX_DIGITS = 10**6


def decimals(stored: NDArray[np.float32]) -> list[float]:
    """Return stored numbers (n,) as the decimals that they were: 23.6 again, not the float32 beside
    it.

    A decimal is the number of fewest digits that is stored alike, as a Python float; NaN stays NaN.
    """
    with np.errstate(invalid="ignore"):  # a NaN of any bits
        wide = stored.astype(np.float64)
    hundredths = np.rint(wide * 100)
    rounded: NDArray[np.float64] = hundredths / 100
    # No two decimals of six digits are stored alike, so one of them has the fewest.
    few = bool((np.abs(hundredths) < _SIX_DIGITS).all())
    if few and np.array_equal(rounded.astype(np.float32), stored):
        short: list[float] = rounded.tolist()
        return short
    return [float(str(number)) for number in stored]


Rows = NDArray[np.integer[Any]]
_SLICE = 1 << 16  # texts that are decoded at once


@dataclass(frozen=True, eq=False)
class Titles:
    """Texts end to end: text i is blob[ends[i - 1]:ends[i]], in UTF-8."""

    blob: NDArray[np.uint8] = field(repr=False)
    ends: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Titles:
        """Return Titles of these texts, in their order; nothing is checked."""
        return cls._of_encoded([text.encode() for text in texts])

    @classmethod
    def _of_encoded(cls, encoded: Sequence[bytes]) -> Titles:
        blob = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(blob, np.cumsum([*map(len, encoded)], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, item: int) -> str:
        start = int(self.ends[item - 1]) if item else 0
        return bytes(self.blob[start : int(self.ends[item])]).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[item] for item in range(len(self)))

    def part(self, rows: Rows) -> Titles:
        """Return Titles of these rows alone, an array of numbers from 0, in their order, copied."""
        return Titles._of_encoded(self.encoded(rows))

    def take(self, rows: Rows) -> list[str]:
        """Return the texts of these rows, an array of numbers from 0, in their order."""
        return [str(text, "utf-8") for text in self.encoded(rows)]

    def encoded(self, rows: Rows) -> list[bytes]:
        """Return the texts of these rows in UTF-8, in their order."""
        starts = np.where(rows > 0, self.ends[rows - 1], 0).tolist()
        spans, blob = zip(starts, self.ends[rows].tolist(), strict=True), self.blob.data
        return [bytes(blob[start:end]) for start, end in spans]

    def check(self, name: str) -> None:
        """Raise OutOfRange, with this name, unless all are plain text: visible, of 1 to 500
        characters, with at most 8 combining marks in a row.
        """
        limit = OutOfRange(name, f"printable text of 1 to {MAX_TEXT} characters")
        sizes = np.diff(self.ends, prepend=0)
        whole = int(self.ends[-1]) if len(self) else 0
        # The sum of sizes that are all in range cannot overflow: the last end is the blob's.
        if (sizes < 1).any() or (sizes > 4 * MAX_TEXT).any() or whole != len(self.blob):
            raise limit
        long = np.flatnonzero(sizes > MAX_TEXT).tolist()
        try:
            plain = all(map(self._is_plain, range(0, len(self), _SLICE)))
            if not plain or any(len(self[item]) > MAX_TEXT for item in long):
                raise limit
            for first in range(0, len(self), _SLICE):
                if not has_few_marks(self._part(first).tobytes().decode()):  # in one, or across two
                    for item in range(first, min(first + _SLICE, len(self))):
                        check_marks(name, self[item])
        except UnicodeDecodeError:
            raise limit from None

    def _part(self, first: int) -> NDArray[np.uint8]:
        start = int(self.ends[first - 1]) if first else 0
        return self.blob[start : int(self.ends[first : first + _SLICE][-1])]

    def _is_plain(self, first: int) -> bool:
        ends = self.ends[first : first + _SLICE]
        start, part = int(self.ends[first - 1]) if first else 0, self._part(first)
        starts = np.concatenate([[start], ends[:-1]]) - start
        cut = (part[starts] & 0xC0) == 0x80  # within a character
        shown = np.logical_or.reduceat(part != ord(" "), starts)
        if cut.any() or not shown.all():
            return False
        if part.tobytes().decode().isprintable():
            return True
        return all(is_visible(self[item]) for item in range(first, first + len(ends)))


UNKNOWN = -1


Arrays = Mapping[str, NDArray[Any]]
Kinds = dict[str, tuple[np.dtype[Any], int]]
_BYTE = np.dtype(np.uint8)
_END = np.dtype(np.int64)


@dataclass(frozen=True, eq=False)
class _Values:
    """A column of one array."""

    values: NDArray[Any] = field(repr=False)

    @property
    def arrays(self) -> Arrays:
        """Return the arrays that it is saved as."""
        return {"values": self.values}

    def part(self, rows: Rows) -> Self:
        """Return the column of some rows."""
        return type(self)(self.values[rows])

    def changed(self, rows: Rows, values: Self) -> Self:
        """Return the column with other values in these rows."""
        return type(self)(_changed(self.values, rows, values.values))

    def __len__(self) -> int:
        return len(self.values)


class Numbers(_Values):
    """Numbers as float32; NaN is unknown."""

    kinds: ClassVar[Kinds] = {"values": (np.dtype(np.float32), 1)}
    reply_bytes = 11.0

    @classmethod
    def unknown(cls, size: int) -> Self:
        """Return a column of `size` NaNs."""
        return cls(np.full(size, np.nan, np.float32))

    def check(self, name: str) -> None:
        """Raise OutOfRange, with this name, for an infinite number; NaN passes."""
        if np.isinf(self.values).any():
            raise OutOfRange(name, "finite numbers")

    def take(self, rows: Rows) -> list[Value]:
        """Return the numbers of these rows, in their order, floats as `decimals` gives them (23.6);
        None for NaN.
        """
        return [None if isnan(value) else value for value in decimals(self.values[rows])]


class Flags(_Values):
    """1, 0, or UNKNOWN, as int8."""

    kinds: ClassVar[Kinds] = {"values": (np.dtype(np.int8), 1)}
    reply_bytes = 4.0

    @classmethod
    def unknown(cls, size: int) -> Self:
        """Return a column of `size` flags, all UNKNOWN (-1)."""
        return cls(np.full(size, UNKNOWN, np.int8))

    def check(self, name: str) -> None:
        """Raise OutOfRange, with this name, for anything but 1, 0 and -1 (unknown)."""
        if ((self.values < UNKNOWN) | (self.values > 1)).any():
            raise OutOfRange(name, "flags")

    def take(self, rows: Rows) -> list[Value]:
        """Return True, False or None (unknown) for each of these rows, in their order."""
        values = self.values[rows].tolist()
        return [None if value == UNKNOWN else bool(value) for value in values]


@dataclass(frozen=True, eq=False)
class Words:
    """Codes into a vocabulary, for categories and opening hours; UNKNOWN is unknown."""

    codes: NDArray[np.int32] = field(repr=False)
    vocabulary: Titles | Sequence[str] = field(repr=False)
    kinds: ClassVar[Kinds] = {
        "codes": (np.dtype(np.int32), 1),
        "words": (_BYTE, 1),
        "word_ends": (_END, 1),
    }

    @classmethod
    def unknown(cls, size: int) -> Self:
        """Return a column of `size` codes, all UNKNOWN (-1), with the vocabulary ()."""
        return cls(np.full(size, UNKNOWN, np.int32), ())

    @property
    def arrays(self) -> Arrays:
        """Return {"codes": int32, "words": uint8, all in UTF-8, "word_ends": int64}: the arrays
        that it is saved as.
        """
        words = self._texts
        return {"codes": self.codes, "words": words.blob, "word_ends": words.ends}

    @property
    def reply_bytes(self) -> float:
        """Return 4.0 plus the mean length of the rows' words in bytes of UTF-8, an unknown one
        counted as 0: 4.5 for "a" and unknown.
        """
        lengths = np.append(np.diff(self._texts.ends, prepend=0), 0)  # the last is of UNKNOWN
        return 4.0 + float(lengths[self.codes].mean())

    @property
    def _texts(self) -> Titles:
        words = self.vocabulary
        return words if isinstance(words, Titles) else Titles.of(words)

    def part(self, rows: Rows) -> Words:
        """Return the column of some rows, in the order of these, with the same vocabulary."""
        return Words(self.codes[rows], self.vocabulary)

    def changed(self, rows: Rows, values: Words) -> Words:
        """Return a copy with other values, one a row, in these rows; its vocabulary is a sorted
        tuple of the words that are still in use.
        """
        both = list(self.vocabulary) + list(values.vocabulary)
        moved = np.where(values.codes == UNKNOWN, UNKNOWN, values.codes + len(self.vocabulary))
        codes = _changed(self.codes, rows, moved)
        used = np.unique(codes[codes != UNKNOWN]).tolist()
        words = sorted({both[code] for code in used})
        place = {word: at for at, word in enumerate(words)}
        new = np.full(len(both) + 1, UNKNOWN, np.int32)  # the last is that of UNKNOWN
        new[used] = [place[both[code]] for code in used]
        return Words(new[codes], tuple(words))

    def check(self, name: str) -> None:
        """Raise OutOfRange, with this name, for a code that is neither -1 nor that of a word, and
        for a word that is no plain text, as `Titles.check` has it.
        """
        if ((self.codes < UNKNOWN) | (self.codes >= len(self.vocabulary))).any():
            raise OutOfRange(name, "codes of its vocabulary")
        self._texts.check(name)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Rows) -> list[Value]:
        """Return the word of each of these rows, in their order; None where it is unknown."""
        codes = self.codes[rows].tolist()
        words: dict[int, Value] = {UNKNOWN: None}
        words.update((code, self.vocabulary[code]) for code in {*codes} - {UNKNOWN})
        return [words[code] for code in codes]


Column = Numbers | Flags | Words

COLUMN_OF: dict[AttributeKind, type[Numbers] | type[Flags] | type[Words]] = {
    AttributeKind.NUMBER: Numbers,
    AttributeKind.FLAG: Flags,
    AttributeKind.CATEGORY: Words,
    AttributeKind.HOURS: Words,
}
"""The type of column that holds the values of a kind."""


def _changed(old: NDArray[Any], rows: Rows, values: NDArray[Any]) -> NDArray[Any]:
    new = old.copy()
    new[rows] = values
    return new


def named(prefix: str, arrays: Arrays) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield ("prefix.name", array) for each array of a column, so that one file has several."""
    return ((f"{prefix}.{name}", array) for name, array in arrays.items())


def column_of(kind: AttributeKind, prefix: str, arrays: Arrays) -> Column:
    """Return the column of a kind whose arrays are arrays["prefix.name"], as `named` has them."""
    column = COLUMN_OF[kind]
    own = [arrays[f"{prefix}.{name}"] for name in column.kinds]
    if issubclass(column, _Values):
        return column(own[0])
    return Words(own[0], Titles(*own[1:]))


def kinds_of(kind: AttributeKind, prefix: str) -> Kinds:
    """Return {"prefix.name": (dtype, number of dimensions)} of a column's arrays: "price.values" of
    numbers (float32, 1) or flags (int8, 1); of categories and hours "price.codes" (int32, 1),
    "price.words" (uint8, 1) and "price.word_ends" (int64, 1).
    """
    return {f"{prefix}.{name}": array for name, array in COLUMN_OF[kind].kinds.items()}
