"""Vectors of another model, turned into vectors that a device can fold likes in with.

A device knows item vectors w_i and its person's likes S, and nothing else of the model that made
them. It ranks item j by <sum of w_i over S, w_j>, up to a factor. With

    w_i = (V^T V + m I)^(-1/2) v_i,    m the mean eigenvalue of V^T V,

<sum w_i, w_j> = <u, v_j> for u = (V^T V + m I)^-1 sum of v_i over S. So the device folds a person
into the vectors v by ridge regression on what they like, as models that factorize a table fold
people in, and popular directions count less.

Ranks do not depend on the length unit of V: vectors are divided by their largest coordinate first,
so that any geometry of dot products is within a device's limits. A rotation would change no score,
and was tried before rounding to 4 bits: along principal axes the ratio was .991, .994 and .994
(SVD, ALS, BPR of MovieLens 1M) instead of .993, .994 and .999. So coordinates stay where they are:
the square root is the symmetric one.
Complexity: O(n D^2). Source: fold-in, Hu, Koren, Volinsky 2008, with all weights equal.

Histories of likes, SIMULATED from vectors: a space and its ranks are fitted to people's likes,
and vectors come without any.

    with user vectors     u one of them, the score of item i is s_i = <u, v_i> in their geometry
    without               u = w_a, the vector of one item a, drawn with odds |w_a|^2, and
                          s_i = <u, w_i> as devices score
    length                n log-uniform from 20 to 150, at most half of the items
    likes                 n items without replacement, the next one i with odds
                          exp(s_i / (0.3 * the standard deviation of s)): Gumbel top-n

Long vectors are those of much liked items in most models, hence the odds. On MovieLens 1M, with
vectors of ALS, BPR and SVD, the first row's histories gave spaces nearest to those of real people
among three temperatures, and the second row's among twelve ways to draw.
numpy's generator: this is simulation, and it protects nobody.

Training gets the vectors by the keys of their items, and the histories as ratings.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from askew.errors import DataError
from askew.spaces.vectors import RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.ratings.reader import key_order


def whiten_vectors(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return vectors (n, D), not centered, whose Gram matrix has the eigenvalues l / (l + mean l),
    all below 1: l are those of the vectors divided by their largest coordinate.
    """
    scaled = vectors / np.abs(vectors).max()
    values, axes = np.linalg.eigh(scaled.T @ scaled)
    kept = np.maximum(values, 0.0)
    whitened: NDArray[np.float64] = scaled @ (axes / np.sqrt(kept + kept.mean())) @ axes.T
    return whitened.astype(np.float32)


MADE_UP = 2000  # people, where there are no user vectors
MOST_PEOPLE = 4000
_SHORTEST, _LONGEST = 20, 150
_SHOWN = 60  # characters of a key
_SOFTNESS = 0.3  # in standard deviations of a person's scores
_AT_ONCE = 1 << 23  # scores in memory
Rows = NDArray[np.int64]


def simulate_likes_of_users(
    users: NDArray[np.float64], vectors: NDArray[np.float64], rng: np.random.Generator
) -> Rows:
    """Draw likes, rows (n, 2) of person and item by number, sorted by person, of users (m, D): of
    all, or of 4,000 drawn from them, numbered from 0 on; 20 to 150 likes each, at most half of the
    items.

    Raises DataError for users of another number of dimensions than the items'.
    """
    if users.shape[1] != vectors.shape[1]:
        sizes = f"user vectors have {users.shape[1]} numbers, item vectors {vectors.shape[1]}"
        raise DataError(sizes)
    if len(users) > MOST_PEOPLE:
        users = users[np.sort(rng.choice(len(users), MOST_PEOPLE, replace=False))]
    # Scores far beyond one another's reach are no numbers any more, so both get a unit.
    return _draw_likes(users / (np.abs(users).max() or 1.0), vectors / np.abs(vectors).max(), rng)


def simulate_likes(vectors: NDArray[np.float32], rng: np.random.Generator) -> Rows:
    """Draw likes, rows (n, 2) of person and item by number, sorted by person, of 2,000 made-up
    people: each has the vector of one item for a taste, and 20 to 150 likes, at most half of the
    items. vectors: as devices have.
    """
    items = vectors.astype(np.float64)
    weights = (items**2).sum(axis=1)
    anchors = rng.choice(len(items), MADE_UP, p=weights / weights.sum())
    return _draw_likes(items[anchors], items, rng)


def _draw_likes(
    people: NDArray[np.float64], items: NDArray[np.float64], rng: np.random.Generator
) -> Rows:
    longest = max(min(_LONGEST, len(items) // 2), 1)
    shortest = min(_SHORTEST, longest)
    logs = rng.uniform(np.log(shortest), np.log(longest + 1), len(people))
    lengths = np.minimum(np.exp(logs).astype(np.int64), longest)
    step = max(_AT_ONCE // len(items), 1)
    parts = []
    for start in range(0, len(people), step):
        scores = people[start : start + step] @ items.T
        spread = np.maximum(scores.std(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        keys = scores / (_SOFTNESS * spread) + rng.gumbel(size=scores.shape)
        first = np.argpartition(-keys, longest - 1, axis=1)[:, :longest]
        order = np.argsort(-np.take_along_axis(keys, first, axis=1), axis=1, kind="stable")
        parts.append(np.take_along_axis(first, order, axis=1).astype(np.int64))
    liked = np.concatenate(parts)  # (m, longest), the likeliest first
    kept = np.arange(longest) < lengths[:, None]
    return np.column_stack([np.nonzero(kept)[0], liked[kept]])


def match_items(
    vectors: NDArray[np.float64],
    keys: tuple[str, ...] | None,
    rows: Mapping[str, ItemRow],
    n_rejected: int = 0,
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the vectors (n, D) and the keys of their items, matched by key, or where vectors have
    no keys, row by row; keys that are whole numbers first, by value, then the others as text. Rows
    without a vector are left out.

    n_rejected: rows of the file of items that could not be used. Raises DataError where a vector
    has no row, or where without keys there are not as many rows, or any is rejected.
    """
    if keys is None:
        if len(vectors) != len(rows) or n_rejected:
            raise DataError(
                f"{len(vectors):,} vectors without keys do not fit {len(rows):,} usable rows of "
                f"items, {n_rejected:,} left out: give the vectors `keys`"
            )
        keys = tuple(rows)
    unknown = [key for key in keys if key not in rows]
    if unknown:
        raise DataError(
            f"{len(unknown):,} of {len(keys):,} vectors have no row among the items; the first "
            f"is of {unknown[0][:_SHOWN]!r}"
        )
    order = sorted(range(len(keys)), key=lambda at: key_order(keys[at]))
    return vectors[order], tuple([keys[at] for at in order])


def ratings_of_likes(
    likes: NDArray[np.int64], keys: tuple[str, ...], scale: RatingScale
) -> RatingTable:
    """Return likes, rows (n, 2) of person and item by number, as ratings, each the highest of the
    scale. Item i is keys[i]; n is at least 1; n_people is the largest person's number plus 1.
    """
    person, item = likes.T
    highest = np.full(len(likes), scale.highest, np.float64)
    return RatingTable(person, item, highest, int(person.max()) + 1, keys)
