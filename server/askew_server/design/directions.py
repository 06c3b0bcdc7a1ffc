"""Signal directions: which d combinations of a taste are worth sending through the noise.

Principal directions keep the variance of tastes. Learned ones keep what the answer needs: they
maximize what the posterior rule expects to achieve, in mean over simulated signals y,

    E_y max_{S, |S| = k} sum_p P(p | y) max_{i in S} s_ip

by random search among rotations of the first principal directions, every candidate being tried on
the same people and the same noise. It is a public choice from public figures: whatever comes out,
the guarantee is the encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.placement.cover import cover
from askew_server.space_fit import principal_axes

_SPAN = 8  # principal directions that are combined
_PEOPLE = 800
_SIGNALS = 48
_TRIALS = 120
_PAIRS = 4000
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Purpose:
    """What directions are learned for: epsilon per median distance, and k."""

    epsilon: float
    k: int


def learned_directions(
    tastes: Array, scores: NDArray[np.float32], dimension: int, purpose: Purpose, *, seed: int
) -> Array:
    """(D, d) directions for people of these tastes (m, D) and scores (p, m). Never worse, on the
    people that it looks at, than the principal ones.
    """
    rng = np.random.default_rng([seed, 2])
    span = principal_axes(tastes, max(dimension, min(_SPAN, tastes.shape[1])))
    trial = _Trial.of(tastes @ span, scores, dimension, purpose, rng)
    best = np.eye(span.shape[1], dimension)
    reached, step = trial.value(best), 0.5
    for _ in range(_TRIALS):
        found = _orthonormal(best + step * rng.normal(size=best.shape))
        value = trial.value(found)
        if value > reached:
            best, reached, step = found, value, step * 1.2
        else:
            step *= 0.97
    return span @ best


@dataclass(frozen=True, eq=False)
class _Trial:
    """The people, the places of their signals and the noise that every candidate meets."""

    z: Array = field(repr=False)  # (m, span)
    scores: NDArray[np.float32] = field(repr=False)  # (p, m)
    senders: NDArray[np.int64] = field(repr=False)
    noise: Array = field(repr=False)  # (signals, d), of scale 1
    pairs: NDArray[np.int64] = field(repr=False)  # (2, pairs), whose median distance is the unit
    purpose: Purpose

    @classmethod
    def of(
        cls,
        z: Array,
        scores: NDArray[np.float32],
        dimension: int,
        purpose: Purpose,
        rng: np.random.Generator,
    ) -> _Trial:
        people = np.sort(rng.permutation(len(z))[:_PEOPLE])
        senders = rng.integers(len(people), size=_SIGNALS)
        noise = rng.laplace(size=(_SIGNALS, dimension))
        pairs = rng.integers(len(people), size=(2, _PAIRS))
        seen = np.ascontiguousarray(scores[:, people])
        return cls(z[people], seen, senders, noise, pairs[:, pairs[0] != pairs[1]], purpose)

    def value(self, directions: Array) -> float:
        """The mean of what greedy answers achieve in their posteriors."""
        z = self.z @ directions
        ranks = np.argsort(np.argsort(z, axis=0), axis=0) / len(z)
        points = ranks / self._median(ranks)
        signals = points[self.senders] + self.noise / self.purpose.epsilon
        far = np.abs(signals[:, None, :] - points[None]).sum(axis=2)  # (signals, m)
        weights = np.exp(-self.purpose.epsilon * (far - far.min(axis=1, keepdims=True)))
        weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        return sum(self._reached(each) for each in weights) / len(weights)

    def _median(self, ranks: Array) -> float:
        left, right = self.pairs
        return float(np.median(np.abs(ranks[left] - ranks[right]).sum(axis=1)))

    def _reached(self, weights: NDArray[np.float32]) -> float:
        rows = cover(self.scores, weights, self.purpose.k)
        return float(self.scores[rows].max(axis=0) @ weights)


def _orthonormal(directions: Array) -> Array:
    factor, rest = np.linalg.qr(directions)
    oriented: Array = factor * np.sign(np.diag(rest))
    return oriented
