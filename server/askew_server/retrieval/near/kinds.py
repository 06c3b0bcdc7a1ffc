"""What people look for: any item, or one of a kind, by the public shares of the kinds.

A slate that is chosen by distance alone may hold no item of a kind, and then a private filter
leaves nothing. So some of the people for whom a set is chosen accept one kind only: the wish of
sample i is where the i-th number of a sequence of low discrepancy, another than that of positions,
falls in the running sum of the shares; the rest accept any item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.sizes import MAX_AXES
from askew_server.retrieval.near.frame import Points
from askew_server.retrieval.near.index import MetricIndex, Rows
from askew_server.retrieval.near.people import SAMPLES, low_discrepancy

ANY = -1
_WISHES = 0.25  # the share of people who accept one kind only


class Kinds:
    """codes: (n,), the kind of each item of the index, below 0 where it is unknown."""

    def __init__(self, index: MetricIndex, codes: NDArray[np.int32]) -> None:
        self._index, self._codes = index, codes
        counts = np.bincount(codes[codes >= 0], minlength=1)
        self._wishes = _wishes(counts)
        self._anybody = np.flatnonzero(self._wishes == ANY)
        self._parts = [
            (np.flatnonzero(self._wishes == kind), index.part(np.flatnonzero(codes == kind)))
            for kind in np.unique(self._wishes).tolist()
            if kind != ANY
        ]

    def nearest(self, positions: Points) -> Rows:
        """The item nearest to each person that they accept, (m,)."""
        found = np.empty(len(positions), np.int64)
        found[self._anybody] = self._index.nearest(positions[self._anybody])[:, 0]
        for wishing, part in self._parts:
            found[wishing] = part.nearest(positions[wishing])[:, 0]
        return found

    def refused(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether a person (m,) does not accept an item (c,): (m, c)."""
        wishes = self._wishes[:, None]
        return np.asarray((wishes != self._codes[rows]) & (wishes != ANY))


def _wishes(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The kind that each sample looks for, at most 256 of them."""
    fractions = low_discrepancy(SAMPLES, MAX_AXES + 1)[:, 0]
    reached = np.cumsum(counts) * (_WISHES / max(1, int(counts.sum())))
    kinds = np.searchsorted(reached, fractions, side="right")
    return np.where(kinds < len(counts), kinds, ANY)
