"""What slates are worth to people: shapes n people, k items a slate, n_items items.

scores (n, n_items): at least 0, and -1 for what a person has seen. A device shows its person the
best unseen item of the slate, ties to the lower item; if all are seen, it has nothing new: 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of people's gains
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One slate for each person, (n,) each: score and item of the pick, and how the slate, as the
    device ranks it, meets what was liked and held out; nan where nothing liked was held out.

    hit: 1 where the pick was liked. recall: the share of what was liked that is in the slate.
    ndcg: nDCG@k, against the best order of k items.
    """

    score: Array = field(repr=False)
    pick: NDArray[np.int64] = field(repr=False)
    hit: Array = field(repr=False)
    recall: Array = field(repr=False)
    ndcg: Array = field(repr=False)

    @property
    def picked(self) -> NDArray[np.int64]:
        """The picks of those for whom the slate had something new."""
        return self.pick[self.score > 0]


def outcome(
    offered: NDArray[np.float32], slates: NDArray[np.int64], held_out: csr_array
) -> Outcome:
    """What people get from slates (n, k) of items, in any order, of these scores (n, k); held_out:
    liked, (n, n_items).
    """
    by_item = np.argsort(slates, axis=1, kind="stable")
    slates = np.take_along_axis(slates, by_item, axis=1)
    offered = np.take_along_axis(offered, by_item, axis=1)
    order = np.argsort(-offered, axis=1, kind="stable")
    ranked = np.take_along_axis(slates, order, axis=1)
    pick = ranked[:, 0]
    liked = np.empty(ranked.shape, dtype=np.float64)
    for column in range(ranked.shape[1]):
        liked[:, column] = held_out[np.arange(len(ranked)), ranked[:, column]]
    n_liked = np.diff(held_out.indptr)
    known = np.where(n_liked > 0, 1.0, np.nan)
    score = np.maximum(offered.max(axis=1), 0).astype(np.float64)
    recall = liked.sum(axis=1) / np.maximum(n_liked, 1)
    return Outcome(score, pick, liked[:, 0] * known, recall * known, _ndcg(liked, n_liked) * known)


def served_by(offered: NDArray[np.float32]) -> Array:
    """What each person's pick of a slate of these scores (n, k) is worth, (n,)."""
    worth: Array = np.maximum(offered.max(axis=1), 0).astype(np.float64)
    return worth


def best_slates(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Each person's own best k items, what they would pick from without privacy, (n, k)."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def _ndcg(liked: Array, n_liked: NDArray[np.integer]) -> Array:
    """nDCG of ranked slates (n, k), against the best order of k of all that was liked."""
    k = liked.shape[1]
    gains = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(n_liked, k)]
    result: Array = liked @ gains / ideal
    return result


@dataclass(frozen=True)
class Estimate:
    """A mean with the standard error of that mean."""

    mean: float
    error: float


def mean_of(values: Array) -> Estimate:
    """The mean of what is known, and its standard error."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Estimate(float("nan"), float("nan"))
    return Estimate(float(known.mean()), float(known.std() / np.sqrt(len(known))))


def ratio_of(reached: Array, possible: Array) -> Estimate:
    """sum reached / sum possible, with the standard error of a ratio of means (linearized)."""
    if not possible.sum() > 0:
        return Estimate(float("nan"), float("nan"))
    ratio = float(reached.sum() / possible.sum())
    spread = (reached - ratio * possible).std() / np.sqrt(len(reached))
    return Estimate(ratio, float(spread / possible.mean()))


def gap_of(reached: Array, possible: Array, best_single: Array) -> Estimate:
    """(U - U0) / (U* - U0): 0 for the best single item for everybody, 1 for each one's own best."""
    return ratio_of(reached - best_single, possible - best_single)


@dataclass(frozen=True)
class Gains:
    """What people gain over something else, each in shares of their own best: quantiles at
    QUANTILES, and how many are worse and better off.
    """

    quantiles: tuple[float, ...]
    worse: int
    better: int


def gains_of(reached: Array, instead: Array, possible: Array) -> Gains:
    """People's gains; of those for whom something is possible."""
    some = possible > 0
    gain = (reached[some] - instead[some]) / possible[some]
    at = np.quantile(gain, QUANTILES).tolist() if len(gain) else [float("nan")] * len(QUANTILES)
    return Gains(tuple(at), int((gain < 0).sum()), int((gain > 0).sum()))


def coverage_of(picks: NDArray[np.int64], n_items: int) -> float:
    """The share of a catalog's n_items that is somebody's pick."""
    return len(np.unique(picks)) / n_items


def gini_of(picks: NDArray[np.int64], n_items: int) -> float:
    """Gini's coefficient of how often each of n_items is picked: 0 where all are picked alike,
    1 - 1 / n_items where everybody picks the same.
    """
    if not len(picks):
        return float("nan")
    counts = np.sort(np.bincount(picks, minlength=n_items))
    place = np.arange(1, n_items + 1)
    return float(2 * (place * counts).sum() / (n_items * counts.sum()) - (n_items + 1) / n_items)
