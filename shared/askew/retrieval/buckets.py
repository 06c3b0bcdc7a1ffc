"""The rule `buckets`: a slate for each bucket, made once, looked up for each signal.

    slate_b = the greedy choice for people weighted by P(b | l(p)), l(p) the bucket of person p

those who belong to the bucket and, more lightly, those who land there by chance. Post-processing of
the signal, so free of charge; the people weighed are not covered, as in `posterior`.

Shapes: m people, p pool items, M buckets. Complexity: min(M, m + 1) greedy choices (`cover`), then
one look-up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.encoder import Buckets
from askew.errors import OutOfRange, ParameterError
from askew.meanings import Meanings
from askew.randomized_response import RandomizedResponse
from askew.retrieval.cover import cover
from askew.retrieval.likelihood import response_log_odds
from askew.signal import Signal


class BucketRule:
    """Everything in it is public. orders: (M, most) item ids, best first."""

    def __init__(self, orders: NDArray[np.int64]) -> None:
        self._orders = orders

    def answer(self, signal: Signal, k: int) -> tuple[int, ...]:
        """Exactly k distinct item ids, ascending. Raises as `RetrievalRule.answer`."""
        n_buckets, most = self._orders.shape
        if not 1 <= k <= most:
            raise ParameterError("k", k, f"from 1 to {most}")
        response = signal.mechanism
        if not isinstance(response, RandomizedResponse) or response.buckets != n_buckets:
            raise OutOfRange("the mechanism of this signal", f"randomized response, {n_buckets}")
        return tuple(sorted(self._orders[signal.values[0], :k].tolist()))


def slates_of(
    label: NDArray[np.int64], scores: NDArray[np.float32], response: RandomizedResponse, k: int
) -> NDArray[np.int64]:
    """The greedy slate of each bucket for people with these buckets (m,), (M, k) pool rows.

    Buckets of nobody are all alike, so there are at most m + 1 greedy choices.
    """
    own, other = np.exp(response_log_odds(response))
    slates = np.empty((response.buckets, k), dtype=np.int64)
    alike = [[bucket] for bucket in np.unique(label).tolist()]
    alike.append(np.setdiff1d(np.arange(response.buckets), label).tolist())
    for buckets in filter(None, alike):
        weights = np.where(label == buckets[0], own, other)
        slates[buckets] = cover(scores, (weights / weights.sum()).astype(np.float32), k)
    return slates


def labels_of(
    buckets: Buckets | Meanings,
    tastes: NDArray[np.float64],
    seen: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """The bucket of each taste (m, D), (m,), as `Buckets.of` or `Meanings.of` says. seen: which of
    the items of meanings each person knows, (m, M, k), or None where nobody knows any.
    """
    if isinstance(buckets, Meanings):
        return buckets.of_each(tastes, seen)
    labels: NDArray[np.int64] = (tastes @ buckets.directions.T + buckets.biases).argmax(axis=1)
    return labels
