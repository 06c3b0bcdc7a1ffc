"""The rule `buckets`: slates for each bucket and a range of odds, made once, looked up by signals.

A bucket b that is sent at odds r is likelier from its own people: of its senders, the share

    t = (r - 1) P_b / (1 + (r - 1) P_b),    P_b the part of all people whose bucket is b

is a person of b for sure, and the rest is anybody. So k items S are worth, to who sent it,

    t own_b(S) + (1 - t) all(S),    own_b, all: mean_p max_{i in S} s_ip over b's people, everybody

For each bucket and each odds of a public list there is the greedy slate for these weights, beside
the zero-information slate. A signal gets, of all slates for its bucket, the one that is worth most
at the odds at which it was sent: never less than the zero-information slate, whatever the odds, and
never less than what any other odds of the list would have got. Post-processing of the signal, so
free of charge; the people weighed are not covered, as in `posterior`.

Shapes: m people, p pool items, M buckets, C slates a bucket. Complexity: at most C M greedy choices
(`cover`) for at most 2 limit people, then a look-up in C numbers. Above `limit`, people are sampled
as in `posterior`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.errors import OutOfRange, ParameterError
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal
from askew.retrieval.posterior import (
    LIMIT,
    Prior,
    cover,
    covered_by_each,
    pool_rows,
    response_log_odds,
    systematic,
)
from askew.spaces.buckets import Buckets, SlateCodebook

Array = NDArray[np.float64]


class BucketRule:
    """Everything in it is public.

    orders: (C, M, most) item ids, best first. own, everybody: (C, M, most), what the first k of
    each are worth to its bucket's people and to all. masses: (M,), the part P_b of all people.
    """

    def __init__(
        self, orders: NDArray[np.int64], own: Array, everybody: Array, masses: Array
    ) -> None:
        self._orders, self._own, self._everybody, self._masses = orders, own, everybody, masses

    @property
    def arrays(self) -> tuple[NDArray[np.int64], Array, Array, Array]:
        """All that it says."""
        return self._orders, self._own, self._everybody, self._masses

    def answer(self, signal: Signal, k: int) -> tuple[int, ...]:
        """Exactly k distinct item ids, ascending. Raises as `RetrievalRule.answer`."""
        _, n_buckets, most = self._orders.shape
        if not 1 <= k <= most:
            raise ParameterError("k", k, f"from 1 to {most}")
        response = signal.mechanism
        if not isinstance(response, RandomizedResponse) or response.buckets != n_buckets:
            raise OutOfRange("the mechanism of this signal", f"randomized response, {n_buckets}")
        bucket = signal.values[0]
        share = own_share(float(response.odds), float(self._masses[bucket]))
        own, everybody = (each[:, bucket, k - 1] for each in (self._own, self._everybody))
        best = int((share * own + (1 - share) * everybody).argmax())
        return tuple(sorted(self._orders[best, bucket, :k].tolist()))


def own_share(odds: float, mass: float) -> float:
    """The share t of a bucket's senders who are its own people for sure."""
    extra = (odds - 1) * mass
    return extra / (1 + extra)


def bucket_rule(  # noqa: PLR0913 - the people, the slates and the range
    prior: Prior,
    label: NDArray[np.int64],
    n_buckets: int,
    shared: Sequence[int],
    range_of_odds: Iterable[Fraction],
    *,
    limit: int = LIMIT,
) -> BucketRule:
    """The rule for people of these buckets (m,), with slates for these odds. shared: item ids of
    the pool, best first, as many as a slate may have.

    Raises OutOfRange for a shared slate beyond the pool.
    """
    anybody, odds = pool_rows(prior, shared), list(map(float, range_of_odds))
    everybody = _Crowd.of(prior, np.arange(len(prior)), limit)
    masses: Array = np.zeros(n_buckets)
    np.add.at(masses, label, prior.weights)
    orders = np.tile(anybody, (1 + len(odds), n_buckets, 1))
    own, general = np.empty(orders.shape), np.empty(orders.shape)
    for bucket, mass in enumerate(masses.tolist()):
        people = np.flatnonzero(label == bucket)
        if not len(people):  # nobody's: what suits anybody
            own[:, bucket] = general[:, bucket] = 0
            continue
        senders = _Senders(_Crowd.of(prior, people, limit), everybody)
        for row in range(len(orders)):
            if row:
                share = own_share(odds[row - 1], mass)
                orders[row, bucket] = senders.order(share, len(anybody))
            own[row, bucket], general[row, bucket] = senders.worth(orders[row, bucket].tolist())
    return BucketRule(prior.items[orders], own, general, masses)


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Some people: scores (p, n), weights (n,) float32 that sum to 1."""

    scores: NDArray[np.float32] = field(repr=False)
    weights: NDArray[np.float32] = field(repr=False)

    @classmethod
    def of(cls, prior: Prior, people: NDArray[np.int64], limit: int) -> _Crowd:
        """These people (n,) of a prior, or a sample of at most `limit` of them."""
        weights = prior.weights[people] / prior.weights[people].sum()
        if len(people) > limit:
            sampled, weights = systematic(weights, limit)
            people = people[sampled]
        return cls(prior.scores[:, people], weights.astype(np.float32))


class _Senders:
    """Who may have sent a bucket: its own people and everybody."""

    def __init__(self, own: _Crowd, everybody: _Crowd) -> None:
        self._crowds = own, everybody
        self._scores = np.concatenate([own.scores, everybody.scores], axis=1)

    def order(self, share: float, k: int) -> list[int]:
        """The greedy choice where the share of its own people is this."""
        own, everybody = (crowd.weights for crowd in self._crowds)
        weights = np.concatenate([np.float32(share) * own, np.float32(1 - share) * everybody])
        return cover(self._scores, weights, k)

    def worth(self, rows: list[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What the first k of these rows are worth to each crowd, for every k."""
        own, everybody = self._crowds
        return (
            covered_by_each(own.scores, own.weights, rows),
            covered_by_each(everybody.scores, everybody.weights, rows),
        )


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
    buckets: Buckets | SlateCodebook,
    tastes: NDArray[np.float64],
    seen: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """The bucket of each taste (m, D), (m,), as `Buckets.of` or `SlateCodebook.of` says. seen:
    which of the items of the slates each person knows, (m, M, k), or None where nobody knows any.
    """
    if isinstance(buckets, SlateCodebook):
        return buckets.of_each(tastes, seen)
    labels: NDArray[np.int64] = (tastes @ buckets.directions.T + buckets.biases).argmax(axis=1)
    return labels
