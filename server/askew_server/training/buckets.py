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
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.randomized_response import RandomizedResponse
from askew.retrieval.buckets import labels_of, slates_of
from askew.retrieval.likelihood import response_log_odds
from askew.taste_buckets import Buckets

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
