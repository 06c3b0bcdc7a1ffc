"""The starter items: what a device holds that does not hold all, the same for everybody.

First the items that one would show to anybody, in greedy order, then the most liked: by classes of
likes, since a model does not tell exact counts (`training.disclosure`), and within a class by the
size of the scoring vector, which the model tells anyway and which grows with likes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.break_even import DEVICE_BYTES, STARTER_BYTES
from askew.item import Item
from askew_server.model.catalog_items import boosts_of, items_of
from askew_server.model.shared_slate import shared_slate
from askew_server.ratings import ItemRow
from askew_server.training.disclosure import like_classes
from askew_server.training.factors import fold_in_people, snapshot
from askew_server.training.item_vectors import Expressed

_FIRST = 256  # items by the greedy choice, which is as good as all after the first hundred or so
_HEAD = 1 << 16  # bytes left for the card and the shared slate
_SAMPLE = 10_000  # items whose words are measured


def starter_first(told: Expressed, rows: Mapping[str, ItemRow]) -> tuple[Expressed, int]:
    """The items in the order in which devices hold them, and how many are starter items; as they
    are where devices hold all.
    """
    options = told.options
    items, likes = items_of(told.keys, rows), told.people.likes
    size = starter_size(options.starter, items, told.vectors.shape[1])
    if size == len(items):
        return told, size
    profiles = snapshot(told.people, options.seed)
    tastes = fold_in_people(profiles, told.vectors, options.least_likes)
    scoring = told.vectors * boosts_of(likes, options.boost_exponent)[:, None]
    rng = np.random.default_rng([options.seed, 13])
    first = shared_slate(tastes, scoring, rng, most=_FIRST)
    order = starter_order(first, likes.sum(axis=0), scoring)
    return told.in_order(order), size


def starter_order(
    first: Sequence[int], likes: NDArray[np.number], scoring: NDArray[np.float32]
) -> NDArray[np.int64]:
    """All items (n_items,), those that devices should hold first. first: the greedy order of some,
    likes: of each.
    """
    order = np.lexsort([-np.linalg.norm(scoring, axis=1), -like_classes(likes)])
    rest = order[~np.isin(order, first)]
    return np.concatenate([np.array(first, dtype=np.int64), rest])


def starter_size(wanted: int | None, items: Sequence[Item], ranking_dimension: int) -> int:
    """How many of these items, in their order, are starter items: all, where a device holds all;
    else as many as were asked for, or as fit. Their exact file is made later.
    """
    if wanted is not None:
        return min(wanted, len(items))
    each = bytes_of_an_item(items, ranking_dimension)
    if _HEAD + each * len(items) <= DEVICE_BYTES:
        return len(items)
    return max(int((STARTER_BYTES - _HEAD) / each), 1)


def bytes_of_an_item(items: Sequence[Item], ranking_dimension: int) -> float:
    """About how many bytes an item has in a held file: codes, a boost, and packed words."""
    some = items[:: max(len(items) // _SAMPLE, 1)]  # the first may have shorter words
    words = "\n".join(f"{item.title}\t{item.year}\t{item.genres}" for item in some)
    return (ranking_dimension + 1) // 2 + 1 + len(zlib.compress(words.encode(), 9)) / len(some)
