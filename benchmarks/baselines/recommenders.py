"""The plain recommenders that ours stand beside, of people's likes alone.

    popularity   item j scores n_j, the number of its likes, for everybody
    item-kNN     the cosine of two items, G_ij / sqrt(n_i n_j), for the nearest of each item; a
                 person's score of j is the sum over what they like
    EASE         P = (G + lambda I)^-1, B_ij = -P_ij / P_jj, zero diagonal; the same sum

with G = X^T X of likes X (n_people, n_items) of ones. They have parameters, which are chosen by
NDCG@10 on likes held out from other people than those who are told of: `tuned`. EASE wants a dense
matrix of items by items and its inverse, O(n^3); above `DENSE_ITEMS` it does not fit.

Sources: Sarwar, Karypis, Konstan, Riedl 2001 (item-kNN); Steck 2019 (EASE).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.taste.ease import DENSE_ITEMS, Matrix, gram_of, inverse_of
from askew_server.taste.measures import Accuracy, HeldOutPeople, Items, Scorer, mean_with_error

_NEIGHBORS = (10, 20, 40, 80, 160)
_FIRST_LAMBDA, _LEAST_LAMBDA, _MOST_LAMBDA = 100.0, 0.4, 1e5


def popularity(likes: csr_array) -> Scorer:
    """Return a scorer that gives everybody the same: how many people like each item."""
    counts = np.asarray(likes.sum(axis=0), dtype=np.float64)
    return lambda people: np.broadcast_to(counts, (people.shape[0], len(counts)))


def item_knn(gram: Matrix, neighbors: int) -> Scorer:
    """Return a scorer by the cosines of so many items that are nearest to each."""
    roots = np.sqrt(np.maximum(np.diag(gram), 1))
    cosines = gram / roots[:, None] / roots
    np.fill_diagonal(cosines, 0)
    if neighbors < len(cosines):
        least = np.partition(cosines, -neighbors, axis=0)[-neighbors]
        cosines[cosines < least] = 0
    return _by_weights(csr_array(cosines))


def ease(gram: Matrix, penalty: float) -> Scorer:
    """Return a scorer by the weights B of EASE; penalty: lambda. Raises DataError where G + lambda
    I is singular.

    Complexity: O(n^3) by Cholesky, one matrix of items by items beside G.
    """
    weights = inverse_of(gram, penalty)
    weights /= -np.diag(weights).copy()
    np.fill_diagonal(weights, 0)
    return _by_weights(weights)


def _by_weights(weights: Matrix | csr_array) -> Scorer:
    def scores(people: csr_array) -> NDArray[np.floating]:
        found: Any = people @ weights
        return np.asarray(found.toarray() if isinstance(weights, csr_array) else found)

    return scores


def tuned_ease(gram: Matrix, choosing: HeldOutPeople) -> tuple[Scorer, float]:
    """Return EASE with the lambda that is best for these people, and that lambda.

    Halved and doubled from 100 on for as long as that helps: the measure has one peak in lambda,
    but for what chance makes of it.
    """

    def tried(penalty: float) -> tuple[float, Scorer]:
        scorer = ease(gram, penalty)
        return mean_with_error(choosing.evaluate(scorer).ndcg).mean, scorer

    best = _FIRST_LAMBDA
    reached, scorer = tried(best)
    for step in (0.5, 2.0):
        while _LEAST_LAMBDA < best * step < _MOST_LAMBDA:
            value, other = tried(best * step)
            if not value > reached:
                break
            best, reached, scorer = best * step, value, other
    return scorer, best


def tuned_knn(gram: Matrix, choosing: HeldOutPeople) -> tuple[Scorer, int]:
    """Return item-kNN with the number of neighbors that is best for these people, and it."""
    made = {size: item_knn(gram, size) for size in _NEIGHBORS}
    reached = {
        size: mean_with_error(choosing.evaluate(scorer).ndcg).mean for size, scorer in made.items()
    }
    best = max(made, key=lambda size: reached[size])
    return made[best], best


def evaluate_baselines(
    likes: csr_array, choosing: HeldOutPeople, people: HeldOutPeople
) -> dict[str, Accuracy]:
    """Evaluate plain recommenders of these likes for some people. choosing: whom their parameters
    are chosen by.
    """
    accuracies = {"popularity": people.evaluate(popularity(likes))}
    if likes.shape[1] <= DENSE_ITEMS:
        gram = gram_of(likes)
        accuracies["item-kNN"] = people.evaluate(tuned_knn(gram, choosing)[0])
        accuracies["EASE"] = people.evaluate(tuned_ease(gram, choosing)[0])
    return accuracies


def most_liked(likes: csr_array, count: int = 200) -> Items:
    """Return the `count` items that most people like, by ascending id."""
    totals = np.asarray(likes.sum(axis=0))
    return np.sort(np.argsort(-totals, kind="stable")[:count])
