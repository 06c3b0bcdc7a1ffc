"""Three ground truths: what an item is worth to a person.

next       the next unseen item (primary). PureSVD of likes; score = <taste, v_i> of unseen items.
long-tail  the same, score_i / sqrt(likes_i): a stand-in for a large catalog, where what is popular
           is known anyway.
rating     predicted rating of biased matrix factorization; all items count. Close to what is often
           published, and nearly saturated by ignoring the person: never read it without the gap.

A score below 0 counts as 0, and a seen item is worth nothing: nobody gains by either.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.evaluation.group_scores import GroupScores, Items, Scores
from askew_server.evaluation.rating_model import BiasedFactors
from askew_server.training.factors import Tastes

TruthName = Literal["next", "long-tail", "rating"]
TRUTHS: tuple[TruthName, ...] = get_args(TruthName)


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the people: tastes from their profiles, (n, D); ratings of the profiles and likes
    among what was held out, sparse (n, n_items).
    """

    tastes: Tastes = field(repr=False)
    ratings: csr_array = field(repr=False)
    held_out: csr_array = field(repr=False)

    def __len__(self) -> int:
        """The number n of people."""
        return len(self.tastes.vectors)


class Truth(Protocol):
    """What items are worth."""

    def scores(self, group: Group) -> GroupScores:
        """What items are worth to a group."""

    def of_tastes(self, tastes: NDArray[np.float64]) -> GroupScores:
        """To people of tastes (n, D), as one who knows nothing but the taste expects it: of any
        sign.
        """


@dataclass(frozen=True, eq=False)
class LikesTruth:
    """`next` and `long-tail`: <taste, x_i> of unseen items, scoring vectors x (n_items, D)."""

    scoring: NDArray[np.float32] = field(repr=False)

    def scores(self, group: Group) -> GroupScores:
        """As in `Truth`."""
        expected, people = self.of_tastes(group.tastes.vectors), group.tastes.people

        def made(rows: slice, items: Items) -> Scores:
            found = np.maximum(expected.made(rows, items), 0)
            seen = people.seen[rows][:, items].tocoo()
            found[seen.row, seen.col] = -1
            return found

        return replace(expected, made=made)

    def of_tastes(self, tastes: NDArray[np.float64]) -> GroupScores:
        """As in `Truth`."""

        def made(rows: slice, items: Items) -> Scores:
            return (tastes[rows] @ self.scoring[items].T).astype(np.float32)

        return GroupScores(len(tastes), len(self.scoring), made)


@dataclass(frozen=True, eq=False)
class RatingTruth:
    """`rating`: predicted ratings, seen or not. line: the least-squares guess of a person's bias
    and factors from (1, taste), (1 + D, 1 + D).
    """

    model: BiasedFactors = field(repr=False)
    line: NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, model: BiasedFactors, group: Group) -> RatingTruth:
        """The truth of a rating model, the guess being learned from these people."""
        own = model.fold_in(group.ratings)
        line = np.linalg.lstsq(_with_one(group.tastes.vectors), own, rcond=None)[0]
        return cls(model, line.astype(np.float64))

    def scores(self, group: Group) -> GroupScores:
        """As in `Truth`; nothing is seen."""
        expected = self._predicted(self.model.fold_in(group.ratings))

        def made(rows: slice, items: Items) -> Scores:
            return np.maximum(expected.made(rows, items), 0)

        return replace(expected, made=made)

    def of_tastes(self, tastes: NDArray[np.float64]) -> GroupScores:
        """As in `Truth`."""
        return self._predicted(_with_one(tastes) @ self.line)

    def _predicted(self, people: NDArray[np.float64]) -> GroupScores:
        def made(rows: slice, items: Items) -> Scores:
            return self.model.predict(people[rows], items)

        return GroupScores(len(people), len(self.model.biases), made)


def _with_one(tastes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.ones(len(tastes)), tastes])
