"""The starter items: what a device holds that does not hold all, the same for everybody.

First the items that one would show to anybody, in greedy order, then the most liked: by classes of
likes, since a model does not tell exact counts (`training.disclosure`), and within a class by the
size of the scoring vector, which the model tells anyway and which grows with likes.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askew.break_even import DEVICE_BYTES, STARTER_BYTES
from askew.model_card import Item
from askew_server.training.disclosure import like_classes

_HEAD = 1 << 16  # bytes left for the card and the shared slate
_SAMPLE = 10_000  # items whose words are measured


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
    some = items[:_SAMPLE]
    words = "\n".join(f"{item.title}\t{item.year}\t{item.genres}" for item in some)
    return (ranking_dimension + 1) // 2 + 1 + len(zlib.compress(words.encode(), 9)) / len(some)
