"""A prior as arrays of a model directory, and back with every check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import ArtifactError
from askew.meanings import Meanings
from askew.model_card import ModelCard
from askew_server.prior.people import PriorPeople

# Type and number of dimensions of each array; seen items are in rows, one after the other.
PRIOR_KINDS: dict[str, tuple[np.dtype[Any], int]] = {
    "prior_tastes": (np.dtype(np.float32), 2),
    "prior_points": (np.dtype(np.float64), 2),
    "prior_weights": (np.dtype(np.float64), 1),
    "prior_seen_items": (np.dtype(np.int64), 1),
    "prior_seen_ends": (np.dtype(np.int64), 1),
    "prior_pool": (np.dtype(np.int64), 1),
}
NAMED = "prior_named"  # of those who name slates
Arrays = Mapping[str, NDArray[Any]]


def arrays_of_prior(people: PriorPeople, pool: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The arrays of a prior. The same people make the same arrays. pool: of the model's catalog,
    since finding it takes far longer than a server should to start.
    """
    seen = csr_array(people.seen, copy=True)
    seen.sort_indices()
    named = {} if people.named is None else {NAMED: people.named}
    return named | {
        "prior_tastes": people.tastes,
        "prior_points": people.points,
        "prior_weights": people.weights,
        "prior_seen_items": seen.indices.astype(np.int64),
        "prior_seen_ends": seen.indptr[1:].astype(np.int64),
        "prior_pool": pool,
    }


def prior_of_arrays(arrays: Arrays, card: ModelCard) -> PriorPeople | None:
    """The prior of a model, or None. Raises ArtifactError, or OutOfRange as `PriorPeople`."""
    given = [name for name in PRIOR_KINDS if name in arrays]
    if not given:
        if card.rule.kind.needs_prior:
            raise ArtifactError("the card names a rule that weighs a prior, and there is none")
        return None
    if len(given) < len(PRIOR_KINDS):
        raise ArtifactError("a prior lacks some of its arrays")
    tastes, points, weights, items, ends, pool = (arrays[name] for name in PRIOR_KINDS)
    m = len(tastes)
    starts = np.concatenate([[0], ends])
    if tastes.shape[1] != card.space.ranking_dimension or points.shape[1] != card.space.dimension:
        raise ArtifactError("the prior has another dimension than the space")
    if len(ends) != m or starts[-1] != len(items) or (np.diff(starts) < 0).any():
        raise ArtifactError("the rows of a prior's seen items do not fit together")
    if items.size and not 0 <= items.min() <= items.max() < card.n_items:
        raise ArtifactError("a prior has seen items that the catalog does not have")
    _check_pool(pool, arrays["shared_slate"], card)
    seen = csr_array((np.ones(len(items)), items, starts), shape=(m, card.n_items))
    named = arrays.get(NAMED)
    if (named is not None) != isinstance(card.space.buckets, Meanings):
        raise ArtifactError("a prior names slates where the space means some, and nowhere else")
    if named is not None and (len(named) != m or not _below(named, card.space.n_buckets)):
        raise ArtifactError("a prior names slates that the space does not have")
    return PriorPeople(tastes, points, seen, weights, card.rule.prior, named, pool)


def _check_pool(pool: NDArray[np.int64], shared: NDArray[np.int64], card: ModelCard) -> None:
    within = pool.size and card.n_held <= pool[0] <= pool[-1] < card.n_items
    if not within or (np.diff(pool) <= 0).any() or not np.isin(shared, pool).all():
        raise ArtifactError(
            "the pool of a prior is not of its catalog, or lacks what all are shown"
        )


def _below(named: NDArray[np.int64], count: int) -> bool:
    return bool(((named >= 0) & (named < count)).all())
