"""What a model is fitted by: chosen on likes held out from people held out.

    penalty    the lambda of EASE, halved and doubled for as long as that helps
    rank       64 ranking dimensions, or as many as were asked for. More say more of whom a model
               was trained on: on MovieLens 100K two trainings of 64 and 13 neighbors gave back 16 %
               of likes, of 128 dimensions 24 %. Fewer say less: on its latest small log 48 gave
               back 1.5 points less, and had .97 ± .015 of the NDCG@10 of EASE where 64 had .98 ±
               .013
    neighbors  as many as 66 bytes an item leave room for beside the vector, 13 for 64 dimensions;
               or none, where they do not help

A fifth of the people, at most `_MOST`, are left out of G; of each of their ratings a fifth is held
out, and models are compared by their NDCG@10 + recall@20 (`taste.measures`). Few people make a
noisy choice, so several fifths take turns until there are about `_ENOUGH`. The most liked items
stand for all of a large catalog: G of those is a part of G, and the same penalty suits both.

A model tells nothing of this but what was chosen; its figures are of other people, who chose
nothing (`model.held_out`). The dealing is by the seed, and protects nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.taste.measures import HeldOutPeople, Scorer
from askew_server.taste.training import ease
from askew_server.taste.training.factors import Histories
from askew_server.taste.training.options import TrainingOptions

RANK = 64
ITEM_BYTES = 66
_MOST, _ENOUGH, _MOST_FOLDS = 1000, 600, 5
_FEWER = 2000  # the most liked items, which stand for all of a large catalog
_SHOWN = 0.8  # of each person's ratings
Fold = tuple[NDArray[np.float64], HeldOutPeople]  # G without some people, and those people
_FIRST, _LEAST, _LARGEST = 100.0, 0.5, 1e5


def neighbors_beside(rank: int) -> int:
    """Return how many neighbors an item has room for, in 66 bytes, beside a vector of this rank and
    a boost: 13 for 64 dimensions, never more, and 0 where there is no room.
    """
    return max(min((ITEM_BYTES - (rank + 1) // 2 - 1) * 2 // 5, 13), 0)


def tune(people: Histories, options: TrainingOptions) -> TrainingOptions:
    """Return the options with the penalty, ranking dimension and neighbors filled in: what they
    leave open is what does best. The dimension is always below the numbers of people and of items.
    """
    rank = min(options.ranking_dimension or RANK, *(n - 1 for n in people.likes.shape))
    if people.likes.shape[1] > ease.DENSE_ITEMS:
        counts = [0]  # neighbors are taken of P, which is not computed
    elif options.neighbors is not None:
        counts = [options.neighbors]
    else:
        counts = list(dict.fromkeys((0, neighbors_beside(rank))))
    penalty = options.penalty
    if penalty is None:
        some = people
        if people.likes.shape[1] > _FEWER:
            order = np.argsort(-np.asarray(people.likes.sum(axis=0)), kind="stable")
            some = people.select_items(np.sort(order[:_FEWER]))
        folds = list(_folds(some, options.seed))
        penalty = _best_penalty(folds, rank, counts[0])
    best = 0
    if len(counts) > 1:
        folds = list(_folds(people, options.seed))
        best = int(np.argmax(_accuracies(folds, penalty, rank, counts)))
    return replace(options, penalty=penalty, ranking_dimension=rank, neighbors=counts[best])


def fit_factors(likes: csr_array, penalty: float, rank: int) -> ease.Factors:
    """Return the EASE factors of likes (n_people, n_items), by the matrix of items by items for at
    most 6,000 items, else without it. Raises DataError where ratings have no structure.
    """
    if likes.shape[1] > ease.DENSE_ITEMS:
        return ease.fit_sparse(likes, penalty, rank)
    return ease.fit(ease.gram_of(likes), penalty, rank)


def _best_penalty(folds: Sequence[Fold], rank: int, count: int) -> float:
    penalty, best = _FIRST, _accuracies(folds, _FIRST, rank, [count])[0]
    for step in (0.5, 2.0):
        while _LEAST < penalty * step < _LARGEST:
            accuracy = _accuracies(folds, penalty * step, rank, [count])[0]
            if not accuracy > best:
                break
            penalty, best = penalty * step, accuracy
    return penalty


def _accuracies(
    folds: Sequence[Fold], penalty: float, rank: int, counts: Sequence[int]
) -> NDArray[np.float64]:
    """Return the mean NDCG@10 + recall@20 of everybody held out, for each number of neighbors,
    (counts,).
    """
    totals, n_people = np.zeros(len(counts)), 0
    for gram, people in folds:
        inverse = ease.inverse_of(gram, penalty)
        most = min(rank, len(inverse) - 1)
        factors = ease.factors_of(gram.__matmul__, np.diag(inverse), penalty, most)
        for at, count in enumerate(counts):
            pairs = ease.residual(inverse, factors.scale, factors.vectors, count)
            scorer = make_scorer(factors.vectors, factors.boosts, pairs.matrix(len(inverse)))
            accuracy = people.evaluate(scorer)
            totals[at] += np.nansum(accuracy.ndcg) + np.nansum(accuracy.recall)
        n_people += int((~np.isnan(accuracy.ndcg)).sum())
    mean: NDArray[np.float64] = totals / max(n_people, 1)
    return mean


def make_scorer(
    vectors: NDArray[np.floating], boosts: NDArray[np.floating], pairs: csr_array
) -> Scorer:
    """Return a scorer of all items: the product of an item's vector with the sum of liked items'
    vectors, and what pairs (n_items, n_items) add for likes, times the item's boost.
    """

    def score(likes: csr_array) -> NDArray[np.floating]:
        scores = (likes @ vectors) @ vectors.T + (likes @ pairs).toarray()
        return np.asarray(scores * boosts)

    return score


def _folds(people: Histories, seed: int) -> Iterator[Fold]:
    rng = np.random.default_rng([seed, 18])
    order = rng.permutation(people.likes.shape[0])
    size = max(min(_MOST, len(order) // _MOST_FOLDS), 1)
    count = min(-(-_ENOUGH // size), _MOST_FOLDS)
    gram = ease.gram_of(people.likes)
    for start, stop in pairwise(range(0, (count + 1) * size, size)):
        rows = np.sort(order[start:stop])
        likes, seen = csr_array(people.likes[rows]), csr_array(people.seen[rows])
        yield gram - ease.gram_of(likes), hold_out_ratings(likes, seen, rng)


def hold_out_ratings(likes: csr_array, seen: csr_array, rng: np.random.Generator) -> HeldOutPeople:
    """Return people, of whose ratings (n, n_items) each is shown with a chance of .8; the likes
    among the others are the held-out likes.
    """
    shown = seen.copy()
    shown.data = (rng.random(shown.nnz) < _SHOWN).astype(np.float64)
    shown.eliminate_zeros()
    shown_likes = csr_array(likes * shown)
    held_out = csr_array(likes - shown_likes)
    held_out.eliminate_zeros()
    return HeldOutPeople(shown_likes, shown, held_out)
