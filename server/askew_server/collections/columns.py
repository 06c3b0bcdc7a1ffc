"""Attributes and titles as columns: no Python object an item, whatever their number."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan

import numpy as np
from numpy.typing import NDArray

from askew.listing import Value

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Titles:
    """Texts end to end: text i is blob[ends[i - 1]:ends[i]], in UTF-8."""

    blob: NDArray[np.uint8] = field(repr=False)
    ends: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, texts: list[str]) -> Titles:
        """The texts of a list, in its order."""
        encoded = [text.encode() for text in texts]
        blob = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(blob, np.cumsum([len(each) for each in encoded], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, item: int) -> str:
        start = int(self.ends[item - 1]) if item else 0
        return bytes(self.blob[start : int(self.ends[item])]).decode()


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers as float32; NaN is unknown."""

    values: NDArray[np.float32] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, item: int) -> Value:
        value = float(self.values[item])
        return None if isnan(value) else value


@dataclass(frozen=True, eq=False)
class Flags:
    """1, 0, or UNKNOWN, as int8."""

    values: NDArray[np.int8] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, item: int) -> Value:
        value = int(self.values[item])
        return None if value == UNKNOWN else bool(value)


@dataclass(frozen=True, eq=False)
class Words:
    """Codes into a vocabulary, for categories and opening hours; UNKNOWN is unknown."""

    codes: NDArray[np.int32] = field(repr=False)
    vocabulary: tuple[str, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, item: int) -> Value:
        code = int(self.codes[item])
        return None if code == UNKNOWN else self.vocabulary[code]


Column = Numbers | Flags | Words
