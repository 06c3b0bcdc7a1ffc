"""Everything public about a model: its card, and the catalog of what it can recommend."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange
from askew.vectors import VERSION_BYTES, FeatureSpace

MAX_TEXT = 500
MAX_YEAR = 9999
MAX_GENRES = 20


@dataclass(frozen=True)
class ModelCard:
    """What a device must know before it asks.

    source says in words where the ratings came from; simulated is set when no person gave them.
    max_slate_size is the largest k that the server answers.
    """

    space: FeatureSpace
    catalog_version: str
    n_items: int
    max_slate_size: int
    source: str
    simulated: bool

    def __post_init__(self) -> None:
        if not 1 <= self.max_slate_size <= self.n_items:
            raise OutOfRange("max_slate_size", "from 1 to the number of items")
        check_text("the source of a model", self.source)


@dataclass(frozen=True)
class Item:
    """One thing that can be recommended. Titles are text from outside: never markup.

    Raises OutOfRange for text that is empty, long or not printable, or a year beyond 1..9999.
    """

    title: str
    year: int | None = None
    genres: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.genres) > MAX_GENRES:
            raise OutOfRange("the number of genres", f"at most {MAX_GENRES}")
        for text in (self.title, *self.genres):
            check_text("a title or genre", text)
        if self.year is not None and not 1 <= self.year <= MAX_YEAR:
            raise OutOfRange("a year", f"from 1 to {MAX_YEAR}")

    @property
    def label(self) -> str:
        """The title as people write it: "Alien (1979)"."""
        return f"{self.title} ({self.year})" if self.year else self.title


@dataclass(frozen=True, eq=False)
class Catalog:
    """All items and where they lie in the feature space.

    An item's id is its place in `items`. positions: float32, (n_items, d), finite.
    shared_slate: item ids in the order in which somebody who knows nothing of the person would
    show them; its first k are the zero-information slate, next to which every figure belongs.
    Raises OutOfRange or DimensionMismatch for a catalog that does not fit together.
    """

    items: tuple[Item, ...] = field(repr=False)
    positions: NDArray[np.float32] = field(repr=False)
    shared_slate: tuple[int, ...] = field(repr=False)

    def __post_init__(self) -> None:
        n = len(self.items)
        if n == 0 or self.positions.ndim != 2 or len(self.positions) != n:
            raise DimensionMismatch(len(self.positions), n)
        if self.positions.dtype != np.float32 or not np.isfinite(self.positions).all():
            raise OutOfRange("an item position", "a finite float32")
        if len(set(self.shared_slate)) != len(self.shared_slate) or any(
            not 0 <= item < n for item in self.shared_slate
        ):
            raise OutOfRange("the shared slate", "distinct items of the catalog")

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def version(self) -> str:
        """32 hexadecimal digits: a digest of every item and position."""
        digest = hashlib.sha256()
        digest.update(repr(self.positions.shape).encode())  # so that no part can pass for another
        digest.update(_lines(self.items))
        digest.update(np.ascontiguousarray(self.positions, dtype="<f4").tobytes())
        digest.update(repr(self.shared_slate).encode())
        return digest.hexdigest()[: 2 * VERSION_BYTES]


def check_text(name: str, text: str) -> None:
    """Raises OutOfRange unless the text is short and plain: control characters steer terminals."""
    if not (0 < len(text) <= MAX_TEXT and text.isprintable()):
        raise OutOfRange(name, f"printable text of 1 to {MAX_TEXT} characters")


def _lines(items: Sequence[Item]) -> bytes:
    return "\n".join(repr((i.title, i.year, i.genres)) for i in items).encode()
