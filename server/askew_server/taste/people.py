"""People and items folded in: who likes what, their profiles and tastes, and items that are new.

person    sum of v_i over likes / sqrt(max(n_likes, least_likes)), as on a device
new item  the scores that predict its likes best from people's tastes, by least squares
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from askew.errors import DataError
from askew.spaces.vectors import RatingScale
from askew_server.ratings.reader import RatingTable
from askew_server.taste.options import round_to_one_digit

_SHOWN = 0.8  # of each person's ratings make a profile, as if the rest were still to come
_RIDGE = 1e-2
_CALIBRATING = 300  # items
_AT_ONCE = 1 << 14  # people, whose ratings' words are in memory at once
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
        numbers = {"people": self.seen.shape[0], "ratings": self.seen.nnz, "likes": self.likes.nnz}
        return {name: round_to_one_digit(number) for name, number in numbers.items()}

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


def histories_of(table: RatingTable, kept: NDArray[np.intp], scale: RatingScale) -> Histories:
    """Return what all people of a table like, from scale.like_from on, and have seen of the kept
    items, (n_people, kept). Raises DataError for a rating off the scale, of any item, and where
    nobody likes any of these items.
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


def sample_profiles(people: Histories, seed: int) -> Histories:
    """Return the histories of people with about four fifths of each one's ratings, since they have
    more to like than they said. Who likes nothing of it is left out.

    Which ratings are left out depends on the seed and on the person's own items alone: otherwise
    one person more would change everybody's profile, and no release of them could hide that person.
    """
    shown = _shown(people, seed)
    return shown.select(np.flatnonzero(np.diff(shown.likes.indptr)))


def split_ratings(people: Histories, seed: int) -> tuple[Histories, csr_array]:
    """Return the histories of all people with the ratings that `sample_profiles` shows, also of
    those who like none of these, and the likes that it leaves out, (n_people, n_items) of ones.
    """
    shown = _shown(people, seed)
    held_out = csr_array(people.likes - shown.likes)
    held_out.eliminate_zeros()
    return shown, held_out


def _shown(people: Histories, seed: int) -> Histories:
    parts, (n_people, n_items) = [], people.seen.shape
    for start in range(0, n_people, _AT_ONCE):
        part = csr_array(people.seen[start : start + _AT_ONCE].copy())  # else a view
        of_items = _scrambled(part.indices.astype(np.uint64) + np.uint64(seed))
        words = csr_array((of_items, part.indices, part.indptr), part.shape)
        # A word of each person: the sum of the words of their items, modulo 2**64, scrambled.
        own = _scrambled(words @ np.ones(n_items, np.uint64))
        words.data ^= np.repeat(own, np.diff(part.indptr))
        part.data = (_scrambled(words.data) < np.uint64(_SHOWN * 2**64)).astype(np.float64)
        part.eliminate_zeros()
        parts.append(part)
    seen = csr_array(vstack(parts, format="csr"))
    return Histories(csr_array(people.likes * seen), seen)


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


def fold_in_items(
    likes: csr_array, vectors: Matrix, boosts: NDArray[np.float32], penalty: float, new: csr_array
) -> tuple[Matrix, Matrix]:
    """Return vectors (n_new, D) and boosts (n_new,) of new items, from who likes them, sparse
    (n_people, n_new) of ones, and the likes (n_people, n), vectors (n, D) and boosts of others.

    A new item's scores s are those of EASE within the span of F, the vectors by row: with W the
    likes and w those of the new item, they minimize |w - W F s|^2 + lambda |F s|^2, and what they
    leave of w, with lambda, is 1 / d as in `ease`. How far such scores are from those that a model
    has, and how its boosts follow 1 / d, is read off the other items, each as if it were new.
    Boosts are between the least and the largest of the others.
    """
    people = likes @ vectors  # (n_people, D)
    spread = vectors.T @ vectors
    square = people.T @ people + penalty * spread
    square += np.eye(len(square)) * (_RIDGE * np.trace(square) / len(square) + 1e-12)

    items = np.unique(np.linspace(0, len(vectors) - 1, _CALIBRATING).astype(np.int64))
    predicted, wanted, left = 0.0, 0.0, np.empty(len(items))
    for at, item in enumerate(items):
        own, its_likes = vectors[item], likes[:, [item]]
        count, shared = float(its_likes.sum()), (its_likes.T @ people).ravel()
        without = square - np.outer(shared, own) - np.outer(own, shared)
        without += (count - penalty) * np.outer(own, own)
        shared -= count * own
        scores = np.linalg.solve(without, shared)
        others = scores @ spread - (scores @ own) * own  # what likes of others would say
        predicted += float(others @ scores)
        wanted += float(others @ own * boosts[item])
        left[at] = count - shared @ scores
    log_left = np.log(penalty + np.maximum(left, 0))
    slope, start = np.polyfit(log_left, np.log(boosts[items]), 1)

    shared = new.T @ people
    scores = np.linalg.solve(square, shared.T).T
    left = np.asarray(new.sum(axis=0)) - (shared * scores).sum(axis=1)
    log_boosts = float(start) + float(slope) * np.log(penalty + np.maximum(left, 0))
    new_boosts = np.exp(np.clip(log_boosts, np.log(boosts.min()), np.log(boosts.max())))
    return wanted / max(predicted, 1e-300) * scores / new_boosts[:, None], new_boosts
