"""The best items at points, exactly, without looking at most of them.

The exact score of an item is the float64 product of its vector with the taste that a point is
decoded to, and of equal scores the lower id is better: what a plain loop over all items finds is
what is found here. Of items that can be among the best k anywhere there are lists, by where in the
box that is (`envelope`, up to 4 dimensions and 64 items); linear scores with a proved margin leave
those that may be the best at a probe (`linear_scores`); exact scores decide between these alone.
All is made beforehand and nothing is kept of a question, so no answer is sooner because somebody
asked the same; answers of more items need `prepare`, or make all numbers anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.encoder import Encoder
from askew.retrieval.candidates import Candidates
from askew.retrieval.doubles import doubles_before
from askew.retrieval.envelope import CELLS, MOST_DIMENSIONS, UpperLayers, upper_layers
from askew.retrieval.linear_scores import (
    LinearScores,
    is_measurable,
    largest_score,
    margin_of,
    numbers_of,
)

SIZES = (16, 64)  # of answers, for which items are left out beforehand
_FEW = 1024  # items, of which none is left out
_PIECE = 1 << 16  # items
_EXACT = 1024  # items whose vectors are widened at once

Scores = NDArray[np.float64]


class ItemSearch:
    """Of scoring vectors (n_items, D). Complexity: O(n_items D d) beforehand; for an answer of k
    items O(k (d m + D)) with m the items of a list, a few hundred, else O(k d n_items).

    cells: for how many parts of the box there are lists. Fewer are made sooner, and are longer.
    """

    def __init__(self, encoder: Encoder, scoring: NDArray[np.float32], cells: int = CELLS) -> None:
        self._encoder, self._scoring = encoder, scoring
        self._largest = largest_score(encoder, scoring) if len(scoring) else 0.0
        pays = len(scoring) > _FEW and encoder.dimension <= MOST_DIMENSIONS
        before = doubles_before(scoring, SIZES[0]) if pays else None
        every = self._every_item(before)
        self._layers = upper_layers(every, encoder, SIZES, cells) if pays else None
        self._all = None if pays else every  # no memory for what is asked for rarely, if ever

    def prepare(self, most: int) -> None:
        """Makes what answers of up to `most` items need beyond the lists, if they do."""
        if most > SIZES[-1] and self._all is None:
            self._all = self._every_item()

    def looked_at(self, k: int) -> int:
        """How many items an answer of k looks at for each of its probes: usually, and never more
        than eight times as many.
        """
        layers = self._layers_for(k)
        return len(self._scoring) if layers is None else layers.usual[_size_of(k)]

    def best(self, points: Scores, k: int) -> NDArray[np.int64]:
        """The best item at each point (n, d) that no point before it has taken, and again from the
        first point until there are k, (k,). 1 <= k <= n_items.
        """
        shifts = self._encoder.shifts(points)
        layers = self._layers_for(k)
        if layers is None:
            few = (self._all or self._every_item()).leading(shifts, k)
        else:
            few = layers.scores

        def exact(turn: int, rows: NDArray[np.integer[Any]]) -> int:
            return self._first_best(few.items, rows, self._encoder.tastes(shifts)[turn])

        if layers is None:
            found = Candidates.all_of(few.at(shifts, slice(None)))
        else:
            found = layers.near(shifts, _size_of(k))
        return few.items[found.taken(k, 2 * few.margin, exact)]

    def _layers_for(self, k: int) -> UpperLayers | None:
        return self._layers if k <= SIZES[-1] else None

    def _first_best(
        self, items: NDArray[np.int64], rows: NDArray[np.integer[Any]], taste: Scores
    ) -> int:
        """Which of these rows of items has the best exact score, the first of equals."""
        best, score = 0, -np.inf
        for start in range(0, len(rows), _EXACT):
            some = rows[start : start + _EXACT]
            vectors = self._scoring[items[some]].astype(np.float64)
            scores = np.vecdot(vectors, taste)  # each summed in the same order
            if scores.max() > score:
                best, score = int(some[scores.argmax()]), float(scores.max())
        return best

    def _every_item(self, before: NDArray[np.int32] | None = None) -> LinearScores:
        """Read some at a time: all vectors at once in float64 are twice as large as they are."""
        told, n = is_measurable(self._largest), len(self._scoring)
        numbers = np.zeros((1 + self._encoder.dimension, n), np.float32)
        for start in range(0, n, _PIECE) if told else ():
            some = slice(start, start + _PIECE)
            numbers[:, some] = numbers_of(self._encoder, self._scoring[some])
        margin = margin_of(self._encoder, self._largest)
        before = np.zeros(n, np.int32) if before is None else before
        return LinearScores(numbers, np.arange(n), margin, before)


def _size_of(k: int) -> int:
    """The smallest of SIZES that is enough for an answer of k."""
    return next(size for size in SIZES if k <= size)
