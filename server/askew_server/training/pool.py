"""The pool: the items that a rule with a prior chooses among, at most a few hundred."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

POOL = 500
_BEST_OF_EACH = 10
_CHUNK = 1024
ENOUGH = 10_000  # people: by more of them, pools and buckets hardly differ


def favorites(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many of these people (n, n_items) have each item among their best few, (n_items,)."""
    depth = min(_BEST_OF_EACH, scores.shape[1])
    counts = np.zeros(scores.shape[1], dtype=np.int64)
    for start in range(0, len(scores), _CHUNK):
        part = scores[start : start + _CHUNK]
        best = np.argpartition(-part, depth - 1, axis=1)[:, :depth]
        counts += np.bincount(best.ravel(), minlength=len(counts))
    return counts


def enough_of(count: int) -> NDArray[np.int64]:
    """The rows of as many people as suffice to choose by: all, or evenly spaced ones."""
    most = min(count, ENOUGH)
    return np.arange(most) * count // most


def pool_of(counts: NDArray[np.int64], least: int, most: int = POOL) -> NDArray[np.int64]:
    """The items that are most often somebody's favorite, ascending; ties to the lower item.

    As many as are anybody's favorite, but from `least` to `most` where the catalog has them.
    """
    size = min(max(int((counts > 0).sum()), least), max(most, least), len(counts))
    return np.sort(np.argsort(-counts, kind="stable")[:size])
