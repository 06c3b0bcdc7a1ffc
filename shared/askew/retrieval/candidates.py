"""Who may be the best at each of some points, and who is, each item once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

Exact = Callable[[int, NDArray[np.integer[Any]]], int]
"""For a turn and some rows, the one of the best exact score."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """rows: of items, ascending at each point, of one point after the other. found: what each is
    worth there, nearly. sizes: how many rows each point has, at least 1, (n,).
    """

    rows: NDArray[np.integer[Any]] = field(repr=False)
    found: NDArray[Any] = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)

    @classmethod
    def all_of(cls, found: NDArray[Any]) -> Candidates:
        """Every row at each point, (n, m)."""
        n, m = found.shape
        rows = np.broadcast_to(np.arange(m), (n, m)).ravel()
        return cls(rows, found.ravel(), np.full(n, m))

    def taken(self, k: int, slack: float, exact: Exact) -> NDArray[np.int64]:
        """The best row of each point in turn that no point before has taken, and again from the
        first until there are k, (k,). exact: decides where others are within the slack of the best.
        Each point has as many as are taken.
        """
        ends = self.sizes.cumsum()
        starts = ends - self.sizes
        least = np.maximum.reduceat(self.found, starts) - slack
        near = (self.found >= least.repeat(self.sizes)).nonzero()[0]
        tied: set[int] = set()
        if len(near) > len(starts):
            first = near.searchsorted(starts)
            tied.update(np.flatnonzero(near.searchsorted(ends) - first > 1).tolist())
            near = near[first]
        best, gone = self.rows[near].tolist(), np.zeros(1 + int(self.rows.max()), np.bool_)
        chosen = []
        for turn in islice(cycle(range(len(best))), k):
            row = best[turn]
            if gone[row] or turn in tied:
                rows = self._near_the_best(slice(starts[turn], ends[turn]), gone, slack)
                row = int(rows[0]) if len(rows) == 1 else exact(turn, rows)
            gone[row] = True
            chosen.append(row)
        return np.array(chosen)

    def _near_the_best(
        self, part: slice, gone: NDArray[np.bool_], slack: float
    ) -> NDArray[np.integer[Any]]:
        """Of the rows of a point, those within the slack of the best one that is left."""
        rows = self.rows[part]
        left = np.where(gone[rows], -np.inf, self.found[part])
        near: NDArray[np.integer[Any]] = rows[left >= left[left.argmax()] - slack]
        return near
