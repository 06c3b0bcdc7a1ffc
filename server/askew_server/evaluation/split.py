"""Who is who in one run of the protocol, from a seed.

People are dealt 66 : 17 : 17 to the server (trains the model and is its prior), to validation
(chooses among designs) and to clients (are measured, and nothing else). Items with fewer than
`min_ratings` ratings by the server's people are left out. Of every person's ratings a fifth is held
out, drawn at random or their latest; the rest is their profile. With the latest, everybody's own
future is held out, but what the server's people did later than a client still trains it.

The prior is made of profiles too, since that is all that a client will have: a prior of whole
histories is a prior of other people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError
from askew.spaces.vectors import RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste.training.space_fit import scale_of

SERVER_SHARE, VALIDATION_SHARE = Fraction(66, 100), Fraction(17, 100)
HELD_OUT = Fraction(1, 5)
HeldOut = Literal["random", "latest"]
HELD_OUTS: tuple[HeldOut, ...] = get_args(HeldOut)
_LEAST_PEOPLE = 20


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
