"""Who is who in one run of the protocol, from a seed.

People are dealt 66 : 17 : 17 to the server (trains the model and is its prior), to validation
(chooses among designs) and to clients (are measured, and nothing else). Items with fewer than
`min_ratings` ratings by the server's people are left out. Of every person's ratings a fifth is held
out; the rest is their profile. The prior is made of profiles too, since that is all that a client
will have: a prior of whole histories is a prior of other people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew.vectors import RatingScale
from askew_server.ratings import RatingTable
from askew_server.training.rating_scale import scale_of

SERVER_SHARE, VALIDATION_SHARE = Fraction(66, 100), Fraction(17, 100)
HELD_OUT = Fraction(1, 5)
_LEAST_PEOPLE = 20


@dataclass(frozen=True, eq=False)
class Split:
    """One deal. People by row; matrices are sparse, (n_people, n_items).

    server, validation, clients: rows of people. profile, held_out: ratings. item_codes: the
    table's code of each item. is_like: what counts as a like, by the scale.
    """

    server: NDArray[np.int64]
    validation: NDArray[np.int64]
    clients: NDArray[np.int64]
    profile: csr_array = field(repr=False)
    held_out: csr_array = field(repr=False)
    item_codes: NDArray[np.int64] = field(repr=False)
    scale: RatingScale

    @property
    def n_items(self) -> int:
        """The number of items that are left."""
        return len(self.item_codes)

    def likes(self, ratings: csr_array) -> csr_array:
        """1 where a rating is a like."""
        liked = ratings.tocoo()
        kept = liked.data >= self.scale.like_from
        ones = np.ones(int(kept.sum()), dtype=np.float64)
        return csr_array((ones, (liked.row[kept], liked.col[kept])), shape=ratings.shape)


def deal(table: RatingTable, seed: int, min_ratings: int) -> Split:
    """The split of a seed. Raises DataError when there is too little to split."""
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
    held = _held_out(person, rng)
    shape = (table.n_people, len(kept))
    parts = [csr_array((rating[m], (person[m], item[m])), shape=shape) for m in (~held, held)]
    return Split(server, validation, clients, parts[0], parts[1], kept, scale)


def _held_out(person: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """A fifth of each person's ratings, rounded down, drawn evenly."""
    order = np.lexsort((rng.random(len(person)), person))
    counts = np.bincount(person)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rank = np.empty(len(person), dtype=np.int64)
    rank[order] = np.arange(len(person)) - first[person[order]]
    out: NDArray[np.bool_] = rank < counts[person] // HELD_OUT.denominator
    return out
