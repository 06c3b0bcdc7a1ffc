"""People and items folded in: who likes what, their profiles and tastes, and items that are new.

person    sum of v_i over likes / sqrt(max(n_likes, least_likes)), as on a device
new item  the scores that predict its likes best from people's tastes, by least squares
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew.spaces.vectors import RatingScale
from askew_server.ratings.reader import RatingTable
from askew_server.taste.options import about

_SHOWN = 0.8  # of each person's ratings make a profile, as if the rest were still to come
_RIDGE = 1e-2
_CALIBRATING = 300  # items
_RATINGS = 1 << 22  # whose words are in memory at once, give or take one person's: 32 MiB each
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histories:
    """Who likes and who has seen what, sparse (n_people, n_items) of ones. Training data."""

    likes: csr_array
    seen: csr_array

    def counts(self) -> dict[str, int]:
        """Return the numbers of "people", "ratings" and "likes", each rounded to one digit and at
        least 100.
        """
        people, ratings, likes = self.seen.shape[0], self.seen.nnz, self.likes.nnz
        return {"people": about(people), "ratings": about(ratings), "likes": about(likes)}

    def select(self, rows: NDArray[np.integer]) -> Histories:
        """Return the histories of the people of these rows, in this order, of all items."""
        return Histories(self.likes[rows], self.seen[rows])

    def select_items(self, columns: NDArray[np.integer]) -> Histories:
        """Return the histories of all people, of the items of these columns, in this order."""
        return Histories(self.likes[:, columns], self.seen[:, columns])


@dataclass(frozen=True, eq=False)
class Tastes:
    """People as a device would see itself: tastes (n, D), with what they like and have seen."""

    vectors: NDArray[np.float64]
    people: Histories
    least_likes: int

    def sample(self, most: int, rng: np.random.Generator) -> Tastes:
        """Return `most` of these people, drawn without replacement, in the order they had; all of
        them where there are no more.
        """
        if len(self.vectors) <= most:
            return self
        rows = np.sort(rng.choice(len(self.vectors), most, replace=False))
        return Tastes(self.vectors[rows], self.people.select(rows), self.least_likes)


def people_of(table: RatingTable, kept: NDArray[np.intp], scale: RatingScale) -> Histories:
    """Return what all people of a table like and have seen of the kept items, (n_people, kept).
    Raises DataError for a rating off the scale, and where nobody likes any of these items.
    """
    if len(table) and not scale.lowest <= table.rating.min() <= table.rating.max() <= scale.highest:
        raise DataError(f"ratings must be between {scale.lowest:g} and {scale.highest:g}")
    column = np.full(len(table.item_keys), -1, dtype=np.int32)
    column[kept] = np.arange(len(kept))
    seen = column[table.item] >= 0
    likes = seen & (table.rating >= scale.like_from)
    if not likes.any():
        people = f"nobody of {table.n_people:,} people gave {scale.like_from:g} or more"
        raise DataError(f"{people} to any of {len(kept):,} items: there are no likes")

    def ones(rows: NDArray[np.bool_]) -> csr_array:
        place = (table.person[rows], column[table.item[rows]])
        return csr_array((np.ones(int(rows.sum())), place), shape=(table.n_people, len(kept)))

    return Histories(ones(likes), ones(seen))


def snapshot(people: Histories, seed: int) -> Histories:
    """Return the histories of people with about four fifths of each one's ratings: the profile of
    somebody who has more to like than they said. Who likes nothing of it is left out.

    A model that has seen all of a person's likes finds nothing left for them; one that is judged on
    such people is judged on nobody. Which ratings are left out depends on the seed and on the
    person's own items alone: otherwise one person more would change everybody's profile, and no
    release of them could hide that person.
    """
    shown = _shown(people, seed)
    return shown.select(np.flatnonzero(np.diff(shown.likes.indptr)))


def split_ratings(people: Histories, seed: int) -> tuple[Histories, csr_array]:
    """Return the histories of all people with the ratings that `snapshot` shows, also of those who
    like none of these, and the likes that it leaves out, (n_people, n_items) of ones.
    """
    shown = _shown(people, seed)
    held_out = csr_array(people.likes - shown.likes)
    held_out.eliminate_zeros()
    return shown, held_out


def _shown(people: Histories, seed: int) -> Histories:
    # A word of each person: the sum of the words of their items, modulo 2**64, scrambled.
    totals = np.empty(people.seen.shape[0], dtype=np.uint64)
    for rows, ends, items in _runs_of_people(people.seen):
        reached = np.zeros(len(items) + 1, dtype=np.uint64)
        np.cumsum(_words(items, seed), out=reached[1:])
        totals[rows] = np.diff(reached[ends])
    own = _scrambled(totals)
    return Histories(*(_shown_part(part, own, seed) for part in (people.likes, people.seen)))


def _shown_part(part: csr_array, own: NDArray[np.uint64], seed: int) -> csr_array:
    limit = np.uint64(_SHOWN * 2**64)
    left: list[NDArray[np.integer]] = [np.empty(0, part.indices.dtype)]
    kept_ends = np.zeros_like(part.indptr)
    for rows, ends, items in _runs_of_people(part):
        words = _words(items, seed) ^ np.repeat(own[rows], np.diff(ends))
        shown = _scrambled(words) < limit
        left.append(items[shown])
        reached = np.append(0, np.cumsum(shown))
        kept_ends[1:][rows] = np.diff(reached[ends])
    items = np.concatenate(left)
    np.cumsum(kept_ends, out=kept_ends)
    return csr_array((np.ones(len(items)), items, kept_ends), shape=part.shape)


def _runs_of_people(
    part: csr_array,
) -> Iterator[tuple[slice, NDArray[np.integer], NDArray[np.integer]]]:
    """Yield runs of rows of a matrix with few enough ratings: the rows, where each row ends among
    the run's ratings, from 0 on, and the items.
    """
    # Words of all ratings at once would be several times as large as the ratings.
    firsts = np.searchsorted(part.indptr, np.arange(0, part.nnz, _RATINGS), side="right") - 1
    bounds = np.unique([*firsts.tolist(), part.shape[0]]).tolist()
    for start, stop in itertools.pairwise(bounds):
        ends = part.indptr[start : stop + 1]
        yield slice(start, stop), ends - ends[0], part.indices[ends[0] : ends[-1]]


def _words(items: NDArray[np.integer], seed: int) -> NDArray[np.uint64]:
    return _scrambled(items.astype(np.uint64) + np.uint64(seed))


def _scrambled(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return evenly spread words, the same for the same numbers (the finalizer of splitmix64)."""
    mixed = (numbers + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def fold_in_people(people: Histories, vectors: NDArray[np.float32], least_likes: int) -> Tastes:
    """Return people with their tastes (n_people, D): the sum of the vectors of a person's likes
    over sqrt(max(n_likes, least_likes)).
    """
    totals = people.likes @ vectors.astype(np.float64)
    return Tastes(totals / divisors(people.likes, least_likes), people, least_likes)


def divisors(likes: csr_array, least_likes: int) -> NDArray[np.float64]:
    """Return sqrt(max(n_likes, least_likes)) of each person, as a column (n_people, 1)."""
    roots: NDArray[np.float64] = np.sqrt(np.maximum(likes.sum(axis=1), least_likes))[:, None]
    return roots


@dataclass(frozen=True, eq=False)
class ItemFolder:
    """Folds items in by the likes (n_people, n) and the vectors (n, D) and boosts of others.

    A new item's scores s are those of EASE within the span of F, the vectors by row: with W the
    likes and w those of the new item, they minimize |w - W F s|^2 + lambda |F s|^2, and what they
    leave of w, with lambda, is 1 / d as in `ease`. How far such scores are from those that
    a model has, and how its boosts follow 1 / d, is read off the other items, each as if it were
    new.
    """

    likes: csr_array = field(repr=False)
    vectors: Matrix = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)
    penalty: float

    def fold_in(self, new_likes: csr_array) -> tuple[Matrix, Matrix]:
        """Return vectors (n_new, D) and boosts (n_new,) of new items, from who likes them, sparse
        (n_people, n_new) of ones. Boosts are between the least and the largest of the others.
        """
        people = self.likes @ self.vectors  # (n_people, D)
        spread = self.vectors.T @ self.vectors
        square = people.T @ people + self.penalty * spread
        square += np.eye(len(square)) * (_RIDGE * np.trace(square) / len(square) + 1e-12)
        level, slope, start = self._calibrate(people, square, spread)
        shared = new_likes.T @ people
        scores: Matrix = np.linalg.solve(square, shared.T).T
        left = self._log_left(np.asarray(new_likes.sum(axis=0)) - (shared * scores).sum(axis=1))
        lowest, highest = np.log(self.boosts.min()), np.log(self.boosts.max())
        boosts = np.exp(np.clip(start + slope * left, lowest, highest))
        return level * scores / boosts[:, None], boosts

    def _calibrate(
        self, people: Matrix, square: Matrix, spread: Matrix
    ) -> tuple[float, float, float]:
        """Predict some items, each by all others. Return the factor from predicted scores to the
        model's, and the slope and intercept of the line from the logarithm of what is left to that
        of boosts.
        """
        items = np.unique(np.linspace(0, len(self.vectors) - 1, _CALIBRATING).astype(np.int64))
        predicted, wanted, left = 0.0, 0.0, np.empty(len(items))
        for at, item in enumerate(items):
            own, likes = self.vectors[item], self.likes[:, [item]]
            count, shared = float(likes.sum()), (likes.T @ people).ravel()
            without = square - np.outer(shared, own) - np.outer(own, shared)
            without += (count - self.penalty) * np.outer(own, own)
            shared -= count * own
            scores = np.linalg.solve(without, shared)
            others = scores @ spread - (scores @ own) * own  # what likes of others would say
            predicted += float(others @ scores)
            wanted += float(others @ own * self.boosts[item])
            left[at] = count - shared @ scores
        slope, start = np.polyfit(self._log_left(left), np.log(self.boosts[items]), 1)
        return wanted / max(predicted, 1e-300), float(slope), float(start)

    def _log_left(self, squares: Matrix) -> Matrix:
        left: Matrix = np.log(self.penalty + np.maximum(squares, 0))
        return left
