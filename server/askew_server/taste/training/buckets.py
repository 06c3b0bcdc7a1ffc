"""Buckets and their slates, for k-ary randomized response: Lloyd's iteration over slates.

    a = P(b | own bucket b),  q = P(b' | b),  M buckets, l(p) the bucket of person p
    value = mean_p sum_b P(b | l(p)) max_{i in slate_b} s_ip

    slates   slate_b is the greedy choice for people weighted by P(b | l(p)): those who belong to
             the bucket and, more lightly, those who land there by chance
    encoder  (A, c) maximizes mean_p sum_b softmax(A u_p + c)_b R_pb - ridge |A, c|^2 with
             R_pb = (a - q) max_{i in slate_b} s_ip: what randomized response leaves of the choice

alternately, keeping the best. The encoder is public and linear, so a device needs a few kilobytes
and one product; what is sent is protected by the response, whatever the encoder is. Everything here
is learned from the people given: they must be people who may be known.

Source: slates as codewords after Lloyd 1982; soft assignment by gradient (L-BFGS) is ours.
Complexity: a few rounds of M greedy choices and of L-BFGS steps, O(m D M) each.

The pool: the items that a rule with a prior chooses among, at most a few hundred.

Slates whose vectors devices hold, for k-ary randomized response: Lloyd's iteration over slates.

    P(b | own slate b) and P(b' | b) of the response, l(p) the slate that person p names
    value = mean_p sum_b P(b | l(p)) max_{i in slate_b} s_ip

    who names a slate   l(p) is the slate whose best item is worth the most to p, of what they have
                        not seen: what the device of p would name (`askew.spaces.buckets`)
    what a slate holds  the greedy choice for people weighted by P(b | l(p)): those who name it and,
                        more lightly, those who land there by chance

alternately from several first guesses, until nothing changes, keeping the best. Nothing is fitted
in between, so a device does exactly what the design says. Everything here is learned from the
people given: they must be people who may be known.

Shapes: m people, p pool items, M slates of k. Source: slates as codewords after Lloyd 1982.
Complexity: a few rounds of M greedy choices for each first guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.errors import ParameterError
from askew.noise.randomized_response import RandomizedResponse
from askew.retrieval.buckets import labels_of, slates_of
from askew.retrieval.posterior import response_log_odds
from askew.spaces.buckets import Buckets, SlateCodebook

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


SIZES = (2, 3, 4, 6, 8, 12, 16, 24)
_ROUNDS = 6
_RIDGE = 1e-3
_STEPS = 30
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BucketDesign:
    """An encoder, and for each bucket the pool rows of its slate in greedy order, (M, k).

    value: what it achieves on the people it was learned from, in units of score.
    """

    buckets: Buckets
    slates: NDArray[np.int64] = field(repr=False)
    value: float


def design_buckets(
    tastes: Array, scores: NDArray[np.float32], response: RandomizedResponse, k: int, *, seed: int
) -> BucketDesign:
    """The design for people of tastes (m, D) and scores (p, m) of a pool, all alike in weight.

    Raises ParameterError for fewer people than buckets, or k beyond the pool.
    """
    if len(tastes) < response.buckets:
        raise ParameterError("buckets", response.buckets, f"at most the people, {len(tastes)}")
    center, spread = tastes.mean(axis=0), float(tastes.std(axis=0).mean()) or 1.0
    features = np.column_stack([(tastes - center) / spread, np.ones(len(tastes))])
    label = first_labels(tastes, response.buckets, seed)
    odds = np.zeros((features.shape[1], response.buckets))
    rounds = []
    for _ in range(_ROUNDS):
        slates = slates_of(label, scores, response, k)
        served = np.stack([scores[rows].max(axis=0) for rows in slates], axis=1).astype(float)
        odds = _fit(features, served * _kept(response) / max(served.max(), 1e-30), odds)
        buckets = _linear(odds, center, spread)
        label = labels_of(buckets, tastes)
        rounds.append(BucketDesign(buckets, slates, response_value(label, served, response)))
    return max(rounds, key=lambda design: design.value)


def response_value(label: NDArray[np.int64], served: Array, response: RandomizedResponse) -> float:
    """The mean over people of what they are served, (m, M), under the response."""
    other = float(np.exp(response_log_odds(response)[1]))
    own = served[np.arange(len(served)), label]
    return float((_kept(response) * own + other * served.sum(axis=1)).mean())


def _kept(response: RandomizedResponse) -> float:
    own, other = np.exp(response_log_odds(response))
    return float(own - other)


def first_labels(tastes: Array, count: int, seed: int) -> NDArray[np.int64]:
    """Clusters of the directions of tastes."""
    from sklearn.cluster import KMeans

    size = np.linalg.norm(tastes, axis=1, keepdims=True)
    clusters = KMeans(count, n_init=1, random_state=seed).fit(tastes / np.maximum(size, 1e-12))
    labels: NDArray[np.int64] = clusters.labels_.astype(np.int64)
    return labels


def _fit(features: Array, worth: Array, start: Array) -> Array:
    """The log-odds matrix (D + 1, M) of the best soft choice among columns of worth (m, M)."""
    from scipy.optimize import minimize

    worth = worth - worth.mean(axis=1, keepdims=True)

    def loss(flat: Array) -> tuple[float, Array]:
        odds = flat.reshape(start.shape)
        logits = features @ odds
        soft = np.exp(logits - logits.max(axis=1, keepdims=True))
        soft /= soft.sum(axis=1, keepdims=True)
        value = (soft * worth).sum(axis=1)
        slope = features.T @ (soft * (worth - value[:, None])) / len(worth)
        penalty = _RIDGE * float(flat @ flat)
        return penalty - float(value.mean()), 2 * _RIDGE * flat - slope.ravel()

    result = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    fitted: Array = result.x.reshape(start.shape)
    return fitted


def _linear(odds: Array, center: Array, spread: float) -> Buckets:
    """The same choice as a linear map of the taste itself."""
    directions = odds[:-1].T / spread  # (M, D)
    biases = odds[-1] - directions @ center
    size = max(float(np.abs(directions).max()), float(np.abs(biases).max()), 1e-12)
    # The largest of a row stays the largest when all is scaled; devices refuse large numbers.
    shrink = 256.0 / size
    return Buckets((directions * shrink).astype(np.float32), (biases * shrink).astype(np.float32))


_STARTS = 4
_SLATE_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class SlateDesign:
    """For each slate its pool rows in greedy order, (M, k), by which people name it.

    value: what it achieves on the people it was learned from, in units of score.
    """

    slates: NDArray[np.int64] = field(repr=False)
    value: float


def design_slates(
    tastes: NDArray[np.float64],
    scores: NDArray[np.float32],
    response: RandomizedResponse,
    k: int,
    *,
    seed: int,
) -> SlateDesign:
    """The design for people of tastes (m, D) and scores (p, m) of a pool, 0 for what they have
    seen, all alike in weight.

    Raises ParameterError for fewer people than slates, or k beyond the pool.
    """
    if len(tastes) < response.buckets:
        raise ParameterError("slates", response.buckets, f"at most the people, {len(tastes)}")
    seeds = [(seed + start) % 2**32 for start in range(_STARTS)]
    starts = (first_labels(tastes, response.buckets, each) for each in seeds)
    found = (_improved(label, scores, response, k) for label in starts)
    return max(found, key=lambda design: design.value)


def codebook_of(catalog: Catalog, slates: NDArray[np.int64]) -> SlateCodebook:
    """What slates of item ids (M, k) mean: the vectors and boosts of their items."""
    return SlateCodebook(catalog.vectors[slates], catalog.boosts[slates])


def served(scores: NDArray[np.float32], slates: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each slate of pool rows (M, k) is worth to people with scores (p, m), (m, M)."""
    best: NDArray[np.float64] = np.stack([scores[rows].max(axis=0) for rows in slates], axis=1)
    return best.astype(np.float64)


def _improved(
    label: NDArray[np.int64], scores: NDArray[np.float32], response: RandomizedResponse, k: int
) -> SlateDesign:
    """The best of some rounds from these names (m,) on."""
    rounds = []
    for _ in range(_SLATE_ROUNDS):
        slates = slates_of(label, scores, response, k)
        worth = served(scores, slates)
        before, label = label, worth.argmax(axis=1)
        rounds.append(SlateDesign(slates, response_value(label, worth, response)))
        if np.array_equal(before, label):
            break
    return max(rounds, key=lambda design: design.value)
