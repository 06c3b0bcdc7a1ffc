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
out, and what they then meet is NDCG@10 + recall@20 (`taste.measures`). Few people make a noisy
choice, so several fifths take turns until there are about `_ENOUGH`. The most liked items stand for
all of a large catalog: G of those is a part of G, and the same penalty suits both.

Nothing here is told but what was chosen; figures of a model are of other people, who chose nothing
(`model.held_out`). The dealing is by the seed, and protects nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.taste.measures import Profiles, Scorer
from askew_server.taste.training import ease
from askew_server.taste.training.factors import Histories
from askew_server.taste.training.options import TrainingOptions

RANK = 64
ITEM_BYTES = 66
_MOST, _ENOUGH, _MOST_FOLDS = 1000, 600, 5
_FEWER = 2000  # the most liked items, which stand for all of a large catalog
_SHOWN = 0.8  # of each person's ratings
Fold = tuple[NDArray[np.float64], Profiles]  # G without some people, and those people
_FIRST, _LEAST, _LARGEST = 100.0, 0.5, 1e5


def neighbors_beside(rank: int) -> int:
    """How many residual neighbors there is room for beside vectors of this rank and a boost."""
    return max(min((ITEM_BYTES - (rank + 1) // 2 - 1) * 2 // 5, 13), 0)


@dataclass(frozen=True)
class Design:
    """What a model is fitted by. neighbors: of each item, at most."""

    penalty: float
    rank: int
    neighbors: int

    def of(self, options: TrainingOptions) -> TrainingOptions:
        """Return the options with nothing of the design left open."""
        penalty, rank, neighbors = self.penalty, self.rank, self.neighbors
        return replace(options, penalty=penalty, ranking_dimension=rank, neighbors=neighbors)


def tuned(people: Histories, options: TrainingOptions) -> Design:
    """What the options leave open of a design; of no higher rank than the likes fill."""
    dense, most = people.likes.shape[1] <= ease.DENSE_ITEMS, min(people.likes.shape) - 1
    rank = min(options.ranking_dimension or RANK, most)
    counts = _counts(options, rank if dense else None)
    penalty = options.penalty
    if penalty is None:
        folds = list(_folds(_most_liked(people, _FEWER), options.seed))
        penalty = _penalty(folds, rank, counts[0])
    if len(counts) == 1:
        return Design(penalty, rank, counts[0])
    folds = list(_folds(people, options.seed))
    return Design(penalty, rank, counts[int(np.argmax(_reached(folds, penalty, rank, counts)))])


def learned(likes: csr_array, design: Design) -> ease.Factors:
    """The factors of likes (n_people, n_items) by a design."""
    if likes.shape[1] > ease.DENSE_ITEMS:
        return ease.fit_sparse(likes, design.penalty, design.rank)
    return ease.fit(ease.gram_of(likes), design.penalty, design.rank)


def _counts(options: TrainingOptions, rank: int | None) -> tuple[int, ...]:
    """How many neighbors to try beside a rank: none where there is no P to take them of."""
    if rank is None:
        return (0,)
    if options.neighbors is not None:
        return (options.neighbors,)
    return tuple(dict.fromkeys((0, neighbors_beside(rank))))


def _penalty(folds: Sequence[Fold], rank: int, count: int) -> float:
    """The penalty that is best for a rank and so many neighbors."""
    penalty, reached = _FIRST, _reached(folds, _FIRST, rank, [count])[0]
    for step in (0.5, 2.0):
        while _LEAST < penalty * step < _LARGEST:
            found = _reached(folds, penalty * step, rank, [count])[0]
            if not found > reached:
                break
            penalty, reached = penalty * step, found
    return penalty


def _reached(
    folds: Sequence[Fold], penalty: float, rank: int, counts: Sequence[int]
) -> NDArray[np.float64]:
    """NDCG@10 + recall@20 with so many neighbors, (counts,), in mean over everybody held out."""
    totals, known = np.zeros(len(counts)), 0
    for gram, people in folds:
        inverse = ease.inverse_of(gram, penalty)
        most = min(rank, len(inverse) - 1)
        factors = ease.factors_of(gram.__matmul__, np.diag(inverse), penalty, most)
        for at, count in enumerate(counts):
            pairs = ease.residual(inverse, factors.scale, factors.vectors, count)
            scorer = scored(factors.vectors, factors.boosts, pairs.matrix(len(inverse)))
            met = people.met(scorer)
            totals[at] += np.nansum(met.ndcg) + np.nansum(met.recall)
        known += int((~np.isnan(met.ndcg)).sum())
    mean: NDArray[np.float64] = totals / max(known, 1)
    return mean


def scored(vectors: NDArray[np.floating], boosts: NDArray[np.floating], pairs: csr_array) -> Scorer:
    """Scores by the sum of liked items' vectors, and by the neighbors of what is liked."""

    def scores(people: csr_array) -> NDArray[np.floating]:
        found = (people @ vectors) @ vectors.T + (people @ pairs).toarray()
        return np.asarray(found * boosts)

    return scores


def _most_liked(people: Histories, most: int) -> Histories:
    """The likes and ratings of so many items, the most liked."""
    if people.likes.shape[1] <= most:
        return people
    kept = np.sort(np.argsort(-np.asarray(people.likes.sum(axis=0)), kind="stable")[:most])
    return Histories(people.likes[:, kept], people.seen[:, kept])


def _folds(people: Histories, seed: int) -> Iterator[Fold]:
    """People left out in turn, and G of the others."""
    rng = np.random.default_rng([seed, 18])
    order = rng.permutation(people.likes.shape[0])
    size = max(min(_MOST, len(order) // _MOST_FOLDS), 1)
    count = min(-(-_ENOUGH // size), _MOST_FOLDS)
    gram = ease.gram_of(people.likes)
    for start, stop in pairwise(range(0, (count + 1) * size, size)):
        rows = np.sort(order[start:stop])
        likes, seen = csr_array(people.likes[rows]), csr_array(people.seen[rows])
        without = gram - ease.gram_of(likes)
        yield without, profiles(likes, seen, rng)


def profiles(likes: csr_array, seen: csr_array, rng: np.random.Generator) -> Profiles:
    """People of whose ratings some are held out."""
    shown = seen.copy()
    shown.data = (rng.random(shown.nnz) < _SHOWN).astype(np.float64)
    shown.eliminate_zeros()
    told = csr_array(likes * shown)
    held = csr_array(likes - told)
    held.eliminate_zeros()
    return Profiles(told, shown, held)
