"""How well rankings meet likes that were held out, person by person.

    NDCG@10    sum over ranks r = 1..10 of liked_r / log2(r + 1), over that sum of the best order
    recall@20  likes among the first 20, over the most that there could be: at most 20

Neither a model nor a device has seen the held-out likes. Items that a person has seen are not
ranked. Both are nan for a person without held-out likes. A ranking is items, best first, (n, r),
and NOTHING where it has no more; one that is shorter than 20 misses what it lacks.

Sources: Jarvelin and Kekalainen 2002 (NDCG), with likes of equal worth; Liang, Krishnan, Hoffman,
Jebara 2018 (recall@20 so).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

NDCG_DEPTH, RECALL_DEPTH = 10, 20
NOTHING = -1

Gains = NDArray[np.float64]
Items = NDArray[np.int64]
Scorer = Callable[[csr_array], NDArray[np.floating]]
"""Scores of all items (n, n_items) for people of these likes, sparse (n, n_items)."""

_AT_ONCE = 1 << 22  # scores: 32 MiB


@dataclass(frozen=True)
class Estimate:
    """A mean with the standard error of that mean."""

    mean: float
    error: float


def mean_with_error(values: Gains) -> Estimate:
    """Return the Estimate of the values that are not nan: `mean`, and `error`, their standard
    deviation (over n, not n - 1) over sqrt(n); both nan where no value is left.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return Estimate(float("nan"), float("nan"))
    return Estimate(float(values.mean()), float(values.std() / np.sqrt(len(values))))


@dataclass(frozen=True, eq=False)
class Accuracy:
    """NDCG@10 and recall@20 of people, (n,) each; nan for people without held-out likes."""

    ndcg: Gains = field(repr=False)
    recall: Gains = field(repr=False)


def evaluate_rankings(rankings: Items, held_out: csr_array) -> Accuracy:
    """Return the Accuracy, `ndcg` at 10 and `recall` at 20 (likes among the first 20 over all, of
    which at most 20 count), (n,) each, of rankings (n, r), items best first, by held-out likes,
    (n, n_items) of ones; nan for a person without held-out likes.
    """
    hits: Gains = np.zeros(rankings.shape)
    for rank, items in enumerate(rankings.T if len(rankings) else ()):
        hits[:, rank] = np.ravel(held_out[np.arange(len(rankings)), np.maximum(items, 0)])
    hits[rankings == NOTHING] = 0
    n_liked = np.diff(held_out.indptr)
    unknown = np.where(n_liked > 0, 1.0, np.nan)
    discounts = 1.0 / np.log2(np.arange(2, NDCG_DEPTH + 2))
    best = np.concatenate([[1.0], np.cumsum(discounts)])[np.minimum(n_liked, NDCG_DEPTH)]
    gained: Gains = hits[:, :NDCG_DEPTH] @ discounts[: hits.shape[1]]
    recall = hits[:, :RECALL_DEPTH].sum(axis=1) / np.clip(n_liked, 1, RECALL_DEPTH)
    return Accuracy(gained / best * unknown, recall * unknown)


def rank_items(scores: NDArray[np.floating], items: Items, depth: int = RECALL_DEPTH) -> Items:
    """Return for each person the items of the highest scores (n, m), the best first, ties to the
    lower item: (n, r), with r the smaller of depth, by default 20, and m.

    items: what the columns of the scores are, (m,), or (n, m) where each person has others. An item
    with a score of -inf is not ranked: NOTHING, -1, stands at the end of that row instead. Where
    `items` have NOTHING themselves, the score must be -inf.
    """
    own = np.broadcast_to(items, scores.shape)
    if scores.shape[1] > 4 * depth:  # sorting all of a catalog would take most of the time
        least = np.partition(scores, -depth, axis=1)[:, [-depth]]
        most = int((scores >= least).sum(axis=1).max())  # ties
        if most <= 2 * depth:
            some = np.argpartition(-scores, most - 1, axis=1)[:, :most]
            scores = np.take_along_axis(scores, some, axis=1)
            own = np.take_along_axis(own, some, axis=1)
    order = np.lexsort((own, -scores), axis=1)[:, :depth]
    best, reached = np.take_along_axis(own, order, axis=1), np.take_along_axis(scores, order, 1)
    rankings: Items = np.where((reached > -np.inf) & (best >= 0), best, NOTHING)
    return rankings


@dataclass(frozen=True, eq=False)
class HeldOutPeople:
    """People whom nothing was trained on: what their devices know, likes and seen, and the likes
    that were held out; sparse (n, n_items) of ones each.
    """

    likes: csr_array = field(repr=False)
    seen: csr_array = field(repr=False)
    held_out: csr_array = field(repr=False)

    def __len__(self) -> int:
        """Return the number of people."""
        return self.seen.shape[0]

    def rank(self, scorer: Scorer, items: Items | None = None) -> Items:
        """Return for each person the at most 20 unseen items of the highest scores, the best first,
        (n, r), NOTHING (-1) where there are no more: of all items, of `items` (m,), or of each
        person's own (n, m), which have NOTHING where there is none.
        """
        n_items = self.seen.shape[1]
        wanted = np.arange(n_items) if items is None else np.asarray(items, dtype=np.int64)
        size = max(_AT_ONCE // n_items, 1)
        parts = [np.empty((0, min(wanted.shape[-1], RECALL_DEPTH)), np.int64)]
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            scores = np.array(scorer(csr_array(self.likes[rows])), dtype=np.float64)
            scores[self.seen[rows].toarray() > 0] = -np.inf
            own = wanted if wanted.ndim == 1 else wanted[rows]
            places = np.broadcast_to(np.maximum(own, 0), (len(scores), wanted.shape[-1]))
            of_own = np.take_along_axis(scores, places, axis=1)
            parts.append(rank_items(np.where(own == NOTHING, -np.inf, of_own), own))
        return np.concatenate(parts)

    def evaluate(self, scorer: Scorer, items: Items | None = None) -> Accuracy:
        """Return the Accuracy, `ndcg` at 10 and `recall` at 20, (n,) each, of these people's unseen
        items ranked by the scores of `scorer`: of all items, or of `items` as in `rank`; nan for a
        person without held-out likes.
        """
        return evaluate_rankings(self.rank(scorer, items), self.held_out)
