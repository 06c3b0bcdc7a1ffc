"""The slates of buckets as arrays of a model directory, and back with every check.

Choosing them takes far longer than a server should to start, and what they are chosen for, the
people and the catalog, is in the same directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import ArtifactError
from askew.model_card import ModelCard
from askew.retrieval.buckets import BucketRule

# Type and number of dimensions of each array, in the order of `BucketRule`.
SLATE_KINDS: dict[str, tuple[np.dtype[Any], int]] = {
    "bucket_slates": (np.dtype(np.int64), 3),
    "bucket_own_worth": (np.dtype(np.float64), 3),
    "bucket_general_worth": (np.dtype(np.float64), 3),
    "bucket_masses": (np.dtype(np.float64), 1),
}
Arrays = Mapping[str, NDArray[Any]]


def arrays_of_slates(rule: BucketRule) -> dict[str, NDArray[Any]]:
    """The arrays of a rule. Equal rules make equal arrays."""
    return dict(zip(SLATE_KINDS, rule.arrays, strict=True))


def slates_of_arrays(arrays: Arrays, card: ModelCard) -> BucketRule | None:
    """The rule for the buckets of a card, or None. Raises ArtifactError for anything else."""
    given = [name for name in SLATE_KINDS if name in arrays]
    expected = card.space.n_buckets > 0 and "prior_tastes" in arrays
    if len(given) != (len(SLATE_KINDS) if expected else 0):
        raise ArtifactError("slates of buckets are there with a prior and buckets, and only then")
    if not expected:
        return None
    orders, own, general, masses = (arrays[name] for name in SLATE_KINDS)
    versions, buckets, most = orders.shape
    if (buckets, own.shape, general.shape) != (card.space.n_buckets, orders.shape, orders.shape):
        raise ArtifactError("the slates of buckets do not fit together")
    if not versions or most < card.max_slate_size or masses.shape != (buckets,):
        raise ArtifactError("the slates of buckets do not fit their card")
    ascending = np.sort(orders, axis=2)
    if not orders.size or ascending.min() < card.n_held or ascending.max() >= card.n_items:
        raise ArtifactError("slates of buckets have items that the catalog does not have")
    if (np.diff(ascending, axis=2) <= 0).any():
        raise ArtifactError("a slate of a bucket has an item twice")
    if not all(np.isfinite(each).all() for each in (own, general, masses)):
        raise ArtifactError("the worth of slates of buckets must be finite")
    if (masses < 0).any():  # by which shares of senders are divided
        raise ArtifactError("the masses of buckets must be at least 0")
    return BucketRule(orders, own, general, masses)
