"""Signal directions: which d combinations of a taste are worth sending through the noise.

Principal axes keep the variance of tastes. Learned directions keep what the answer needs: they
maximize what a server that weighs people by the signal expects to achieve,

    E_y max_S sum_p P(p | y) max_{i in S} s_ip,    y a signal, S among the slates of a library

by random search among rotations of the first principal axes. Every candidate meets the same people
and the same noise, so that differences are not chance. The library holds the greedy slates of the
signals of each axis by itself and of the best directions so far, which makes a trial one matrix
product instead of as many greedy choices as there are signals.

It is a public choice from public figures: whatever comes out, the guarantee is the encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.retrieval.cover import cover
from askew_server.taste.training.space_fit import principal_axes

_SPAN = 8  # principal axes that are combined
_PEOPLE = 2500
_SIGNALS = 128
_LIBRARY = 24  # signals whose slates join the library, of each axis and in each round
_ROUNDS = 4  # after each, the library grows
_TRIALS = 60
_PAIRS = 4000
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Purpose:
    """What directions are learned for: epsilon per median distance, and k."""

    epsilon: float
    k: int


def learned_directions(
    tastes: Array, scores: NDArray[np.float32], dimension: int, purpose: Purpose, *, seed: int
) -> Array:
    """(D, d) orthonormal directions for people of tastes (m, D) and scores (p, m)."""
    rng = np.random.default_rng([seed, 2])
    span = principal_axes(tastes, max(dimension, min(_SPAN, tastes.shape[1])))
    arena = _Arena.of(tastes @ span, scores, dimension, purpose, rng)
    best, step = np.eye(span.shape[1], dimension), 0.5
    axes = [np.eye(span.shape[1])[:, axis : axis + 1] for axis in range(span.shape[1])]
    library = np.concatenate([arena.slates(axis) for axis in axes])
    for _ in range(_ROUNDS):
        library = np.concatenate([library, arena.slates(best)])
        reached = arena.value(best, library)
        for _ in range(_TRIALS):
            found = _orthonormal(best + step * rng.normal(size=best.shape))
            value = arena.value(found, library)
            improved = value > reached
            best, reached = (found, value) if improved else (best, reached)
            step *= 1.2 if improved else 0.97
    return span @ best


@dataclass(frozen=True, eq=False)
class _Arena:
    """What every candidate meets: z (m, span), scores (p, m), who sends signals, their noise at
    scale 1, (signals, span), and the pairs (2, pairs) whose median distance is the unit.
    """

    z: Array = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
    senders: NDArray[np.int64] = field(repr=False)
    noise: Array = field(repr=False)
    pairs: NDArray[np.int64] = field(repr=False)
    purpose: Purpose

    @classmethod
    def of(
        cls,
        z: Array,
        scores: NDArray[np.float32],
        dimension: int,
        purpose: Purpose,
        rng: np.random.Generator,
    ) -> _Arena:
        people = np.sort(rng.permutation(len(z))[:_PEOPLE])
        count = min(_SIGNALS, len(people))
        senders = rng.integers(len(people), size=count)
        noise = _even_laplace(count, dimension, rng)
        pairs = rng.integers(len(people), size=(2, _PAIRS))
        known = np.ascontiguousarray(scores[:, people])
        return cls(z[people], known, senders, noise, pairs[:, pairs[0] != pairs[1]], purpose)

    def value(self, directions: Array, library: NDArray[np.float32]) -> float:
        """What the best slates of the library achieve, in mean over signals."""
        return float((self._posteriors(directions) @ library.T).max(axis=1).mean())

    def slates(self, directions: Array) -> NDArray[np.float32]:
        """What the greedy slates of some signals give each person, (some, m)."""
        some = self._posteriors(directions)[:_LIBRARY]
        chosen = [cover(self.scores, weights, self.purpose.k) for weights in some]
        return np.stack([self.scores[rows].max(axis=0) for rows in chosen])

    def _posteriors(self, directions: Array) -> NDArray[np.float32]:
        """(signals, m), each row summing to 1."""
        ranks = np.argsort(np.argsort(self.z @ directions, axis=0), axis=0) / len(self.z)
        left, right = self.pairs
        points = ranks / np.median(np.abs(ranks[left] - ranks[right]).sum(axis=1))
        noise = self.noise[:, : points.shape[1]] / self.purpose.epsilon
        far = np.zeros((len(self.senders), len(points)))
        for axis in range(points.shape[1]):
            signal = points[self.senders, axis] + noise[:, axis]
            far += np.abs(signal[:, None] - points[:, axis])
        weights = np.exp(-self.purpose.epsilon * (far - far.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        light: NDArray[np.float32] = weights.astype(np.float32)
        return light


def _even_laplace(count: int, dimension: int, rng: np.random.Generator) -> Array:
    """Noise at evenly spaced quantiles, dealt at random, so that a mean over it varies less."""
    quantiles = (np.arange(count) + 0.5) / count
    spread = -np.log(1 - np.abs(2 * quantiles - 1)) * np.sign(quantiles - 0.5)
    return np.column_stack([rng.permutation(spread) for _ in range(dimension)])


def _orthonormal(directions: Array) -> Array:
    factor, rest = np.linalg.qr(directions)
    oriented: Array = factor * np.sign(np.diag(rest))
    return oriented
