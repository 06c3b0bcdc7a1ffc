"""People in place of a prior's, for a forecast on the device: made up from the public catalog.

A server with a prior weighs people whom it may know, and no device has them. So the device makes up
others: for each of up to PEOPLE items, evenly over the catalog, one who likes it and the LIKES - 1
items most like it, and has seen those. Tastes and points are what the public model makes of such
likes. What they lack of the prior: how often its tastes occur, and what else its people have seen;
so a forecast with them is an estimate. Deterministic, and nobody in particular.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.model_card import Catalog, ModelCard
from askew.placement import RetrievalRule, SharedSlate
from askew.placement.bucket_rule import BucketRule, labels_of, slates_of
from askew.placement.posterior import PosteriorRule, Prior
from askew.randomized_response import RandomizedResponse

PEOPLE = 256
LIKES = 10
_FAVORITES = 64  # of each: what else would they be served?


@dataclass(frozen=True, eq=False)
class StandIns:
    """m made-up people: what rules weigh, and their tastes (m, D)."""

    prior: Prior
    tastes: NDArray[np.float64]


def stand_ins(card: ModelCard, catalog: Catalog) -> StandIns:
    """The made-up people of a catalog. O(PEOPLE n_items D), a fraction of a second."""
    encoder, n = card.space.encoder, len(catalog)
    rows = np.unique(np.linspace(0, n - 1, PEOPLE).astype(np.int64))
    length = np.linalg.norm(catalog.vectors, axis=1, keepdims=True)
    direction = catalog.vectors / np.maximum(length, 1e-12)
    liked = _largest(direction[rows] @ direction.T, LIKES)  # (m, LIKES)
    root = np.sqrt(max(liked.shape[1], encoder.least_likes))  # as in `vectors.fold_in`
    tastes = catalog.vectors[liked].sum(axis=1, dtype=np.float64) / root
    points = encoder.unit * encoder.ranks(
        encoder.contributions(catalog.vectors)[liked].sum(1) / root
    )
    scores = np.maximum(tastes.astype(np.float32) @ catalog.scoring.T, 0)  # (m, n_items)
    scores[np.arange(len(rows))[:, None], liked] = 0
    shared = np.array(catalog.shared_slate, dtype=np.int64)
    pool = np.union1d(_largest(scores, _FAVORITES), shared)
    return StandIns(Prior(points, scores[:, pool].T, pool, np.ones(len(rows))), tastes)


def posterior_of(card: ModelCard, catalog: Catalog) -> RetrievalRule:
    """The rule `posterior`, by the exact law of the signal, for the made-up people."""
    return PosteriorRule(stand_ins(card, catalog).prior, catalog.shared_slate)


def buckets_of(card: ModelCard, catalog: Catalog) -> RetrievalRule:
    """The rule `buckets`: slates made at the card's epsilon, as a server makes them for its prior.

    Anybody's slate where the space has no buckets.
    """
    buckets, people = card.space.buckets, stand_ins(card, catalog)
    if buckets is None:
        return SharedSlate(catalog.shared_slate)
    response = RandomizedResponse.for_epsilon(len(buckets), Fraction(card.rule.epsilon))
    most = min(card.max_slate_size, len(people.prior.items))
    label = labels_of(buckets, people.tastes)
    return BucketRule(people.prior.items[slates_of(label, people.prior.scores, response, most)])


def _largest(values: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """The columns of the largest values of each row, in no order."""
    most = min(count, values.shape[1])
    found: NDArray[np.int64] = np.argpartition(-values, most - 1, axis=1)[:, :most]
    return found
