"""The slate for somebody of whom nothing is known. Every figure belongs next to it.

Items in greedy order: the next one is the item that raises the most, over people, the score of the
best item that they have not seen (facility location; the first k are within 1 - 1/e of the best k).
Where everybody has some items already, that is the best of those and of what is chosen. Source:
Sarmasarkar, Jiang, Goel, Korolova, Munagala 2025 (arXiv 2504.07403).

The default items are what a device holds that does not hold all, the same for everybody: first the
items that one would show to anybody, in greedy order, then the most liked: by classes of likes,
since a model does not tell exact counts (`options`), and within a class by the size of the
scoring vector, which the model tells anyway and which grows with likes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from askew.catalog.item import MAX_GENRES, Item
from askew.limits import DEFAULT_BYTES, DEVICE_BYTES, JOINERS, has_few_marks, is_mark, is_visible
from askew_server.ratings import ItemRow
from askew_server.taste.item_vectors import FittedItems
from askew_server.taste.options import like_classes
from askew_server.taste.people import Tastes, fold_in_people, sample_profiles


def catalog_items(keys: tuple[str, ...], rows: Mapping[str, ItemRow]) -> tuple[Item, ...]:
    """Return public items in the order of keys: title, year and genres of their rows, at most 20,
    without what devices refuse: what does not show goes, any space becomes a plain one, "?" where
    nothing is left. An item without a row is "item " and its key, with no year or genre.
    """
    items = []
    for key in keys:
        row = rows.get(key) or ItemRow(f"item {key}", None, ())
        genres = tuple(map(_plain, row.genres[:MAX_GENRES]))
        items.append(Item(_plain(row.title), row.year or None, genres))
    return tuple(items)


def _plain(text: str) -> str:
    """Return the text as every device accepts it: spaces of any kind become one plain space, what
    cannot be shown goes, and all combining marks go where too many are in a row; "?" where nothing
    visible is left.
    """
    kept = "".join(c for c in " ".join(text.split()) if c.isprintable() or c in JOINERS)
    shown = kept if is_visible(kept) else "?"
    return shown if has_few_marks(shown) else "".join(c for c in shown if not is_mark(c)) or "?"


SLATE_LIMIT = 64
_MEASURED_PEOPLE = 2000
_POOL = 1000  # items of the highest total score; no other was ever chosen on the ratings tried
_CHUNK = 4096


def shared_slate(
    tastes: Tastes,
    scoring: NDArray[np.float32],
    rng: np.random.Generator,
    n_held: int = 0,
    *,
    most: int | None = None,
) -> tuple[int, ...]:
    """Return at most 64, or `most`, item ids in the order in which they were chosen, greedily, by
    scoring vectors (n_items, D). n_held: how many items, the first ones, everybody has already; the
    slate is of the others, by what they add.
    """
    limit = SLATE_LIMIT if most is None else most
    tastes = tastes.sample(_MEASURED_PEOPLE, rng)
    best = np.zeros(len(tastes.vectors), dtype=np.float32)
    for items in _chunks(0, n_held):
        best = np.maximum(best, _scores(tastes, scoring, items).max(axis=0))
    totals = [
        np.maximum(_scores(tastes, scoring, items), best).sum(axis=1, dtype=np.float64)
        for items in _chunks(n_held, len(scoring))
    ]
    pool = n_held + np.sort(np.argsort(-np.concatenate(totals), kind="stable")[:_POOL])
    scores = _scores(tastes, scoring, pool)
    chosen: list[int] = []
    while len(chosen) < min(limit, len(pool)):
        reached = np.maximum(scores, best).sum(axis=1, dtype=np.float64)
        reached[chosen] = -np.inf
        chosen.append(int(reached.argmax()))  # of a tie the lower id
        best = np.maximum(best, scores[chosen[-1]])
    return tuple(pool[chosen].tolist())


def _chunks(start: int, end: int) -> Iterator[NDArray[np.int64]]:
    for first in range(start, end, _CHUNK):
        yield np.arange(first, min(first + _CHUNK, end))


def _scores(
    tastes: Tastes, scoring: NDArray[np.float32], items: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return scores of items (n,) for people, (n, n_people), never below 0: 0 where the person has
    seen the item, or where the score would be negative.
    """
    scores = (scoring[items] @ tastes.vectors.T).astype(np.float32)
    scores *= 1 - tastes.people.seen[:, items].toarray().T.astype(np.float32)
    positive: NDArray[np.float32] = np.maximum(scores, 0)
    return positive


_FIRST = 256  # items by the greedy choice, which is as good as all after the first hundred or so
_HEAD = 1 << 16  # bytes left for the card and the shared slate
_SAMPLE = 10_000  # items whose words are measured


def put_default_items_first(
    fitted: FittedItems, rows: Mapping[str, ItemRow]
) -> tuple[FittedItems, int]:
    """Return the items in the order in which devices hold them, and how many of the first are
    default items; where devices hold all, the items in the order they have, and their number.
    """
    items = catalog_items(fitted.keys, rows)
    beside = 0 if fitted.neighbors is None else fitted.neighbors.items.shape[1]
    size = default_size(fitted.options.default_items, items, fitted.vectors.shape[1], beside)
    return fitted if size == len(items) else fitted.in_order(device_order(fitted)), size


def device_order(fitted: FittedItems) -> NDArray[np.int64]:
    """Return item ids (n_items,) in the order in which devices hold them that do not hold all: at
    most 256 by the greedy choice, then as `default_order`.
    """
    options, scoring = fitted.options, fitted.scoring
    profiles = sample_profiles(fitted.people, options.seed)
    tastes = fold_in_people(profiles, fitted.vectors, options.least_likes)
    rng = np.random.default_rng([options.seed, 13])
    first = shared_slate(tastes, scoring, rng, most=_FIRST)
    return default_order(first, fitted.people.likes.sum(axis=0), scoring)


def default_order(
    first: Sequence[int], likes: NDArray[np.number], scoring: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Return all item ids (n_items,): the first ones as they are, then the others by the class of
    their likes (n_items,), a power of four, the most first, and within a class the longest scoring
    vector first.
    """
    order = np.lexsort([-np.linalg.norm(scoring, axis=1), -like_classes(likes)])
    rest = order[~np.isin(order, first)]
    return np.concatenate([np.array(first, dtype=np.int64), rest])


def default_size(
    wanted: int | None, items: Sequence[Item], ranking_dimension: int, neighbors: int = 0
) -> int:
    """Return how many of these items, the first ones, are default items: `wanted`, or all where
    there are fewer; without `wanted` all, where a device holds all in 4 MB with so many neighbors
    an item; else as many as fit in 800 kB, at least one. The bytes of an item are an estimate: the
    exact file is made later.
    """
    if wanted is not None:
        return min(wanted, len(items))
    some = items[:: max(len(items) // _SAMPLE, 1)]  # the first may have shorter words
    words = "\n".join(f"{item.title}\t{item.year}\t{item.genres}" for item in some)
    # Two codes a byte, a boost, and packed words.
    size = (ranking_dimension + 1) // 2 + 1 + len(zlib.compress(words.encode(), 9)) / len(some)
    if _HEAD + (size + 2.5 * neighbors) * len(items) <= DEVICE_BYTES:
        return len(items)
    return max(int((DEFAULT_BYTES - _HEAD) / size), 1)
