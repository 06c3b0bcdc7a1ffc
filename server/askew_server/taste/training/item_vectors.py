"""The item vectors in which tastes are expressed: learned from the ratings, or fixed in advance.

Learned vectors move with every person. Fixed ones, of a model that none of these people is in, come
with their items and their rating scale: they tell nothing of these people.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.catalog.neighbors import TOP, Neighbors
from askew.errors import DataError, ParameterError
from askew.spaces.item_codes import rounded_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste.training import ease
from askew_server.taste.training.factors import (
    Histories,
    fold_in_people,
    people_of,
    snapshot,
)
from askew_server.taste.training.options import TrainingOptions
from askew_server.taste.training.space_fit import round_for, scale_of
from askew_server.taste.training.tuning import learned, tuned


@dataclass(frozen=True, eq=False)
class Expressed:
    """People, and the items that their tastes are expressed in: keys, vectors (n_items, D) rounded
    to what codes of these scales (D,) can say, and boosts (n_items,). neighbors: where vectors
    leave something that is worth saying.
    """

    keys: tuple[str, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)
    scales: NDArray[np.float32] = field(repr=False)
    scale: RatingScale
    people: Histories = field(repr=False)
    options: TrainingOptions
    neighbors: Neighbors | None = field(default=None, repr=False)

    def in_order(self, order: NDArray[np.int64]) -> Expressed:
        """The same items in another order (n_items,)."""
        people = Histories(self.people.likes[:, order], self.people.seen[:, order])
        keys = tuple([self.keys[item] for item in order])
        vectors, boosts = self.vectors[order], self.boosts[order]
        found = self.neighbors and self.neighbors.moved(np.argsort(order), len(order))
        return replace(
            self, keys=keys, vectors=vectors, boosts=boosts, people=people, neighbors=found
        )

    @property
    def scoring(self) -> NDArray[np.float32]:
        """What a taste is multiplied with to rank, (n_items, D)."""
        scoring: NDArray[np.float32] = self.vectors * self.boosts[:, None]
        return scoring


class VectorSource(ABC):
    """Gives the vectors of a training. fixed: they were there before anybody was trained on."""

    fixed = True

    def tuned(self, table: RatingTable, options: TrainingOptions) -> TrainingOptions:  # noqa: ARG002
        """Return a penalty, a dimension and neighbors that suit these people."""
        return options

    @abstractmethod
    def express(self, table: RatingTable, options: TrainingOptions) -> Expressed:
        """Return the people of a table. Raises DataError where they cannot be expressed so."""


class LearnedVectors(VectorSource):
    """Symmetric EASE of these very people's likes, of the items that are rated often enough."""

    fixed = False

    def tuned(self, table: RatingTable, options: TrainingOptions) -> TrainingOptions:
        """What does best for some of these people by likes held out; nothing for too few."""
        try:
            people = _told(table, options)[1]
        except DataError:
            return options
        return tuned(people, options).of(options)

    def express(self, table: RatingTable, options: TrainingOptions) -> Expressed:
        """As many dimensions as were asked for, or as do best, or as the ratings have."""
        keys, people = _told(table, options)
        scale = scale_of(table, options.like_from)
        design = tuned(people, options)
        options, factors = design.of(options), learned(people.likes, design)
        exact = factors.vectors.astype(np.float32)
        tastes = fold_in_people(snapshot(people, options.seed), exact, options.least_likes)
        vectors, scales = round_for(tastes.vectors, exact)
        boosts = rounded_boosts(factors.boosts.astype(np.float32))
        found = _neighbors(factors, vectors, options.neighbors or 0)
        return Expressed(keys, vectors, boosts, scales, scale, people, options, found)


def _neighbors(factors: ease.Factors, vectors: NDArray[np.float32], most: int) -> Neighbors | None:
    """What these vectors leave, in codes of 4 bits: the largest is 15."""
    if not most or factors.inverse is None:
        return None
    pairs = ease.residual(factors.inverse, factors.scale, vectors, most)
    step = float(pairs.value.max(initial=0)) / TOP
    codes = np.rint(pairs.value / (step or 1)).astype(np.uint8)
    said = np.flatnonzero(codes)
    if not said.size:
        return None
    said = said[np.argsort(pairs.item[said], kind="stable")]
    item = pairs.item[said]
    place = np.arange(len(item)) - np.searchsorted(item, item)
    shape = (len(vectors), most)
    items_of, codes_of = np.zeros(shape, np.uint16), np.zeros(shape, np.uint8)
    items_of[item, place], codes_of[item, place] = pairs.neighbor[said], codes[said]
    return Neighbors(items_of, codes_of, step)


def _told(table: RatingTable, options: TrainingOptions) -> tuple[tuple[str, ...], Histories]:
    """The items that are rated often enough, and the people. Raises DataError for too few."""
    scale, kept = scale_of(table, options.like_from), often_rated(table, options.min_ratings)
    if min(table.n_people, len(kept)) - 1 < options.dimension:
        raise DataError(
            f"{table.n_people} people and {len(kept)} items with at least "
            f"{options.min_ratings} ratings do not make {options.dimension} dimensions"
        )
    return tuple(table.item_keys[i] for i in kept), people_of(table, kept, scale)


@dataclass(frozen=True, eq=False)
class FixedVectors(VectorSource):
    """Items and vectors of a model that was there before, in its space."""

    keys: tuple[str, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)
    space: FeatureSpace

    def express(self, table: RatingTable, options: TrainingOptions) -> Expressed:
        """All its items, rated or not. Raises ParameterError for another scale or dimension."""
        if options.like_from not in {None, self.space.scale.like_from}:
            limit = f"{self.space.scale.like_from:g}, as in the model that the vectors are from"
            raise ParameterError("like_from", options.like_from, limit)
        if table.scale not in {None, self.space.scale}:
            limit = "left out: the vectors are from a model of ratings"
            raise ParameterError("counts", options.counts, limit)
        options = replace(options, ranking_dimension=self.vectors.shape[1])
        scale, scales = self.space.scale, self.space.scales
        people = people_by_key(table, self.keys, scale)
        return Expressed(self.keys, self.vectors, self.boosts, scales, scale, people, options)


@dataclass(frozen=True, eq=False)
class ImportedVectors(VectorSource):
    """Items and vectors that were not made of these people, which codes cannot say yet. boosts:
    1 each where there are none.
    """

    keys: tuple[str, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    scale: RatingScale
    boosts: NDArray[np.float32] | None = field(default=None, repr=False)

    def express(self, table: RatingTable, options: TrainingOptions) -> Expressed:
        """All its items, rounded so that these people's scores stay."""
        people = people_by_key(table, self.keys, self.scale)
        tastes = fold_in_people(people, self.vectors, options.least_likes)
        vectors, scales = round_for(tastes.vectors, self.vectors)
        alike = np.ones(len(vectors), dtype=np.float32)
        boosts = alike if self.boosts is None else rounded_boosts(self.boosts)
        return Expressed(self.keys, vectors, boosts, scales, self.scale, people, options)


def often_rated(table: RatingTable, least: int) -> NDArray[np.intp]:
    """The items with at least so many ratings, in the table's order."""
    return np.flatnonzero(np.bincount(table.item, minlength=len(table.item_keys)) >= least)


def matched(
    keys: Sequence[str], others: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of keys that both have, in the ones and in the others. Raises DataError
    where there are none.
    """
    places = {key: place for place, key in enumerate(others)}
    pairs = [(new, places[key]) for new, key in enumerate(keys) if key in places]
    if not pairs:
        raise DataError("none of these items is in the model: train a new one")
    new, old = np.array(pairs, dtype=np.int64).T
    return new, old


def people_by_key(table: RatingTable, keys: tuple[str, ...], scale: RatingScale) -> Histories:
    """Who likes and has seen what of the items with these keys. Raises DataError for none."""
    new, old = matched(keys, table.item_keys)
    found = people_of(table, old, scale)
    shape = (table.n_people, len(keys))
    return Histories(*(_spread(part, new, shape) for part in (found.likes, found.seen)))


def _spread(part: csr_array, columns: NDArray[np.int64], shape: tuple[int, int]) -> csr_array:
    where = part.tocoo()
    return csr_array((where.data, (where.row, columns[where.col])), shape=shape)
