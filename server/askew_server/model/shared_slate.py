"""The slate for somebody of whom nothing is known. Every figure belongs next to it.

Items in greedy order: each next one raises the most, over people, the score of the best item that
they have not seen (facility location; the first k are within 1 - 1/e of the best k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.placement.facility import greedy
from askew_server.training.factors import Tastes

SLATE_LIMIT = 64
_MEASURED_PEOPLE = 2000
_POOL = 1000  # items of the highest total score; no other was ever chosen on the ratings tried
_CHUNK = 4096


def shared_slate(
    tastes: Tastes, scoring: NDArray[np.float32], rng: np.random.Generator
) -> tuple[int, ...]:
    """At most SLATE_LIMIT items of scoring vectors (n_items, D)."""
    tastes = tastes.some(_MEASURED_PEOPLE, rng)
    starts = range(0, len(scoring), _CHUNK)
    chunks = (np.arange(start, min(start + _CHUNK, len(scoring))) for start in starts)
    totals = np.concatenate([_scores(tastes, scoring, items).sum(axis=1) for items in chunks])
    pool = np.sort(np.argsort(-totals, kind="stable")[:_POOL])
    chosen = greedy(-_scores(tastes, scoring, pool), min(SLATE_LIMIT, len(pool)))
    return tuple(int(pool[row]) for row in chosen)


def _scores(
    tastes: Tastes, scoring: NDArray[np.float32], items: NDArray[np.int64]
) -> NDArray[np.float32]:
    """What these items are worth to each person, (n, n_people): nothing where seen or disliked."""
    found = (scoring[items] @ tastes.vectors.T).astype(np.float32)
    found *= 1 - tastes.people.seen[:, items].toarray().T.astype(np.float32)
    positive: NDArray[np.float32] = np.maximum(found, 0)
    return positive
