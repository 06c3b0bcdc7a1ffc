"""People in place of a prior's, for a forecast on the device: made up from the public catalog.

A server with a prior weighs people whom it may know, and no device has them. So the device makes up
others. It takes up to PEOPLE items, evenly over the catalog, and for each of them makes one person
who likes it and the LIKES - 1 items most like it, and who has seen nothing else. Tastes and points
are what the public model makes of such likes. Two things that a prior knows are missing: how often
each taste occurs, and what else its people have seen. So a forecast with them is an estimate. They
are the same each time, and nobody in particular.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.protocol.model_card import ModelCard
from askew.retrieval import RetrievalRule, SharedSlate
from askew.retrieval.buckets import bucket_rule, labels_of
from askew.retrieval.posterior import PosteriorRule, Prior

PEOPLE = 256
LIKES = 10
_FAVORITES = 32  # of each: what else would they be served?
_AT_ONCE = 8  # people, so that a large catalog is read a few times only
_BLOCK = 64  # items


@dataclass(frozen=True, eq=False)
class StandIns:
    """m made-up people: what rules weigh, and their tastes (m, D)."""

    prior: Prior
    tastes: NDArray[np.float64]


def stand_ins(card: ModelCard, catalog: Catalog, k: int) -> StandIns:
    """The made-up people of a catalog, for at most k results. O(PEOPLE n_items D), a fraction of a
    second. A server decides how many items there are and how long its shared slate is, so a few
    people are scored at a time, and the slate is read only up to k.
    """
    encoder, n, catalog = card.space.encoder, len(catalog), catalog.decoded()
    rows = np.unique(np.linspace(0, n - 1, PEOPLE).astype(np.int64))
    length = np.linalg.norm(catalog.vectors, axis=1, keepdims=True)
    direction = catalog.vectors / np.maximum(length, 1e-12)
    alike = _scored(direction, direction[rows])
    liked = np.stack([_largest(each, LIKES) for each in alike])  # (m, LIKES)
    root = np.sqrt(max(liked.shape[1], encoder.least_likes))  # as in `vectors.fold_in`
    tastes = catalog.vectors[liked].sum(axis=1, dtype=np.float64) / root
    points = encoder.unit * encoder.ranks(
        encoder.contributions(catalog.vectors)[liked].sum(1) / root
    )
    own = tastes.astype(np.float32)
    favorites = [
        _largest(_unseen(found, seen), _FAVORITES)
        for found, seen in zip(_scored(catalog.scoring, own), liked, strict=True)
    ]
    pool = np.union1d(favorites, np.array(catalog.shared_slate[:k], dtype=np.int64))
    scores = np.maximum(catalog.scoring[pool] @ own.T, 0)  # (p, m)
    at = np.minimum(np.searchsorted(pool, liked), len(pool) - 1)
    seen_by, which = np.nonzero(pool[at] == liked)
    scores[at[seen_by, which], seen_by] = 0
    return StandIns(Prior(points, scores, pool, np.ones(len(rows))), tastes)


def posterior_of(card: ModelCard, catalog: Catalog, k: int) -> RetrievalRule:
    """The rule `posterior`, by the exact law of the signal, for the made-up people."""
    return PosteriorRule(stand_ins(card, catalog, k).prior, catalog.shared_slate[:k])


def buckets_of(card: ModelCard, catalog: Catalog, k: int, odds: Fraction) -> RetrievalRule:
    """The rule `buckets`: slates for these odds, as a server makes them for its prior.

    Where the space has no buckets, it is the slate for anybody.
    """
    buckets = card.space.buckets
    if buckets is None:
        return SharedSlate(catalog.shared_slate)
    people, shared = stand_ins(card, catalog, k), catalog.shared_slate[:k]
    label = labels_of(buckets, people.tastes)
    return bucket_rule(people.prior, label, len(buckets), shared, [odds])


def _scored(
    vectors: NDArray[np.float32], tastes: NDArray[np.float32]
) -> Iterator[NDArray[np.float32]]:
    """The products of all vectors (n, D) with each taste (m, D), (n,)."""
    for start in range(0, len(tastes), _AT_ONCE):
        yield from tastes[start : start + _AT_ONCE] @ vectors.T


def _unseen(found: NDArray[np.float32], seen: NDArray[np.int64]) -> NDArray[np.float32]:
    """What one person would like of each item that they have not seen, (n_items,)."""
    scores: NDArray[np.float32] = np.maximum(found, 0)
    scores[seen] = 0
    return scores


def _largest(values: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """The places of the largest values (n,), in no order. Whatever is among them is no less than
    the count-th largest of what blocks have at most.
    """
    most, whole = min(count, len(values)), len(values) // _BLOCK * _BLOCK
    near = np.arange(len(values))
    if whole >= count * _BLOCK:
        tops = values[:whole].reshape(-1, _BLOCK).max(axis=1)
        near = np.flatnonzero(values >= np.partition(tops, -count)[-count])
    found: NDArray[np.int64] = near[np.argpartition(-values[near], most - 1)[:most]]
    return found
