"""Three ground truths: what an item is worth to a person.

next       the next unseen item (primary). PureSVD of likes; score = <taste, v_i> of unseen items.
long-tail  the same, score_i / sqrt(popularity_i): a stand-in for a large catalog, where what is
           popular is known anyway.
rating     predicted rating of biased matrix factorization; all items count. Close to what is often
           published, and nearly saturated by ignoring the person: never read it without the gap.

A score below 0 counts as 0, and so does that of a seen item: nobody gains by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.evaluation.factors import BiasedFactors, biased_factors
from askew_server.evaluation.split import Split

TruthName = Literal["rating", "next", "long-tail"]
TRUTHS: tuple[TruthName, ...] = get_args(TruthName)
RIDGE = 12.0
Scores = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Tastes:
    """What the encoder of a split works with: item vectors (n_items, D), everybody's taste."""

    vectors: NDArray[np.float32] = field(repr=False)
    likes: csr_array = field(repr=False)  # of profiles, (n_people, n_items)
    least_likes: int

    def sums(
        self, contributions: NDArray[np.floating], people: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """sum of the contributions of a person's likes / sqrt(max(n, least_likes)), for each."""
        mine = self.likes[people]
        size = np.sqrt(np.maximum(np.diff(mine.indptr), self.least_likes))
        sums: NDArray[np.float64] = (mine @ contributions.astype(np.float64)) / size[:, None]
        return sums

    def of(self, people: NDArray[np.int64]) -> NDArray[np.float64]:
        """Tastes, (n, D)."""
        return self.sums(self.vectors, people)


@dataclass(frozen=True, eq=False)
class LikesTruth:
    """`next` and `long-tail`: boost_i * <taste, v_i> of unseen items."""

    name: TruthName
    tastes: Tastes = field(repr=False)
    profile: csr_array = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)

    def scores(self, people: NDArray[np.int64]) -> Scores:
        """(n, n_items): at least 0, and -1 for what a person has seen."""
        found = np.maximum(self.of_tastes(self.tastes.of(people)), 0).astype(np.float32)
        seen = self.profile[people].tocoo()
        found[seen.row, seen.col] = -1
        return found

    def of_tastes(self, tastes: NDArray[np.float64]) -> Scores:
        """(n, n_items) for tastes (n, D), as the server sees them: nothing is seen."""
        scoring = self.tastes.vectors * self.boosts[:, None]
        return (tastes @ scoring.T).astype(np.float32)


@dataclass(frozen=True, eq=False)
class RatingTruth:
    """`rating`: predicted ratings. Signals are of tastes; `line` guesses factors from them."""

    model: BiasedFactors = field(repr=False)
    profile: csr_array = field(repr=False)
    line: NDArray[np.float64] = field(
        repr=False
    )  # (1 + D, 1 + D): from (1, taste) to bias, factors
    name: TruthName = "rating"

    def scores(self, people: NDArray[np.int64]) -> Scores:
        """(n, n_items), at least 0."""
        return np.maximum(self.model.predict(self.model.fold_in(self.profile[people])), 0)

    def of_tastes(self, tastes: NDArray[np.float64]) -> Scores:
        """(n, n_items) for tastes (n, D), by the least-squares guess."""
        return self.model.predict(_with_one(tastes) @ self.line)


Truth = LikesTruth | RatingTruth


def make_truth(name: TruthName, split: Split, tastes: Tastes, seed: int) -> Truth:
    """The ground truth of a split, learned from all ratings of the server's people."""
    everything = csr_array(split.profile[split.server] + split.held_out[split.server])
    if name == "rating":
        model = biased_factors(everything, tastes.vectors.shape[1], RIDGE, seed)
        own = model.fold_in(csr_array(split.profile[split.server]))
        line = np.linalg.lstsq(_with_one(tastes.of(split.server)), own, rcond=None)[0]
        return RatingTruth(model, split.profile, line)
    popularity = np.bincount(everything.indices, minlength=split.n_items).astype(np.float64)
    boosts = np.ones(split.n_items) if name == "next" else popularity**-0.5
    return LikesTruth(name, tastes, split.profile, boosts.astype(np.float32))


def _with_one(tastes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(tastes)), tastes])
