"""Rules that look at the signal alone. Signals are clamped into the space after the noise.
Guarantee: post-processing.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from askew.errors import ParameterError
from askew.placement.problem import Disutility, Identity
from askew.protocol.signal import Signal
from askew_server.retrieval.near.density import Laws
from askew_server.retrieval.near.index import MetricIndex, Points, Rows

RESULTS_PER_SLOT = 32
"""k below it is answered on the event loop, without a thread; each 32 more take one slot of a
queue, 2 to 3 ms.
"""


class NearRule(Protocol):
    """A way to choose items for a signal that fits the space."""

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return exactly k distinct item ids, ascending.

        Raises ParameterError unless 1 <= k <= the number of items.
        """

    def slots(self, signal: Signal, k: int) -> int:
        """Return what `choose` takes, in slots of a queue, 2 to 3 ms each; 0 where it needs no
        queue.
        """


class Nearest:
    """The k items nearest to the signal."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the ids of the k items nearest to the signal, clamped into the space, ascending.
        O(k log n).
        """
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))[None]
        return np.sort(self._index.nearest(center, checked(k, self._index))[0])

    def slots(self, _: Signal, k: int) -> int:
        """Return k // 32: none below 32."""
        return k // RESULTS_PER_SLOT


class CodebookRule:
    """The item nearest to each probe; then a probe whose item was another's takes the nearest that
    is free, the probe nearest to the signal first. Fewer probes than k, where no placement of k is
    at hand, take turns.
    """

    def __init__(self, index: MetricIndex, disutility: Disutility | None = None) -> None:
        self._index, self._disutility = index, disutility or Identity()
        self._placed = Laws(self.offsets)

    def choose(self, signal: Signal, k: int) -> Rows:
        """Return the k ids of the probes' items, ascending. O(k log n), or O(k**2) where probes
        compete for items.
        """
        probes = self._index.frame.tree(self.probes(signal, checked(k, self._index)))
        return np.sort(self.distinct(probes, self._index.reach(probes)[1], k))

    def slots(self, _: Signal, k: int) -> int:
        """Return k // 32: none below 32."""
        return k // RESULTS_PER_SLOT

    def probes(self, signal: Signal, k: int) -> Points:
        """Return where the rule looks for items: grid coordinates (k', d) inside the space, k' <=
        k.
        """
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        return frame.inside(center + frame.spread(signal, self._placed.get(signal, k)))

    def offsets(self, law: Signal, k: int) -> Points:
        """Return the way from the signal to each probe, as noise offsets (k', d), k' <= k."""
        return self._index.frame.offsets(law, self._disutility, k)

    def distinct(self, probes: Points, nearest: Rows, k: int) -> Rows:
        """Return k ids, each once: first the items nearest to the probes, tree points (k', e), in
        their order; then each probe whose item was taken already takes its nearest free one, in
        turns where there are fewer probes than k. nearest: of each probe, (k', 1).
        """
        taken = dict.fromkeys(nearest[:, 0].tolist())
        if len(taken) == k:
            return np.fromiter(taken, np.int64, k)
        return self._shared(probes, nearest, k)

    def _shared(self, probes: Points, nearest: Rows, k: int) -> Rows:
        turns = np.arange(k) % len(probes)
        taken: dict[int, None] = {}
        firsts = nearest[turns].tolist()
        late = [turn for turn, items in enumerate(firsts) if not _take(items, taken)]
        count = min(4, k)
        while late:
            found = self._index.reach(probes[turns[late]], count)[1].tolist()
            late = late[_served(found, taken) :]
            count = min(4 * count, k)
        return np.fromiter(taken, np.int64, k)


def _served(found: list[list[int]], taken: dict[int, None]) -> int:
    """Return how many probes get an item, in their order, until one has none left among those
    found.
    """
    for number, items in enumerate(found):
        if not _take(items, taken):
            return number
    return len(found)


def _take(items: list[int], taken: dict[int, None]) -> bool:
    """Take the first item that is free, adding it to `taken`; return True if one was."""
    for item in items:
        if item not in taken:
            taken[item] = None
            return True
    return False


def checked(k: int, index: MetricIndex) -> int:
    """Return k as it is. Raises ParameterError unless it is from 1 to the number of items."""
    if not 1 <= k <= len(index):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(index)}")
    return k
