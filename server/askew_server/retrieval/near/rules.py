"""The rules that look at the signal alone: the items nearest to it, or to probes around it.

Signals are clamped into the space after the noise. Guarantee: post-processing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from askew.errors import ParameterError
from askew.placement.disutility import Disutility, Identity
from askew.signal import Signal
from askew_server.retrieval.near.frame import Points
from askew_server.retrieval.near.index import MetricIndex, Rows
from askew_server.retrieval.near.people import CACHED_LAWS, law_of


class NearRule(Protocol):
    """A way to choose items for a signal that fits the space."""

    def choose(self, signal: Signal, k: int) -> Rows:
        """Exactly k distinct item ids, ascending; `one`, `area` and `cell` a number of their own.

        Raises ParameterError unless 1 <= k <= the number of items.
        """


class Nearest:
    """The k items nearest to the signal."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, k: int) -> Rows:
        """O(k log n)."""
        frame = self._index.frame
        found = self._index.nearest(frame.inside(frame.aim(signal))[None], checked(k, self._index))
        return np.sort(found[0])


class Codebook:
    """The item nearest to each probe, the nearest probe first, that no probe before it has taken.

    Fewer probes than k, where no placement of k is at hand, take turns.
    """

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index, self._disutility = index, disutility or Identity()
        self._placed = lru_cache(maxsize=CACHED_LAWS)(self._offsets)

    def choose(self, signal: Signal, k: int) -> Rows:
        """O(k log n) where items are dense, O(k**2) where probes compete for them."""
        return np.sort(self._distinct(self.probes(signal, checked(k, self._index)), k))

    def probes(self, signal: Signal, k: int) -> Points:
        """Where it looks: grid coordinates (k', d) inside the space, k' <= k."""
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        return frame.inside(center + self._placed(law_of(signal), k))

    def _offsets(self, law: Signal, k: int) -> Points:
        frame = self._index.frame
        return frame.spread(law, frame.offsets(law, self._disutility, k))

    def _distinct(self, probes: Points, k: int) -> Rows:
        count = 1
        while True:
            found = self._index.nearest(probes, count)
            taken = _dealt(found.tolist(), k)
            if len(taken) == k:
                return np.array(taken, np.int64)
            count = min(4 * count, k)


def checked(k: int, index: MetricIndex) -> int:
    """k itself. Raises ParameterError unless the index has as many items."""
    if not 1 <= k <= len(index):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(index)}")
    return k


def _dealt(found: list[list[int]], k: int) -> list[int]:
    """The first of each probe's items that is free, probes taking turns until there are k; fewer
    than k where a probe has none left.
    """
    taken: dict[int, None] = {}
    for turn in range(k):
        free = next((item for item in found[turn % len(found)] if item not in taken), None)
        if free is None:
            break
        taken[free] = None
    return list(taken)
