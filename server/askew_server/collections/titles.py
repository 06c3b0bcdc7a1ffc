"""Titles as one column: their texts end to end, without a Python object an item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange
from askew.plain_text import MAX_TEXT, check_marks, has_few_marks

Rows = NDArray[np.integer[Any]]
_SLICE = 1 << 16  # texts that are decoded at once


@dataclass(frozen=True, eq=False)
class Titles:
    """Texts end to end: text i is blob[ends[i - 1]:ends[i]], in UTF-8."""

    blob: NDArray[np.uint8] = field(repr=False)
    ends: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, texts: Sequence[str]) -> Titles:
        """The texts of a list, in its order."""
        encoded = [text.encode() for text in texts]
        blob = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(blob, np.cumsum([len(each) for each in encoded], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, item: int) -> str:
        start = int(self.ends[item - 1]) if item else 0
        return bytes(self.blob[start : int(self.ends[item])]).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[item] for item in range(len(self)))

    def take(self, rows: Rows) -> list[str]:
        """The texts of some rows, in their order."""
        return [str(each, "utf-8") for each in self.encoded(rows)]

    def encoded(self, rows: Rows) -> list[bytes]:
        """The same in UTF-8."""
        starts = np.where(rows > 0, self.ends[rows - 1], 0).tolist()
        spans, blob = zip(starts, self.ends[rows].tolist(), strict=True), self.blob.data
        return [bytes(blob[start:end]) for start, end in spans]

    def check(self, name: str) -> None:
        """Raises OutOfRange unless each is plain text, as `askew.listing.check_plain` has it."""
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
                self._check_marks(name, first)
        except UnicodeDecodeError:
            raise limit from None

    def _check_marks(self, name: str, first: int) -> None:
        """Raises OutOfRange for a text of a slice with many marks in a row."""
        texts = range(first, min(first + _SLICE, len(self)))
        if not has_few_marks(self._part(first).tobytes().decode()):  # in one, or across two
            for item in texts:
                check_marks(name, self[item])

    def _part(self, first: int) -> NDArray[np.uint8]:
        """The bytes of a slice of texts."""
        start = int(self.ends[first - 1]) if first else 0
        return self.blob[start : int(self.ends[first : first + _SLICE][-1])]

    def _is_plain(self, first: int) -> bool:
        """Whether each of a slice of texts is printable, and more than spaces."""
        ends = self.ends[first : first + _SLICE]
        start, part = int(self.ends[first - 1]) if first else 0, self._part(first)
        starts = np.concatenate([[start], ends[:-1]]) - start
        cut = (part[starts] & 0xC0) == 0x80  # within a character
        shown = np.logical_or.reduceat(part != ord(" "), starts)
        return bool(shown.all()) and not cut.any() and part.tobytes().decode().isprintable()
