"""Private ALS, which a private model stands beside: matrix completion with noisy item solves.

    loss       sum over likes (i, j) of (1 - <u_i, v_j>)^2 + w sum over all (i, j) of <u_i, v_j>^2
               + lambda (sum of |u_i|^2 + sum of |v_j|^2)
    person     u_i = (sum over likes of v_j v_j^T + w V^T V + lambda I)^-1 sum of v_j, exact; it
               stays on the device. For the next line it is cut to a norm of at most 1.
    item       v_j = (A_j + w K + lambda I)^-1 b_j, from three noisy sums:
               A_j = sum of c_ij u_i u_i^T,   b_j = sum of c_ij u_i,   K = sum of u_i u_i^T
    weights    c_ij proportional to n_j^-x among the likes of person i, with sum_j c_ij^2 = 1; n_j
               is a noisy count, of at most `COUNTED` likes a person

Guarantee: (epsilon, delta)-DP for one person's whole history, added or removed. One person moves
all A_j together by at most 1 in Frobenius norm, so does K, all b_j by at most 1 in length, and the
counts by sqrt(COUNTED). Gaussian noise of variance v costs 1 / (2 v) of rho; on a symmetric matrix,
2 v on its diagonal, 1 / (4 v). Each of T rounds draws anew, and all rho add up.

Noise is of floats and of numpy's generator: this measures, it protects nobody.

Sources: Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang 2021 (private ALS; projections to
positive matrices); Krichene, Jain, Song, Sundararajan, Thakurta, Zhang 2023 (weights by counts,
x = 1/4 there). Written from the papers. Complexity: O(T (likes + people r) r^2) for rank r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.taste.measures import Scorer

COUNTED = 50
_AT_ONCE = 2000  # people whose matrices are in memory at once
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """What was tuned. `counts`, `whole` and `local`: the parts of rho for n, K and A; b has the
    rest. decay: x above. `slope`: lambda of an item is proportional to n_j to this power.
    """

    rank: int
    rounds: int
    penalty: float
    unseen: float
    decay: float
    counts: float = 0.1
    whole: float = 0.1
    local: float = 0.4
    slope: float = 0.0


@dataclass(frozen=True)
class PrivateALS:
    """Item vectors of likes (people, items) of ones, each person `copies` times; rho None is
    without noise.
    """

    settings: Settings
    rho: float | None

    def scorer(self, likes: csr_array, copies: int, rng: np.random.Generator) -> Scorer:
        """Scores by the vectors that it learns, for people who make their own on the device."""
        vectors = self.fit(likes, copies, rng)
        return lambda people: self._people(people, vectors) @ vectors.T

    def fit(self, likes: csr_array, copies: int, rng: np.random.Generator) -> Matrix:
        """V, (items, rank)."""
        of, items = self.settings, likes.shape[1]
        counts = self._counts(likes, copies, rng)
        weights = _weights(likes, counts**-of.decay)
        slope = (counts + 1) ** of.slope
        penalty = of.penalty * slope / (np.sum(counts * slope) / np.sum(counts))
        vectors = rng.normal(size=(items, of.rank)) / of.rank
        for _ in range(of.rounds):
            people = self._people(likes, vectors)
            lengths = np.linalg.norm(people, axis=1, keepdims=True)
            people /= np.maximum(lengths, 1)
            whole = copies * people.T @ people
            whole = _positive(whole + self._symmetric(of.whole / of.rounds, whole.shape, rng))
            local = copies * _matrices(csr_array(weights.T), people)
            local = _positive(local + self._symmetric(of.local / of.rounds, local.shape, rng))
            rest = 1 - of.counts - of.whole - of.local
            right = copies * (weights.T @ people)
            right = right + self._spread(rest / of.rounds) * rng.normal(size=right.shape)
            local += of.unseen * whole + penalty[:, None, None] * np.eye(of.rank)
            vectors = np.linalg.solve(local, right[:, :, None])[:, :, 0]
        return vectors

    def _people(self, likes: csr_array, vectors: Matrix) -> Matrix:
        of, found = self.settings, np.empty((likes.shape[0], vectors.shape[1]))
        always = of.unseen * vectors.T @ vectors + of.penalty * np.eye(vectors.shape[1])
        for start in range(0, len(found), _AT_ONCE):
            some = csr_array(likes[start : start + _AT_ONCE])
            left = _matrices(some, vectors) + always
            found[start : start + _AT_ONCE] = np.linalg.solve(left, (some @ vectors)[:, :, None])[
                :, :, 0
            ]
        return found

    def _counts(self, likes: csr_array, copies: int, rng: np.random.Generator) -> Matrix:
        """Noisy numbers of likes, of `COUNTED` a person, and at least one."""
        order = rng.permutation(likes.nnz)
        person = np.repeat(np.arange(likes.shape[0]), np.diff(likes.indptr))[order]
        by_person = np.argsort(person, kind="stable")
        place = np.arange(likes.nnz) - np.repeat(likes.indptr[:-1], np.diff(likes.indptr))
        item = likes.indices[order][by_person][place < COUNTED]
        found = copies * np.bincount(item, minlength=likes.shape[1])
        noise = self._spread(self.settings.counts / COUNTED) * rng.normal(size=len(found))
        return np.maximum(found + noise, 1)

    def _spread(self, share: float) -> float:
        """The standard deviation of noise on a move of length 1, for this share of rho."""
        return 0.0 if self.rho is None else float(np.sqrt(1 / (2 * share * self.rho)))

    def _symmetric(self, share: float, shape: tuple[int, ...], rng: np.random.Generator) -> Matrix:
        """Noise on matrices (..., r, r): half the variance beside the diagonal of that on it."""
        drawn = self._spread(share) * rng.normal(size=shape)
        both: Matrix = (drawn + np.swapaxes(drawn, -1, -2)) / 2
        return both


def _weights(likes: csr_array, worth: Matrix) -> csr_array:
    """Proportional to the worth of items (n,), their squares add up to 1 for each person."""
    found = csr_array(likes * worth)
    lengths = np.sqrt(np.asarray((found * found).sum(axis=1)).ravel())
    return csr_array(found * (1 / np.maximum(lengths, 1e-300))[:, None])


def _matrices(weights: csr_array, vectors: Matrix) -> Matrix:
    """The weighted sums of v v^T of each row, (rows, r, r): of the upper triangles, in floats of 32
    bits, which takes a quarter of the time and loses nothing that noise leaves.
    """
    above, beside = np.triu_indices(vectors.shape[1])
    small = vectors.astype(np.float32)
    summed = weights.astype(np.float32) @ (small[:, above] * small[:, beside])
    found = np.empty((weights.shape[0], vectors.shape[1], vectors.shape[1]))
    found[:, above, beside] = found[:, beside, above] = summed
    return found


def _positive(matrices: Matrix) -> Matrix:
    """The nearest that have no negative eigenvalue."""
    values, axes = np.linalg.eigh(matrices)
    found: Matrix = (axes * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(axes, -1, -2)
    return found
