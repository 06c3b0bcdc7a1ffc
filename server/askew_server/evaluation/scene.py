"""One deal of the people and one ground truth, ready for rules to be tried on.

The server's people train everything; a rule may look at nobody else. Validation chooses among
designs; clients are measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.retrieval.cover import cover
from askew.vectors import FeatureSpace
from askew_server.evaluation.group_scores import GroupScores, Scores
from askew_server.evaluation.rating_model import biased_factors
from askew_server.evaluation.split import Split
from askew_server.evaluation.truths import Group, LikesTruth, RatingTruth, Truth, TruthName
from askew_server.training.directions import Purpose, learned_directions
from askew_server.training.factors import People, divisors, factorize, fold_in_people
from askew_server.training.options import dimension_for
from askew_server.training.pool import pool_of
from askew_server.training.space_fit import fit_space

RANKING_DIMENSION = 32
LEAST_LIKES = 20
SLATE_LIMIT = 64
_DIMENSIONS = (1, 2, 4, 8)
_RIDGE = 12.0


@dataclass(frozen=True, eq=False)
class Dealt:
    """A split with its factors: vectors (n_items, D), the three groups, everybody's likes."""

    split: Split
    vectors: NDArray[np.float32] = field(repr=False)
    server: Group = field(repr=False)
    validation: Group = field(repr=False)
    clients: Group = field(repr=False)
    trained_on: csr_array = field(repr=False)  # the server's people's ratings, none held out
    seed: int

    @classmethod
    def of(cls, split: Split, seed: int) -> Dealt:
        """Factors from all that the server's people rated; tastes from profiles alone."""
        trained_on = csr_array(split.profile[split.server] + split.held_out[split.server])
        likes = split.likes(trained_on)
        vectors = factorize(likes, min(RANKING_DIMENSION, min(likes.shape) - 1), seed)
        liked, held = split.likes(split.profile), split.likes(split.held_out)
        seen = split.profile.copy()
        seen.data = np.ones_like(seen.data)

        def group(rows: NDArray[np.int64]) -> Group:
            tastes = fold_in_people(People(liked[rows], seen[rows]), vectors, LEAST_LIKES)
            return Group(tastes, csr_array(split.profile[rows]), csr_array(held[rows]))

        parts = [group(rows) for rows in (split.server, split.validation, split.clients)]
        return cls(split, vectors, parts[0], parts[1], parts[2], trained_on, seed)

    def truth(self, name: TruthName) -> Truth:
        """The ground truth of this name, learned from the server's people."""
        if name == "rating":
            d = self.vectors.shape[1]
            model = biased_factors(self.trained_on, d, _RIDGE, self.seed)
            return RatingTruth.of(model, self.server)
        likes = self.split.likes(self.trained_on).sum(axis=0)
        boosts = np.maximum(likes, 1.0) ** (-0.5 if name == "long-tail" else 0.0)
        return LikesTruth(self.vectors * boosts.astype(np.float32)[:, None])


@dataclass(frozen=True, eq=False)
class Scene:
    """A deal under one truth. pool: item ids, (p,). served: scores of the server's people for the
    pool, (p, m), 0 where seen. shared: the zero-information order, item ids.
    validated, wanted: scores of validation's people and of clients.
    """

    name: TruthName
    dealt: Dealt
    truth: Truth = field(repr=False)
    pool: NDArray[np.int64] = field(repr=False)
    served: Scores = field(repr=False)
    shared: NDArray[np.int64] = field(repr=False)
    validated: GroupScores = field(repr=False)
    wanted: GroupScores = field(repr=False)

    @classmethod
    def of(cls, dealt: Dealt, name: TruthName) -> Scene:
        """Scores of everybody, the pool and the zero-information order."""
        truth = dealt.truth(name)
        known = truth.scores(dealt.server)
        depth = min(SLATE_LIMIT, known.n_items)
        pool = pool_of(known.favorites(), depth)
        served = np.ascontiguousarray(np.maximum(known.of_items(pool), 0).T)
        alike = np.full(len(known), 1 / len(known), dtype=np.float32)
        shared = pool[cover(served, alike, depth)]
        groups = (dealt.validation, dealt.clients)
        return cls(name, dealt, truth, pool, served, shared, *map(truth.scores, groups))

    @property
    def possible(self) -> NDArray[np.float64]:
        """What each client's own best item is worth to them, (n,)."""
        return self.wanted.best()

    def dimension_for(self, epsilon: float) -> int:
        """The signal dimension that suits a plain epsilon."""
        most = int(self.dealt.vectors.shape[1])
        for d in (d for d in _DIMENSIONS if d < most):
            if dimension_for(epsilon / float(self.space(d).diameter)) <= d:
                return d
        return min(_DIMENSIONS[-1], most)

    def space(
        self, dimension: int, epsilon: float = 1.0, k: int = 1, *, learned: bool = False
    ) -> FeatureSpace:
        """The feature space of d signal dimensions, its directions principal, or learned for a
        plain epsilon and k.
        """
        dealt, tastes = self.dealt, self.dealt.server.tastes
        directions = None
        if learned:  # the diameter hardly depends on the directions
            purpose = Purpose(epsilon / float(self.space(dimension).diameter), k)
            directions = learned_directions(
                tastes.vectors, self.served, dimension, purpose, seed=dealt.seed
            )
        rng = np.random.default_rng([dealt.seed, 3])
        scale = dealt.split.scale
        vectors = dealt.vectors
        return fit_space(tastes, vectors, scale, dimension, rng, directions=directions).space

    def points(self, space: FeatureSpace, group: Group) -> NDArray[np.float64]:
        """Where these people are in the space, (n, d), as their devices would say."""
        encoder, people = space.encoder, group.tastes.people
        sums = people.likes @ encoder.contributions(self.dealt.vectors)
        points: NDArray[np.float64] = encoder.unit * encoder.ranks(
            sums / divisors(people.likes, encoder.least_likes)
        )
        return points


Slates = Mapping[int, NDArray[np.int64]]  # k -> (n, k) item ids
