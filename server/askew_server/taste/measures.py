"""How well a ranking meets what people liked and did not show, person by person.

    NDCG@10    sum over ranks r = 1..10 of liked_r / log2(r + 1), over that sum of the best order
    recall@20  how many of the first 20 were liked, over how many there could be: at most 20

Both are of likes that were held out: neither a model nor a device has seen them. Items that a
person has seen are not ranked. Where nothing liked was held out, nothing is known of a person: nan.
A ranking is items, best first, (n, r), and NOTHING where it has no more. It may be shorter than 20:
then what is missing is missed.

Sources: Jarvelin and Kekalainen 2002 (NDCG), with likes of equal worth; Liang, Krishnan, Hoffman,
Jebara 2018 (recall@20 so).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtr, stdtrit

NDCG_DEPTH, RECALL_DEPTH = 10, 20
NOTHING = -1
"""In place of an item, where a ranking has no more."""

Gains = NDArray[np.float64]
Items = NDArray[np.int64]
Scorer = Callable[[csr_array], NDArray[np.floating]]
"""Scores of all items (n, n_items) for people of these likes, sparse (n, n_items)."""

_STANDARD_ERRORS = 2
_AT_ONCE = 1 << 22  # scores: 32 MiB


@dataclass(frozen=True)
class Estimate:
    """A mean with the standard error of that mean."""

    mean: float
    error: float


def mean_of(values: Gains) -> Estimate:
    """The mean of what is known, and its standard error."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Estimate(float("nan"), float("nan"))
    return Estimate(float(known.mean()), float(known.std() / np.sqrt(len(known))))


def is_clear(gain: Estimate, n: int) -> bool:
    """Return True if the gain of n people is above what chance makes of nothing, by Student's law:
    twice its standard error of many, 2.1 times of forty; of one person nothing is clear.
    """
    if n < 2:
        return False
    needed = stdtrit(n - 1, ndtr(_STANDARD_ERRORS)) * math.sqrt(n / (n - 1))
    return bool(gain.mean > needed * gain.error)


@dataclass(frozen=True, eq=False)
class Met:
    """What people got of what they liked, (n,) each; nan where nobody knows."""

    ndcg: Gains = field(repr=False)
    recall: Gains = field(repr=False)

    @classmethod
    def by(cls, ranked: Items, liked: csr_array) -> Met:
        """By rankings (n, r); liked: held out, (n, n_items) of ones."""
        hits = np.zeros(ranked.shape)
        for column, items in enumerate(ranked.T):
            found = liked[np.arange(len(ranked)), np.maximum(items, 0)]
            hits[:, column] = np.asarray(found).ravel() if len(ranked) else 0
        hits[ranked == NOTHING] = 0
        n_liked = np.diff(liked.indptr)
        known = np.where(n_liked > 0, 1.0, np.nan)
        recall = hits[:, :RECALL_DEPTH].sum(axis=1) / np.clip(n_liked, 1, RECALL_DEPTH)
        return cls(ndcg_of(hits[:, :NDCG_DEPTH], n_liked, NDCG_DEPTH) * known, recall * known)


def ndcg_of(hits: Gains, n_liked: NDArray[np.integer], depth: int) -> Gains:
    """NDCG of rankings, of which hits (n, r) says what was liked, against the best order of as many
    as `depth` of all that was liked.
    """
    discounts = 1.0 / np.log2(np.arange(2, depth + 2))
    ideal = np.concatenate([[1.0], np.cumsum(discounts)])[np.minimum(n_liked, depth)]
    result: Gains = hits @ discounts[: hits.shape[1]] / ideal
    return result


def best_first(scores: NDArray[np.floating], items: Items, depth: int = RECALL_DEPTH) -> Items:
    """The best of these items for each person by scores (n, m), ties to the lower item, (n, r).

    items: (m,), or (n, m) of each person's own, NOTHING where there is none. A score of -inf is of
    an item that is not to be ranked.
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
    ranked, reached = np.take_along_axis(own, order, axis=1), np.take_along_axis(scores, order, 1)
    found: Items = np.where((reached > -np.inf) & (ranked >= 0), ranked, NOTHING)
    return found


@dataclass(frozen=True, eq=False)
class Profiles:
    """People whom nothing was trained on: what their devices know, and what was held out; sparse
    (n, n_items) of ones each.
    """

    likes: csr_array = field(repr=False)
    seen: csr_array = field(repr=False)
    liked: csr_array = field(repr=False)

    def __len__(self) -> int:
        """The number n of people."""
        return self.seen.shape[0]

    def only(self, rows: NDArray[np.int64]) -> Profiles:
        """Some of them."""
        return Profiles(*(csr_array(part[rows]) for part in (self.likes, self.seen, self.liked)))

    def ranked(self, scorer: Scorer, items: Items | None = None) -> Items:
        """The best unseen of all items, of these (m,), or of each person's own (n, m), NOTHING
        where there is none, (n, r).
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
            found = np.take_along_axis(scores, places, axis=1)
            parts.append(best_first(np.where(own == NOTHING, -np.inf, found), own))
        return np.concatenate(parts)

    def met(self, scorer: Scorer, items: Items | None = None) -> Met:
        """What they get by these scores, of all items or of these (`ranked`)."""
        return Met.by(self.ranked(scorer, items), self.liked)
