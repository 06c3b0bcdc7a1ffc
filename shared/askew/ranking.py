"""Slates, and the choice within one. One tie rule everywhere: the lower item id wins."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange
from askew.vectors import Profile


@dataclass(frozen=True, eq=False)
class Slate:
    """The k results: item ids in ascending order, so that their order says nothing.

    positions: float32, (k, d), row i belongs to item_ids[i]. Raises OutOfRange unless the ids
    are distinct and ascending and the positions finite.
    """

    catalog_version: str
    item_ids: tuple[int, ...]
    positions: NDArray[np.float32] = field(repr=False)

    def __post_init__(self) -> None:
        if any(a >= b for a, b in zip(self.item_ids, self.item_ids[1:], strict=False)):
            raise OutOfRange("the item ids of a slate", "distinct and ascending")
        if not np.isfinite(self.positions).all() or len(self.positions) != len(self.item_ids):
            raise OutOfRange("the positions of a slate", "finite, one for each item")


def distances(point: NDArray[np.float64], positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """The l1 distance from a point (d,) to each position (n, d), shape (n,)."""
    far: NDArray[np.float64] = np.abs(positions - point).sum(axis=1, dtype=np.float64)
    return far


def nearest(far: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The indices of the `count` smallest distances, nearest first, ties to the lower index."""
    return np.argsort(far, kind="stable")[:count]


def ranked(slate: Slate, profile: Profile) -> tuple[int, ...]:
    """The slate's item ids from best to worst for this person; stays on the device."""
    far = distances(profile.vector, slate.positions)
    return tuple(slate.item_ids[i] for i in nearest(far, len(far)))


def pick(slate: Slate, profile: Profile, *, seen: Set[int] = frozenset()) -> int:
    """The person's best result that they have not rated, or simply the best if they rated all."""
    order = ranked(slate, profile)
    return next((item for item in order if item not in seen), order[0])
