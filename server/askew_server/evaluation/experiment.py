"""One deal of the people, from a seed, ready for rules to be tried on.

People are dealt 66 : 17 : 17 to the server (trains everything and is the prior; a rule may look at
nobody else), to validation (chooses among designs) and to clients (are measured, and nothing else).
Items with fewer than `min_ratings` ratings by the server's people are left out. Of every person's
ratings a fifth is held out, drawn at random or their latest; the rest is their profile. With the
latest, everybody's own future is held out, but what the server's people did later than a client
still trains it. The prior is made of profiles too, since that is all that a client will have.

An unseen item has the score of symmetric EASE, boost_i <taste, v_i>, or 0 where that is negative;
a seen item has -1. Scores of n people are (n, n_items). All of them at once would be people times
items, so they are made when they are needed, some people at a time. A device shows its person the
best unseen item of a slate, ties to the lower item; if all are seen, it has nothing new: 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew.retrieval.posterior import cover
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste.prior.people import points_of
from askew_server.taste.training.buckets import favorites, pool_of
from askew_server.taste.training.factors import (
    Histories,
    Tastes,
    fold_in_people,
)
from askew_server.taste.training.options import TrainingOptions, dimension_for
from askew_server.taste.training.space_fit import (
    Purpose,
    fit_space,
    learned_directions,
    scale_of,
)
from askew_server.taste.training.tuning import learned, tuned

SERVER_SHARE, VALIDATION_SHARE = Fraction(66, 100), Fraction(17, 100)
HELD_OUT = Fraction(1, 5)
HeldOut = Literal["random", "latest"]
HELD_OUTS: tuple[HeldOut, ...] = get_args(HeldOut)
RANKING_DIMENSION = 64
LEAST_LIKES = 20
SLATE_LIMIT = 64
AT_ONCE = 1 << 24  # scores in memory: 64 MiB
_LEAST_PEOPLE = 20
_DIMENSIONS = (1, 2, 4, 8)
_SAMPLE = 0  # the seed of a sample of people; those of a study deal them
Scores = NDArray[np.float32]
Items = NDArray[np.int64]
Array = NDArray[np.float64]
QUANTILES = (0.05, 0.5, 0.95)  # of people's gains


def sampled(table: RatingTable, n_people: int) -> RatingTable:
    """The ratings of so many people, or of all where there are fewer: each as likely as any other,
    and the same ones each time. Items stay, also those that nobody of them rated.
    """
    return table.only(np.random.default_rng(_SAMPLE).permutation(table.n_people)[:n_people])


@dataclass(frozen=True, eq=False)
class Split:
    """One deal. People by row; matrices are sparse, (n_people, n_items).

    server, validation, clients: rows of people. profile, held_out: ratings. item_codes: the
    table's code of each item, of n_catalog in all. scale: says what counts as a like.
    """

    server: NDArray[np.int64]
    validation: NDArray[np.int64]
    clients: NDArray[np.int64]
    profile: csr_array = field(repr=False)
    held_out: csr_array = field(repr=False)
    item_codes: NDArray[np.int64] = field(repr=False)
    n_catalog: int
    scale: RatingScale

    def likes(self, ratings: csr_array) -> csr_array:
        """1 where a rating is a like."""
        liked = ratings.tocoo()
        kept = liked.data >= self.scale.like_from
        ones = np.ones(int(kept.sum()), dtype=np.float64)
        return csr_array((ones, (liked.row[kept], liked.col[kept])), shape=ratings.shape)


def deal(table: RatingTable, seed: int, min_ratings: int, held_out: HeldOut = "random") -> Split:
    """The split of a seed. Raises DataError when there is too little to split, or where the latest
    ratings are to be held out and not every rating has a time.
    """
    scale = scale_of(table)
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(table.n_people)
    first = round(SERVER_SHARE * table.n_people)
    second = first + round(VALIDATION_SHARE * table.n_people)
    server, validation, clients = (np.sort(part) for part in np.split(order, [first, second]))
    if min(len(server), len(validation), len(clients)) < _LEAST_PEOPLE:
        raise DataError(f"{table.n_people} people are too few to split; 120 would do")
    of_server = np.isin(table.person, server)
    counts = np.bincount(table.item[of_server], minlength=len(table.item_keys))
    kept = np.flatnonzero(counts >= min_ratings)
    if len(kept) < 2:
        raise DataError(f"fewer than 2 items have {min_ratings} ratings; lower the limit")
    column = np.full(len(table.item_keys), -1, dtype=np.int64)
    column[kept] = np.arange(len(kept))
    use = column[table.item] >= 0
    person, item, rating = table.person[use], column[table.item[use]], table.rating[use]
    chance = -rng.random(len(person))
    held = _last_fifth(person, chance if held_out == "random" else _times(table)[use], chance)
    shape = (table.n_people, len(kept))
    parts = [csr_array((rating[m], (person[m], item[m])), shape=shape) for m in (~held, held)]
    return Split(server, validation, clients, parts[0], parts[1], kept, len(table.item_keys), scale)


def _times(table: RatingTable) -> NDArray[np.float64]:
    if table.time is None or not np.isfinite(table.time).all():
        raise DataError(
            "not every rating has a time: the latest can be held out where the file of ratings has "
            "a column timestamp of numbers"
        )
    return table.time


def _last_fifth(
    person: NDArray[np.int64], by: NDArray[np.float64], ties: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The last fifth of each person's ratings in the order `by`, rounded down."""
    order = np.lexsort((ties, by, person))
    counts = np.bincount(person)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(person), dtype=np.int64)
    rank[order] = np.arange(len(person)) - first[person[order]]
    kept = counts - counts // HELD_OUT.denominator
    out: NDArray[np.bool_] = rank >= kept[person]
    return out


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


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Scores that are made some people at a time. made: those of some people for items (p,)."""

    n_people: int
    n_items: int
    made: Callable[[slice, Items], Scores] = field(repr=False)

    @classmethod
    def of(cls, group: Group, vectors: Scores) -> GroupScores:
        """What items are worth to a group, by its own tastes."""
        expected, seen = cls.expected(group.tastes.vectors, vectors), group.tastes.people.seen

        def made(rows: slice, items: Items) -> Scores:
            found = np.maximum(expected.made(rows, items), 0)
            known = seen[rows][:, items].tocoo()
            found[known.row, known.col] = -1
            return found

        return replace(expected, made=made)

    @classmethod
    def expected(cls, tastes: NDArray[np.float64], vectors: Scores) -> GroupScores:
        """What items are worth by tastes (n, D) alone: of any sign, seen or not."""

        def made(rows: slice, items: Items) -> Scores:
            return (tastes[rows] @ vectors[items].T).astype(np.float32)

        return cls(len(tastes), len(vectors), made)

    def __len__(self) -> int:
        """The number n of people."""
        return self.n_people

    def parts(self, items: Items | None = None) -> Iterator[Scores]:
        """The scores of all people, as many people at a time as may be, for all items or these."""
        wanted = np.arange(self.n_items) if items is None else items
        for rows in self._rows(len(wanted)):
            yield self.made(rows, wanted)

    def of_items(self, items: Items) -> Scores:
        """Scores for a few items of any shape, (n, *shape)."""
        found = np.concatenate([*self.parts(items.ravel())])
        return found.reshape(len(found), *items.shape)

    def at(self, slates: Items) -> Scores:
        """Scores for a slate of each person's own, (n, k) -> (n, k)."""
        found = np.empty(slates.shape, dtype=np.float32)
        for rows in self._rows(self.n_items):
            items, places = np.unique(slates[rows], return_inverse=True)
            part = self.made(rows, items)
            found[rows] = np.take_along_axis(part, places.reshape(-1, slates.shape[1]), axis=1)
        return found

    def best(self) -> NDArray[np.float64]:
        """The best score of each person, at least 0, (n,)."""
        found = np.concatenate([part.max(axis=1) for part in self.parts()])
        best: NDArray[np.float64] = np.maximum(found, 0).astype(np.float64)
        return best

    def best_slates(self, k: int) -> Items:
        """Each person's own best k items, what they would pick from without privacy, (n, k)."""
        orders = (np.argsort(-part, axis=1, kind="stable") for part in self.parts())
        return np.concatenate([order[:, :k] for order in orders])

    def favorites(self) -> Items:
        """How many of them have each item among their best few, (n_items,)."""
        counts: Items = np.sum([favorites(part) for part in self.parts()], axis=0)
        return counts

    def _rows(self, width: int) -> Iterator[slice]:
        size = max(AT_ONCE // max(width, 1), 1)
        for start in range(0, self.n_people, size):
            yield slice(start, min(start + size, self.n_people))


@dataclass(frozen=True, eq=False)
class Experiment:
    """A deal with its factors: vectors and what ranks, (n_items, D) each, and the three groups.
    pool: item ids, (p,). served: scores of the server's people for the pool, (p, m), 0 where seen.
    shared: the zero-information order, item ids. validated, wanted: scores of validation's people
    and of clients.
    """

    split: Split
    seed: int
    vectors: Scores = field(repr=False)
    scoring: Scores = field(repr=False)
    server: Group = field(repr=False)
    validation: Group = field(repr=False)
    clients: Group = field(repr=False)
    pool: Items = field(repr=False)
    served: Scores = field(repr=False)
    shared: Items = field(repr=False)
    validated: GroupScores = field(repr=False)
    wanted: GroupScores = field(repr=False)

    @classmethod
    def of(cls, split: Split, seed: int) -> Experiment:
        """Factors from all that the server's people rated; tastes from profiles alone."""
        likes = split.likes(csr_array(split.profile[split.server] + split.held_out[split.server]))
        options = TrainingOptions(ranking_dimension=RANKING_DIMENSION, neighbors=0, seed=seed)
        factors = learned(likes, tuned(Histories(likes, likes), options))
        vectors, boosts = factors.vectors.astype(np.float32), factors.boosts.astype(np.float32)
        scoring = vectors * boosts[:, None]
        liked, held = split.likes(split.profile), split.likes(split.held_out)
        seen = split.profile.copy()
        seen.data = np.ones_like(seen.data)

        def group(rows: NDArray[np.int64]) -> Group:
            tastes = fold_in_people(Histories(liked[rows], seen[rows]), vectors, LEAST_LIKES)
            return Group(tastes, csr_array(held[rows]))

        server, validation, clients = map(group, (split.server, split.validation, split.clients))
        known = GroupScores.of(server, scoring)
        depth = min(SLATE_LIMIT, known.n_items)
        pool = pool_of(known.favorites(), depth)
        served = np.ascontiguousarray(np.maximum(known.of_items(pool), 0).T)
        alike = np.full(len(known), 1 / len(known), dtype=np.float32)
        return cls(
            split=split,
            seed=seed,
            vectors=vectors,
            scoring=scoring,
            server=server,
            validation=validation,
            clients=clients,
            pool=pool,
            served=served,
            shared=pool[cover(served, alike, depth)],
            validated=GroupScores.of(validation, scoring),
            wanted=GroupScores.of(clients, scoring),
        )

    @cached_property
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
        return points_of(group.tastes.people.likes, self.vectors, space.encoder)


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
    liked = np.empty(ranked.shape, dtype=np.float64)
    for column in range(ranked.shape[1]):
        liked[:, column] = held_out[np.arange(len(ranked)), ranked[:, column]]
    n_liked = np.diff(held_out.indptr)
    known = np.where(n_liked > 0, 1.0, np.nan)
    score = np.maximum(offered.max(axis=1), 0).astype(np.float64)
    recall, ndcg = liked.sum(axis=1) / np.maximum(n_liked, 1), _ndcg(liked, n_liked)
    return Outcome(score, ranked[:, 0], liked[:, 0] * known, recall * known, ndcg * known)


def _ndcg(liked: Array, n_liked: NDArray[np.integer]) -> Array:
    """nDCG of ranked slates (n, k), against the best order of k of all that was liked."""
    k = liked.shape[1]
    gains = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(n_liked, k)]
    result: Array = liked @ gains / ideal
    return result


@dataclass(frozen=True)
class PeopleGains:
    """What people gain over something else, each in shares of their own best: quantiles at
    QUANTILES, and how many are worse and better off.
    """

    quantiles: tuple[float, ...]
    worse: int
    better: int

    @classmethod
    def of(cls, reached: Array, instead: Array, possible: Array) -> PeopleGains:
        """Those of the people for whom something is possible."""
        some = possible > 0
        gain = (reached[some] - instead[some]) / possible[some]
        at = np.quantile(gain, QUANTILES) if len(gain) else np.full(len(QUANTILES), np.nan)
        return cls(tuple(at.tolist()), int((gain < 0).sum()), int((gain > 0).sum()))


def coverage_of(picks: NDArray[np.int64], n_items: int) -> float:
    """The share of a catalog's n_items that is somebody's pick."""
    return len(np.unique(picks)) / n_items
