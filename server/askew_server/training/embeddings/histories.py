"""Histories of likes, SIMULATED from vectors: a space and its ranks are fitted to people's likes,
and vectors come without any.

    user vectors given    u one of them, the score of item i is s_i = <u, v_i> in the given geometry
    none given            u = w_a, the vector of one item a, drawn with odds |w_a|^2, and
                          s_i = <u, w_i> as devices score
    length                n log-uniform from 20 to 150, at most half of the items
    likes                 n items without replacement, the next one i with odds
                          exp(s_i / (0.3 * the standard deviation of s)): Gumbel top-n

Long vectors are those of much liked items in most models, hence the odds. On MovieLens 1M, with
vectors of ALS, BPR and SVD, the first row's histories gave spaces nearest to those of real people
among three temperatures, and the second row's among twelve ways to draw (docs/training.md).
numpy's generator: this is simulation, and it protects nobody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MADE_UP = 2000  # people, where no user vectors are given
MOST_PEOPLE = 4000
_SHORTEST, _LONGEST = 20, 150
_SOFTNESS = 0.3  # in standard deviations of a person's scores
_AT_ONCE = 1 << 23  # scores in memory
Pairs = NDArray[np.int64]


def of_people(
    people: NDArray[np.float64], vectors: NDArray[np.float64], rng: np.random.Generator
) -> Pairs:
    """Likes (n, 2) of person and item, of at most MOST_PEOPLE of people (m, D), by chance."""
    if len(people) > MOST_PEOPLE:
        people = people[np.sort(rng.choice(len(people), MOST_PEOPLE, replace=False))]
    # Scores far beyond one another's reach are no numbers any more, so both get a unit.
    return _likes(people / (np.abs(people).max() or 1.0), vectors / np.abs(vectors).max(), rng)


def made_up(folded: NDArray[np.float32], rng: np.random.Generator) -> Pairs:
    """Likes (n, 2) of MADE_UP people who are like one item each; folded: as devices have them."""
    items = folded.astype(np.float64)
    weights = (items**2).sum(axis=1)
    anchors = rng.choice(len(items), MADE_UP, p=weights / weights.sum())
    return _likes(items[anchors], items, rng)


def _likes(
    people: NDArray[np.float64], items: NDArray[np.float64], rng: np.random.Generator
) -> Pairs:
    longest = max(min(_LONGEST, len(items) // 2), 1)
    shortest = min(_SHORTEST, longest)
    logs = rng.uniform(np.log(shortest), np.log(longest + 1), len(people))
    lengths = np.minimum(np.exp(logs).astype(np.int64), longest)
    step = max(_AT_ONCE // len(items), 1)
    parts = [
        _drawn(people[start : start + step], items, longest, rng)
        for start in range(0, len(people), step)
    ]
    liked = np.concatenate(parts)  # (m, longest), the likeliest first
    kept = np.arange(longest) < lengths[:, None]
    return np.column_stack([np.nonzero(kept)[0], liked[kept]])


def _drawn(
    people: NDArray[np.float64],
    items: NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> Pairs:
    """So many items each, (m, count), in the order in which they were drawn."""
    scores = people @ items.T
    spread = np.maximum(scores.std(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    keys = scores / (_SOFTNESS * spread) + rng.gumbel(size=scores.shape)
    first = np.argpartition(-keys, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(keys, first, axis=1), axis=1, kind="stable")
    drawn: Pairs = np.take_along_axis(first, order, axis=1).astype(np.int64)
    return drawn
