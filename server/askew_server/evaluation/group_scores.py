"""What items are worth to people, made when it is looked at, some people at a time.

Scores of n people are (n, n_items): at least 0, and -1 for what a person has seen. All of them at
once would be people times items, so only a small group's are kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askew_server.training.pool import favorites
from askew_server.training.quality import best_slates

AT_ONCE = 1 << 24  # scores in memory: 64 MiB
Scores = NDArray[np.float32]
Items = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupScores:
    """made: the scores of some people for some items (p,)."""

    n_people: int
    n_items: int
    made: Callable[[slice, Items], Scores] = field(repr=False)

    @classmethod
    def of(cls, scores: Scores) -> GroupScores:
        """Those that are there already."""
        people, items = scores.shape
        return cls(people, items, lambda rows, some: scores[rows][:, some])

    def __len__(self) -> int:
        """The number n of people."""
        return self.n_people

    def first(self, count: int) -> GroupScores:
        """Of the first so many people."""
        return replace(self, n_people=min(count, self.n_people))

    def among(self, items: Items) -> GroupScores:
        """As if these were all items."""
        return GroupScores(
            self.n_people, len(items), lambda rows, some: self.made(rows, items[some])
        )

    def parts(self, items: Items | None = None) -> Iterator[tuple[slice, Scores]]:
        """All people, so many at a time as may be, and their scores for all items, or for these."""
        wanted = np.arange(self.n_items) if items is None else items
        size = max(AT_ONCE // max(len(wanted), 1), 1)
        for start in range(0, self.n_people, size):
            rows = slice(start, min(start + size, self.n_people))
            if self._whole is None:
                yield rows, self.made(rows, wanted)
            else:
                yield rows, self._whole[rows] if items is None else self._whole[rows][:, wanted]

    def of_items(self, items: Items) -> Scores:
        """Scores for a few items of any shape, (n, *shape)."""
        found = np.concatenate([part for _, part in self.parts(items.ravel())])
        return found.reshape(len(found), *items.shape)

    def at(self, slates: Items) -> Scores:
        """Scores for a slate of each person's own, (n, k) -> (n, k)."""
        found = np.empty(slates.shape, dtype=np.float32)
        size = max(AT_ONCE // self.n_items, 1)
        for start in range(0, self.n_people, size):
            rows = slice(start, min(start + size, self.n_people))
            items, places = np.unique(slates[rows], return_inverse=True)
            part = self.made(rows, items) if self._whole is None else self._whole[rows][:, items]
            found[rows] = np.take_along_axis(part, places.reshape(-1, slates.shape[1]), axis=1)
        return found

    def best(self, items: Items | None = None) -> NDArray[np.float64]:
        """The best score of each person, at least 0, (n,)."""
        found = np.concatenate([part.max(axis=1) for _, part in self.parts(items)])
        best: NDArray[np.float64] = np.maximum(found, 0).astype(np.float64)
        return best

    def best_slates(self, k: int) -> Items:
        """Each person's own best k items, (n, k)."""
        return np.concatenate([best_slates(part, k) for _, part in self.parts()])

    def favorites(self) -> Items:
        """How many of them have each item among their best few, (n_items,)."""
        counts = np.zeros(self.n_items, dtype=np.int64)
        for _, part in self.parts():
            counts += favorites(part)
        return counts

    @cached_property
    def _whole(self) -> Scores | None:
        """All of a small group."""
        if self.n_people * self.n_items > AT_ONCE:
            return None
        return self.made(slice(0, self.n_people), np.arange(self.n_items))
