"""The best items at points, exactly, without looking at most of them.

The exact score of an item is the float64 product of its vector with the taste that a point is
decoded to, and of equal scores the lower id is better: what a plain loop over all items finds is
what is found here. Items that cannot be
among the best k at any point are left out from the beginning (`envelope`, up to 4 dimensions and
64 items); of the others, linear scores with a proved margin leave those that may be the best at a
probe (`linear_scores`); exact scores decide between these alone. All is made beforehand and nothing
is kept of a question, so no answer is sooner because somebody asked the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.encoder import Encoder
from askew.retrieval.envelope import MOST_DIMENSIONS, upper_layers
from askew.retrieval.linear_scores import (
    LinearScores,
    is_measurable,
    largest_score,
    margin_of,
    numbers_of,
)

SIZES = (8, 64)  # of answers, for which items are left out beforehand
_FEW = 4096  # items, of which none is left out
_PIECE = 1 << 16  # items
_EXACT = 1024  # items whose vectors are widened at once

Scores = NDArray[np.float64]


class ItemSearch:
    """Of scoring vectors (n_items, D). Complexity: O(n_items D d) beforehand; for an answer of k
    items O(k (d m + D)) with m the items left, few hundreds in few dimensions, else O(k d n_items).
    """

    def __init__(self, encoder: Encoder, scoring: NDArray[np.float32]) -> None:
        self._encoder, self._scoring = encoder, scoring
        self._largest = largest_score(encoder, scoring) if len(scoring) else 0.0
        self._left = dict(self._upper_layers())  # by the size of an answer
        self._all = None if self._left else self._every_item()

    def looked_at(self, k: int) -> int:
        """How many items an answer of k looks at."""
        left = self._left_for(k)
        return len(self._scoring) if left is None else len(left)

    def best(self, points: Scores, k: int) -> NDArray[np.int64]:
        """The best item at each point (n, d) that no point before it has taken, and again from the
        first point until there are k, (k,). 1 <= k <= n_items.
        """
        shifts = self._encoder.shifts(points)
        tastes = self._encoder.tastes(shifts)
        few = (self._left_for(k) or self._every_item()).leading(shifts, k)

        def exact(turn: int, rows: NDArray[np.int64]) -> int:
            return self._first_best(few.items, rows, tastes[turn])

        found = few.at(shifts, slice(None))
        return few.items[_taken(found, k, 2 * few.margin, exact)]

    def _left_for(self, k: int) -> LinearScores | None:
        return next((few for size, few in self._left.items() if k <= size), self._all)

    def _first_best(self, items: NDArray[np.int64], rows: NDArray[np.int64], taste: Scores) -> int:
        """Which of these rows of items has the best exact score, the first of equals."""
        best, score = 0, -np.inf
        for start in range(0, len(rows), _EXACT):
            some = rows[start : start + _EXACT]
            vectors = self._scoring[items[some]].astype(np.float64)
            scores = np.vecdot(vectors, taste)  # each summed in the same order
            if scores.max() > score:
                best, score = int(some[scores.argmax()]), float(scores.max())
        return best

    def _upper_layers(self) -> Iterator[tuple[int, LinearScores]]:
        """What is left of the items for answers of up to so many, the fewest first."""
        if len(self._scoring) <= _FEW or self._encoder.dimension > MOST_DIMENSIONS:
            return
        box = self._encoder.shift_limits
        most = upper_layers(self._pieces(np.float64), box, SIZES[-1])
        if most is None:
            return
        for size in SIZES[:-1]:
            fewer = upper_layers([most], box, size)
            if fewer is not None:
                yield size, fewer
        yield SIZES[-1], most

    def _every_item(self) -> LinearScores:
        parts = list(self._pieces(np.float32))
        numbers = np.concatenate([each.numbers for each in parts], axis=1)
        return LinearScores(numbers, np.arange(len(self._scoring)), parts[0].margin)

    def _pieces(self, kind: type[np.floating[Any]]) -> Iterator[LinearScores]:
        """All items, some at a time: all at once in float64 are twice as large as their vectors."""
        margin, told = margin_of(self._encoder, self._largest, kind), is_measurable(self._largest)
        for start in range(0, len(self._scoring), _PIECE):
            vectors = self._scoring[start : start + _PIECE]
            numbers = numbers_of(self._encoder, vectors)
            items = np.arange(start, start + len(vectors))
            yield LinearScores((numbers if told else 0 * numbers).astype(kind), items, margin)


def _taken(
    found: NDArray[Any], k: int, margin: float, exact: Callable[[int, NDArray[np.int64]], int]
) -> NDArray[np.int64]:
    """The best of the rows that are left for each of found (n, m), in turn, (k,). exact: the best
    of some rows for a turn; it decides where others are within the margin of the best.
    """
    best = found.argmax(axis=1).tolist()
    tied = np.count_nonzero(found >= found.max(axis=1, keepdims=True) - margin, axis=1) > 1
    chosen: dict[int, None] = {}
    for number in range(k):
        turn = number % len(found)
        row = best[turn]
        if tied[turn] or row in chosen:
            near = _near_the_best(found[turn], list(chosen), margin)
            row = int(near[0]) if len(near) == 1 else exact(turn, near)
        chosen[row] = None
    return np.array(list(chosen))


def _near_the_best(found: NDArray[Any], chosen: list[int], margin: float) -> NDArray[np.int64]:
    """The rows within a margin of the best one that is not chosen."""
    left = found.copy()
    left[chosen] = -np.inf
    return np.flatnonzero(left >= left.max() - margin)
