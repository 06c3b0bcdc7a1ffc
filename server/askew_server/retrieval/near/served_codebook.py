"""What is served as `codebook`: that rule's set, or `nearest`'s if it costs people less.

    objective of a set S    mean over m people of  min_{i in S} h(distance(i, p))

The people are those of the noise alone, m positions around the signal s. Most questions need no
item beside each person: with a the probe nearest to a person p, delta_a the distance from it to
its item, which is in the set, and R a distance within which s has k items,

    least distance to codebook's set  <=  |p a| + delta_a
    least distance to nearest's set   >=  |p s| - R

by the triangle inequality and because h increases. Where the first sum is below the second by more
than costs are rounded, `codebook` costs less, and nothing else is looked at. R is found quickly
first, and the least there is where that does not tell. Guarantee: the set is that of least
objective for this very signal, ties to `codebook`, whichever way it was found; a function of the
signal alone, so post-processing. Costs of the objective are whole numbers from 0 to
65535, the largest of both sets', so sums are exact.

Complexity: O(k log n + m) where the bounds tell, O(k m) more where not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.placement.problem import Disutility, Identity
from askew.signal import Signal
from askew_server.retrieval.near import choice
from askew_server.retrieval.near.frame import Points
from askew_server.retrieval.near.index import MetricIndex, Rows
from askew_server.retrieval.near.laws import Laws
from askew_server.retrieval.near.people import ByNoise
from askew_server.retrieval.near.rules import Codebook, checked, places_of

FEW = 128  # people tell two sets apart; more are needed only to make one


class Around(NamedTuple):
    """What belongs to a law and k, made once: moves from a signal to itself, to the k' probes, and
    to the people, (1 + k' + m, d) noise offsets; and beside each person two of these moves,
    (2, m): the nearest probe's, and the signal's.
    """

    moves: Points
    beside: NDArray[np.int64]


class ServedCodebook:
    """The rule `codebook` as a server answers by it."""

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index, self._disutility = index, disutility or Identity()
        self._codebook = Codebook(index, disutility)
        self._people = ByNoise(index.frame, FEW)
        self._around = Laws(self._made)

    def choose(self, signal: Signal, k: int) -> Rows:
        """The set of least objective."""
        index, frame = self._index, self._index.frame
        around = self._around.of(signal, checked(k, index))
        center = frame.inside(frame.aim(signal))
        points = frame.tree(frame.inside(center + frame.spread(signal, around.moves)))
        probes, people = points[1:-FEW], points[-FEW:]
        away, found, radius = index.nearest_and_radius(points[:-FEW], k)
        placed = self._codebook.distinct(probes, found[1:], k)
        placed.sort()
        by_probe, from_signal = index.apart(people, points[around.beside])
        by_probe += away[around.beside[0], 0]
        if self._is_better(by_probe, from_signal, radius):
            return placed
        reached, near = index.reach(points[:1], k)
        if self._is_better(by_probe, from_signal, reached[0, -1]):
            return placed
        return self._cheaper(placed, np.sort(near[0]), people)

    def cost(self, signal: Signal, k: int) -> int:
        """Next to nothing, unless its offsets must be placed first."""
        return places_of(self._index.frame, k, known=self._around.knows(signal, k))

    def _is_better(self, by_probe: Points, from_signal: Points, radius: float) -> bool:
        """Whether the bounds tell that `codebook` costs less, whatever rounding does."""
        most = self._disutility(by_probe)
        least = self._disutility(np.maximum(from_signal - radius, 0.0))
        top = self._disutility(np.maximum(by_probe.max(), from_signal.max() + radius))
        # Half a level for each cost of both sets, and as much again for what float32 rounds.
        return bool(most.sum() + 2 * FEW * top / choice.LEVELS < least.sum())

    def _cheaper(self, placed: Rows, near: Rows, people: Points) -> Rows:
        """The set of least objective, by each person's own item."""
        index = self._index
        every = index.compared(np.concatenate((placed, near)), people)
        least = index.measured(every.reshape(2, len(placed), FEW).min(axis=1))
        costs = choice.whole(self._disutility(least.astype(np.float64)).astype(np.float32))
        by_codebook, by_nearest = costs.sum(axis=1).tolist()
        return placed if by_codebook <= by_nearest else near

    def _made(self, law: Signal, k: int) -> Around:
        offsets, people = self._codebook.offsets(law, k), self._people.moves(law)
        away = np.abs(people[:, None] - offsets).sum(axis=2)
        moves = np.concatenate((np.zeros((1, people.shape[1])), offsets, people))
        probe = away.argmin(axis=1)
        return Around(moves, np.stack((1 + probe, np.zeros_like(probe))))
