"""One deal of the people, ready for rules to be tried on, and what items are worth to each group.

The server's people train everything; a rule may look at nobody else. Validation chooses among
designs; clients are measured. What an unseen item is worth to somebody is the score of PureSVD on
likes, <taste, v_i>, and 0 where that is negative; a seen item is worth nothing.

Scores of n people are (n, n_items): at least 0, and -1 for what a person has seen. All of them at
once would be people times items, so they are made when they are looked at, some people at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.retrieval.cover import cover
from askew.spaces.vectors import FeatureSpace
from askew_server.evaluation.split import Split
from askew_server.taste.training.buckets import favorites, pool_of
from askew_server.taste.training.directions import Purpose, learned_directions
from askew_server.taste.training.factors import People, Tastes, divisors, factorize, fold_in_people
from askew_server.taste.training.options import dimension_for
from askew_server.taste.training.quality import best_slates
from askew_server.taste.training.space_fit import fit_space

RANKING_DIMENSION = 32
LEAST_LIKES = 20
SLATE_LIMIT = 64
_DIMENSIONS = (1, 2, 4, 8)
AT_ONCE = 1 << 24  # scores in memory: 64 MiB
Scores = NDArray[np.float32]
Items = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupScores:
    """made: the scores of some people for some items (p,)."""

    n_people: int
    n_items: int
    made: Callable[[slice, Items], Scores] = field(repr=False)

    @classmethod
    def of(cls, scores: Scores) -> GroupScores:
        """Those that are there already."""
        people, items = scores.shape
        return cls(people, items, lambda rows, some: scores[rows][:, some])

    def __len__(self) -> int:
        """The number n of people."""
        return self.n_people

    def parts(self, items: Items | None = None) -> Iterator[tuple[slice, Scores]]:
        """All people, so many at a time as may be, and their scores for all items, or for these."""
        wanted = np.arange(self.n_items) if items is None else items
        size = max(AT_ONCE // max(len(wanted), 1), 1)
        for start in range(0, self.n_people, size):
            rows = slice(start, min(start + size, self.n_people))
            if self._whole is None:
                yield rows, self.made(rows, wanted)
            else:
                yield rows, self._whole[rows] if items is None else self._whole[rows][:, wanted]

    def of_items(self, items: Items) -> Scores:
        """Scores for a few items of any shape, (n, *shape)."""
        found = np.concatenate([part for _, part in self.parts(items.ravel())])
        return found.reshape(len(found), *items.shape)

    def at(self, slates: Items) -> Scores:
        """Scores for a slate of each person's own, (n, k) -> (n, k)."""
        found = np.empty(slates.shape, dtype=np.float32)
        size = max(AT_ONCE // self.n_items, 1)
        for start in range(0, self.n_people, size):
            rows = slice(start, min(start + size, self.n_people))
            items, places = np.unique(slates[rows], return_inverse=True)
            part = self.made(rows, items) if self._whole is None else self._whole[rows][:, items]
            found[rows] = np.take_along_axis(part, places.reshape(-1, slates.shape[1]), axis=1)
        return found

    def best(self, items: Items | None = None) -> NDArray[np.float64]:
        """The best score of each person, at least 0, (n,)."""
        found = np.concatenate([part.max(axis=1) for _, part in self.parts(items)])
        best: NDArray[np.float64] = np.maximum(found, 0).astype(np.float64)
        return best

    def best_slates(self, k: int) -> Items:
        """Each person's own best k items, (n, k)."""
        return np.concatenate([best_slates(part, k) for _, part in self.parts()])

    def favorites(self) -> Items:
        """How many of them have each item among their best few, (n_items,)."""
        counts = np.zeros(self.n_items, dtype=np.int64)
        for _, part in self.parts():
            counts += favorites(part)
        return counts

    @cached_property
    def _whole(self) -> Scores | None:
        """All of a small group."""
        if self.n_people * self.n_items > AT_ONCE:
            return None
        return self.made(slice(0, self.n_people), np.arange(self.n_items))


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the people: tastes from their profiles, (n, D), and likes among what was held out,
    sparse (n, n_items).
    """

    tastes: Tastes = field(repr=False)
    held_out: csr_array = field(repr=False)

    def __len__(self) -> int:
        """The number n of people."""
        return len(self.tastes.vectors)


def scores_of(group: Group, vectors: NDArray[np.float32]) -> GroupScores:
    """What items are worth to a group."""
    expected, people = expected_of(group.tastes.vectors, vectors), group.tastes.people

    def made(rows: slice, items: Items) -> Scores:
        found = np.maximum(expected.made(rows, items), 0)
        seen = people.seen[rows][:, items].tocoo()
        found[seen.row, seen.col] = -1
        return found

    return replace(expected, made=made)


def expected_of(tastes: NDArray[np.float64], vectors: NDArray[np.float32]) -> GroupScores:
    """To people of tastes (n, D), as one who knows nothing but the taste expects it: of any sign,
    whoever has seen what.
    """

    def made(rows: slice, items: Items) -> Scores:
        return (tastes[rows] @ vectors[items].T).astype(np.float32)

    return GroupScores(len(tastes), len(vectors), made)


@dataclass(frozen=True, eq=False)
class Scene:
    """A deal with its factors: vectors (n_items, D), and the three groups. pool: item ids, (p,).
    served: scores of the server's people for the pool, (p, m), 0 where seen. shared: the
    zero-information order, item ids. validated, wanted: scores of validation's people and of
    clients.
    """

    split: Split
    seed: int
    vectors: NDArray[np.float32] = field(repr=False)
    server: Group = field(repr=False)
    validation: Group = field(repr=False)
    clients: Group = field(repr=False)
    pool: NDArray[np.int64] = field(repr=False)
    served: Scores = field(repr=False)
    shared: NDArray[np.int64] = field(repr=False)
    validated: GroupScores = field(repr=False)
    wanted: GroupScores = field(repr=False)

    @classmethod
    def of(cls, split: Split, seed: int) -> Scene:
        """Factors from all that the server's people rated; tastes from profiles alone."""
        likes = split.likes(csr_array(split.profile[split.server] + split.held_out[split.server]))
        vectors = factorize(likes, min(RANKING_DIMENSION, min(likes.shape) - 1), seed)
        liked, held = split.likes(split.profile), split.likes(split.held_out)
        seen = split.profile.copy()
        seen.data = np.ones_like(seen.data)

        def group(rows: NDArray[np.int64]) -> Group:
            tastes = fold_in_people(People(liked[rows], seen[rows]), vectors, LEAST_LIKES)
            return Group(tastes, csr_array(held[rows]))

        server, validation, clients = map(group, (split.server, split.validation, split.clients))
        known = scores_of(server, vectors)
        depth = min(SLATE_LIMIT, known.n_items)
        pool = pool_of(known.favorites(), depth)
        served = np.ascontiguousarray(np.maximum(known.of_items(pool), 0).T)
        alike = np.full(len(known), 1 / len(known), dtype=np.float32)
        return cls(
            split=split,
            seed=seed,
            vectors=vectors,
            server=server,
            validation=validation,
            clients=clients,
            pool=pool,
            served=served,
            shared=pool[cover(served, alike, depth)],
            validated=scores_of(validation, vectors),
            wanted=scores_of(clients, vectors),
        )

    @property
    def possible(self) -> NDArray[np.float64]:
        """What each client's own best item is worth to them, (n,)."""
        return self.wanted.best()

    def dimension_for(self, epsilon: float) -> int:
        """The signal dimension that suits a plain epsilon."""
        most = int(self.vectors.shape[1])
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
        tastes, directions = self.server.tastes, None
        if learned:  # the diameter hardly depends on the directions
            purpose = Purpose(epsilon / float(self.space(dimension).diameter), k)
            directions = learned_directions(
                tastes.vectors, self.served, dimension, purpose, seed=self.seed
            )
        rng = np.random.default_rng([self.seed, 3])
        fit = fit_space(
            tastes, self.vectors, self.split.scale, dimension, rng, directions=directions
        )
        return fit.space

    def points(self, space: FeatureSpace, group: Group) -> NDArray[np.float64]:
        """Where these people are in the space, (n, d), as their devices would say."""
        encoder, people = space.encoder, group.tastes.people
        sums = people.likes @ encoder.contributions(self.vectors)
        points: NDArray[np.float64] = encoder.unit * encoder.ranks(
            sums / divisors(people.likes, encoder.least_likes)
        )
        return points


Slates = Mapping[int, NDArray[np.int64]]  # k -> (n, k) item ids
