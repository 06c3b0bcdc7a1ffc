"""Scores, slates, and the choice within one. Higher is better; a tie goes to the lower item id.

score of item i for a taste u = <u, x_i>,    x_i = boost_i * v_i

where every item is held, and what neighbors of liked items add (`askew.catalog.catalog`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.catalog.item import Item
from askew.errors import OutOfRange
from askew.spaces.vectors import Profile

_AT_ONCE = 4096  # items


@dataclass(frozen=True, eq=False)
class Slate:
    """The k results: item ids in ascending order, so that their order says nothing.

    Items come whole: items, their vectors (k, D) float32 and boosts (k,). Raises OutOfRange unless
    the ids are distinct and ascending, the vectors finite, and all parts as many.
    """

    catalog_version: str
    item_ids: tuple[int, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)
    items: tuple[Item, ...] = field(default=(), repr=False)

    @classmethod
    def of_catalog(cls, catalog: Catalog, item_ids: Sequence[int]) -> Slate:
        """Return the slate of these items of a catalog, with vectors and boosts. Raises OutOfRange
        unless the ids are distinct and ascending.
        """
        rows, items = list(item_ids), tuple([catalog.items[item] for item in item_ids])
        vectors, boosts = catalog.vectors[rows], catalog.boosts[rows]
        return cls(catalog.version, tuple(item_ids), vectors, boosts, items)

    def __post_init__(self) -> None:
        k = len(self.item_ids)
        if list(self.item_ids) != sorted(set(self.item_ids)):
            raise OutOfRange("the item ids of a slate", "distinct and ascending")
        if not np.isfinite(self.vectors).all() or (len(self.vectors), len(self.boosts)) != (k, k):
            raise OutOfRange("the vectors of a slate", "finite, one for each item")
        if len(self.items) not in {0, k}:
            raise OutOfRange("the items of a slate", "one for each id, or none")

    @property
    def scoring(self) -> NDArray[np.float32]:
        """Return boost_i * v_i, (k, D): what a taste is multiplied with to rank."""
        scoring: NDArray[np.float32] = self.vectors * self.boosts[:, None]
        return scoring


def scores(taste: NDArray[np.float64], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the product of every vector (n, D) with a taste (D,), shape (n,)."""
    return np.asarray(vectors @ taste)


def best(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return the indices of the `count` highest scores, best first, ties to the lower index."""
    return np.argsort(-values, kind="stable")[:count]


@dataclass(frozen=True)
class Ranking:
    """A slate as one person sees it: item ids from best to worst, and their scores. Private.

    What the person has seen stands behind all else, in the same order.
    """

    order: tuple[int, ...] = field(repr=False)
    scores: Mapping[int, float] = field(repr=False)

    @property
    def best(self) -> int:
        """Return the first id of the order: the best item that the person has not seen, if any."""
        return self.order[0]


def rank_all(catalog: Catalog, profile: Profile, count: int, *, seen: Set[int]) -> Ranking:
    """Return the ranking of the `count` best items of a catalog that this person has not seen, of
    equal scores the lower item first; where there are fewer, the best seen ones fill it up, last.

    A score is by the taste and the neighbors of liked items. With a taste of zeros, as without
    likes, the catalog's shared slate comes first, in its order. O(n_items (D + log n_items)).
    """
    values = _best_of_all(catalog, profile, count + len(seen))
    order = list(values)  # so many have `count` that are not seen
    if not profile.taste.any():  # which scores nothing, wherever it stands
        order = list(dict.fromkeys([*catalog.shared_slate, *order]))
    top = [item for item in order if item not in seen][:count]
    top += [item for item in order if item in seen][: count - len(top)]
    return Ranking(tuple(top), {item: values.get(item, 0.0) for item in top})


def _best_of_all(catalog: Catalog, profile: Profile, count: int) -> dict[int, float]:
    # Some at a time: of a million, as float64, the scores and their order take as much memory as
    # all that is held of their vectors.
    rows, items, values = catalog.scoring, np.empty(0, np.int64), np.empty(0)
    beside = np.empty(0)  # what neighbors of liked items add to the first items
    if catalog.neighbors is not None:
        by_likes = catalog.neighbors.by_likes(profile.liked)
        beside = by_likes * catalog.boosts[: len(by_likes)] / profile.divisor
    for at in range(0, len(rows), _AT_ONCE):
        part = scores(profile.taste, rows[at : at + _AT_ONCE])
        more = beside[at : at + _AT_ONCE]
        part[: len(more)] += more
        items, values = np.append(items, np.arange(at, at + len(part))), np.append(values, part)
        kept = best(values, count)  # of a tie the lower item stays in front
        items, values = items[kept], values[kept]
    return dict(zip(items.tolist(), values.tolist(), strict=True))
