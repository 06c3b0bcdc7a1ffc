"""Biased matrix factorization, the model behind the ground truth `rating`.

    rating = mean + b_i + b_p + <x_p, y_i>

Biases are shrunken means, fitted once; the factors are fitted to what is left, by alternating least
squares with ridge (Koren, Bell, Volinsky 2009). A person is folded in with the same two steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

_BIAS_RIDGE = 10.0
_ROUNDS = 10
_AT_ONCE = 4096  # rows that are solved at once


@dataclass(frozen=True, eq=False)
class BiasedFactors:
    """A rating model: mean, item biases b (n_items,), item factors y (n_items, D), ridge."""

    mean: float
    biases: NDArray[np.float64] = field(repr=False)
    factors: NDArray[np.float64] = field(repr=False)
    ridge: float

    def fold_in(self, ratings: csr_array) -> NDArray[np.float64]:
        """Each person's bias and factors from their ratings, (n_people, 1 + D)."""
        rest = self._beyond_items(ratings)
        own = _own_biases(rest)
        rest.data = rest.data - np.repeat(own, np.diff(rest.indptr))
        return np.column_stack([own, _solve(rest, self.factors, self.ridge)])

    def predict(self, people: NDArray[np.float64], items: NDArray[np.int64]) -> NDArray[np.float32]:
        """Ratings of items (p,), (n_people, p), for folded-in people."""
        fitting = people[:, 1:] @ self.factors[items].T
        predicted = self.mean + people[:, :1] + self.biases[items] + fitting
        return predicted.astype(np.float32)

    def _beyond_items(self, ratings: csr_array) -> csr_array:
        rest = csr_array(ratings, copy=True)
        rest.data = rest.data - self.mean - self.biases[rest.indices]
        return rest


def biased_factors(
    ratings: csr_array, dimension: int, ridge: float, seed: int, rounds: int = _ROUNDS
) -> BiasedFactors:
    """The model of these people's ratings. O(rounds * (ratings * D^2 + (people + items) D^3))."""
    mean = float(ratings.data.mean())
    counts = np.bincount(ratings.indices, minlength=ratings.shape[1])
    sums = np.bincount(ratings.indices, ratings.data - mean, minlength=ratings.shape[1])
    biases = sums / (counts + _BIAS_RIDGE)
    start: NDArray[np.float64] = np.random.default_rng(seed).normal(
        0, 0.1, (ratings.shape[1], dimension)
    )
    model = BiasedFactors(mean, biases, start, ridge)
    rest = model._beyond_items(ratings)
    rest.data = rest.data - np.repeat(_own_biases(rest), np.diff(rest.indptr))
    by_item, factors = csr_array(rest.T), model.factors  # (n_items, n_people), (n_items, D)
    for _ in range(rounds):
        factors = _solve(by_item, _solve(rest, factors, ridge), ridge)
    return BiasedFactors(mean, biases, factors, ridge)


def _own_biases(rest: csr_array) -> NDArray[np.float64]:
    counts = np.diff(rest.indptr)
    biases: NDArray[np.float64] = np.asarray(rest.sum(axis=1)).ravel() / (counts + _BIAS_RIDGE)
    return biases


def _solve(targets: csr_array, factors: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """Ridge regression of each row's values on the factors of its columns, (n_rows, D)."""
    n_rows, d = targets.shape[0], factors.shape[1]
    solved = np.empty((n_rows, d))
    for start in range(0, n_rows, _AT_ONCE):  # a matrix for each row would be D times the result
        rows = range(start, min(start + _AT_ONCE, n_rows))
        grams, rights = np.empty((len(rows), d, d)), np.empty((len(rows), d))
        for place, row in enumerate(rows):
            span = slice(targets.indptr[row], targets.indptr[row + 1])
            of_row = factors[targets.indices[span]]
            grams[place], rights[place] = of_row.T @ of_row, of_row.T @ targets.data[span]
        grams += ridge * np.eye(d)
        solved[rows.start : rows.stop] = np.linalg.solve(grams, rights[:, :, None])[:, :, 0]
    return solved
