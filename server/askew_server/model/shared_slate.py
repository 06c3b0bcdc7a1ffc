"""The slate for somebody of whom nothing is known. Every figure belongs next to it.

Items in greedy order: each next one raises the most, over people, the score of the best item that
they have not seen (facility location; the first k are within 1 - 1/e of the best k). Where
everybody has some items already, that is the best of those and of what is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from askew.placement.facility import greedy
from askew.retrieval.cover import gains
from askew_server.training.factors import Tastes

SLATE_LIMIT = 64
_MEASURED_PEOPLE = 2000
_POOL = 1000  # items of the highest total score; no other was ever chosen on the ratings tried
_CHUNK = 4096


def shared_slate(
    tastes: Tastes,
    scoring: NDArray[np.float32],
    rng: np.random.Generator,
    held: int = 0,
    *,
    most: int | None = None,
) -> tuple[int, ...]:
    """At most SLATE_LIMIT, or `most`, items of scoring vectors (n_items, D). held: how many items,
    the first ones, everybody has already; the slate is of the others, for what they add to those.
    """
    limit = SLATE_LIMIT if most is None else most
    tastes = tastes.some(_MEASURED_PEOPLE, rng)
    best = np.zeros(len(tastes.vectors), dtype=np.float32)
    for items in _chunks(0, held):
        best = np.maximum(best, _scores(tastes, scoring, items).max(axis=0))
    totals = [
        gains(_scores(tastes, scoring, items), best).sum(axis=1)
        for items in _chunks(held, len(scoring))
    ]
    pool = held + np.sort(np.argsort(-np.concatenate(totals), kind="stable")[:_POOL])
    added = gains(_scores(tastes, scoring, pool), best)
    return tuple(int(pool[row]) for row in greedy(-added, min(limit, len(pool))))


def _chunks(start: int, end: int) -> Iterator[NDArray[np.int64]]:
    for first in range(start, end, _CHUNK):
        yield np.arange(first, min(first + _CHUNK, end))


def _scores(
    tastes: Tastes, scoring: NDArray[np.float32], items: NDArray[np.int64]
) -> NDArray[np.float32]:
    """What these items are worth to each person, (n, n_people): nothing where seen or disliked."""
    found = (scoring[items] @ tastes.vectors.T).astype(np.float32)
    found *= 1 - tastes.people.seen[:, items].toarray().T.astype(np.float32)
    positive: NDArray[np.float32] = np.maximum(found, 0)
    return positive
