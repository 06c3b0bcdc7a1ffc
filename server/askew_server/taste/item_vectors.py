"""The item vectors in which tastes are expressed: learned, fixed in advance, or imported.

Learned vectors move with every person. Fixed ones, of a model that none of these people is in, come
with their items and their rating scale: they tell nothing of these people.

What learned ones are fitted by is chosen on likes held out from people held out:

    penalty    the lambda of EASE, halved and doubled for as long as that helps
    rank       64 ranking dimensions, or as many as were asked for. More say more of whom a model
               was trained on: on MovieLens 100K two trainings of 64 and 13 neighbors gave back 16 %
               of likes, of 128 dimensions 24 %. Fewer say less: on its latest small log 48 gave
               back 1.5 points less, and had .97 ± .015 of the NDCG@10 of EASE where 64 had .98 ±
               .013
    neighbors  as many as 66 bytes an item leave room for beside the vector, 13 for 64 dimensions;
               or none, where they do not help

A fifth of the people, at most `_MOST`, are left out of G; of each of their ratings a fifth is held
out, and models are compared by their NDCG@10 + recall@20 (`taste.measures`). Few people make a
noisy choice, so several fifths take turns until there are about `_ENOUGH`. The most liked items
stand for all of a large catalog: G of those is a part of G, and the same penalty suits both.

A model tells nothing of this but what was chosen; its figures are of other people, who chose
nothing (`evaluation`). The dealing is by the seed, and protects nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.catalog.catalog import TOP, Neighbors
from askew.errors import DataError, ParameterError
from askew.spaces.item_codes import rounded_boosts
from askew.spaces.vectors import RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste import ease
from askew_server.taste.measures import HeldOutPeople, Scorer
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import Histories, fold_in_people, histories_of, sample_profiles
from askew_server.taste.space_fit import rating_scale_of, round_vectors

RANK = 64
ITEM_BYTES = 66
_MOST, _ENOUGH, _MOST_FOLDS = 1000, 600, 5
_FEWER = 2000  # the most liked items, which stand for all of a large catalog
_SHOWN = 0.8  # of each person's ratings
Fold = tuple[NDArray[np.float64], HeldOutPeople]  # G without some people, and those people
_FIRST, _LEAST, _LARGEST = 100.0, 0.5, 1e5


def neighbors_beside(rank: int) -> int:
    """Return how many neighbors, of 2.5 bytes each, an item has room for in 66 bytes, beside a
    vector of this rank, half a byte a dimension, and a boost of one: 13 up to 64 dimensions, 6 for
    96, 0 from 125 on.
    """
    return max(min((ITEM_BYTES - (rank + 1) // 2 - 1) * 2 // 5, 13), 0)


def tune_options(people: Histories, options: TrainingOptions) -> TrainingOptions:
    """Return the options with what they leave open filled in: the ranking dimension is 64; the
    penalty, 100 halved or doubled, and the neighbors, 0 or `neighbors_beside`, are what does best
    by likes held out. The dimension is always below the numbers of people and of items; above 6,000
    items there are 0 neighbors.
    """
    rank = min(options.ranking_dimension or RANK, *(n - 1 for n in people.likes.shape))
    if people.likes.shape[1] > ease.DENSE_ITEMS:
        counts = [0]  # neighbors are taken of P, which is not computed
    elif options.neighbors is not None:
        counts = [options.neighbors]
    else:
        counts = list(dict.fromkeys((0, neighbors_beside(rank))))
    penalty = options.penalty
    if penalty is None:
        some = people
        if people.likes.shape[1] > _FEWER:
            order = np.argsort(-np.asarray(people.likes.sum(axis=0)), kind="stable")
            some = people.select_items(np.sort(order[:_FEWER]))
        folds = list(_folds(some, options.seed))
        penalty = _best_penalty(folds, rank, counts[0])
    best = 0
    if len(counts) > 1:
        folds = list(_folds(people, options.seed))
        best = int(np.argmax(_accuracies(folds, penalty, rank, counts)))
    return replace(options, penalty=penalty, ranking_dimension=rank, neighbors=counts[best])


def _best_penalty(folds: Sequence[Fold], rank: int, count: int) -> float:
    penalty, best = _FIRST, _accuracies(folds, _FIRST, rank, [count])[0]
    for step in (0.5, 2.0):
        while _LEAST < penalty * step < _LARGEST:
            accuracy = _accuracies(folds, penalty * step, rank, [count])[0]
            if not accuracy > best:
                break
            penalty, best = penalty * step, accuracy
    return penalty


def _accuracies(
    folds: Sequence[Fold], penalty: float, rank: int, counts: Sequence[int]
) -> NDArray[np.float64]:
    # The mean NDCG@10 + recall@20 of everybody held out, for each number of neighbors.
    totals, n_people = np.zeros(len(counts)), 0
    for gram, people in folds:
        inverse = ease.inverse_of(gram, penalty)
        most = min(rank, len(inverse) - 1)
        factors = ease.factors_of(gram.__matmul__, np.diag(inverse), penalty, most)
        for at, count in enumerate(counts):
            pairs = ease.neighbor_pairs(inverse, factors.scale, factors.vectors, count)
            both = csr_array(pairs + pairs.T)
            accuracy = people.evaluate(factor_scorer(factors.vectors, factors.boosts, both))
            totals[at] += np.nansum(accuracy.ndcg) + np.nansum(accuracy.recall)
        n_people += int((~np.isnan(accuracy.ndcg)).sum())
    mean: NDArray[np.float64] = totals / max(n_people, 1)
    return mean


def factor_scorer(
    vectors: NDArray[np.floating], boosts: NDArray[np.floating], pairs: csr_array
) -> Scorer:
    """Return a scorer, of scores (n, n_items) for likes (n, n_items): the product of an item's
    vector with the sum of liked items' vectors, plus what pairs (n_items, n_items) add for likes,
    all of it times the item's boost.
    """

    def score(likes: csr_array) -> NDArray[np.floating]:
        scores = (likes @ vectors) @ vectors.T + (likes @ pairs).toarray()
        return np.asarray(scores * boosts)

    return score


def _folds(people: Histories, seed: int) -> Iterator[Fold]:
    rng = np.random.default_rng([seed, 18])
    order = rng.permutation(people.likes.shape[0])
    size = max(min(_MOST, len(order) // _MOST_FOLDS), 1)
    count = min(-(-_ENOUGH // size), _MOST_FOLDS)
    gram = ease.gram_of(people.likes)
    for start, stop in pairwise(range(0, (count + 1) * size, size)):
        rows = np.sort(order[start:stop])
        likes, seen = csr_array(people.likes[rows]), csr_array(people.seen[rows])
        yield gram - ease.gram_of(likes), hold_out_ratings(likes, seen, rng)


def hold_out_ratings(likes: csr_array, seen: csr_array, rng: np.random.Generator) -> HeldOutPeople:
    """Return the HeldOutPeople of these likes and ratings (n, n_items): each rating is shown with a
    chance of .8; the likes among the others are the held-out likes.
    """
    shown = seen.copy()
    shown.data = (rng.random(shown.nnz) < _SHOWN).astype(np.float64)
    shown.eliminate_zeros()
    shown_likes = csr_array(likes * shown)
    held_out = csr_array(likes - shown_likes)
    held_out.eliminate_zeros()
    return HeldOutPeople(shown_likes, shown, held_out)


@dataclass(frozen=True, eq=False)
class FittedItems:
    """Items, and the people whose tastes they express.

    vectors: (n_items, D), rounded to what codes of these scales (D,) can say. boosts: (n_items,).
    neighbors: where vectors leave something that is worth saying.
    """

    keys: tuple[str, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    boosts: NDArray[np.float32] = field(repr=False)
    scales: NDArray[np.float32] = field(repr=False)
    scale: RatingScale
    people: Histories = field(repr=False)
    options: TrainingOptions
    neighbors: Neighbors | None = field(default=None, repr=False)

    def in_order(self, order: NDArray[np.int64]) -> FittedItems:
        """Return the same items in another order: item order[i] comes to place i."""
        return replace(
            self,
            keys=tuple([self.keys[item] for item in order]),
            vectors=self.vectors[order],
            boosts=self.boosts[order],
            people=self.people.select_items(order),
            neighbors=self.neighbors and self.neighbors.moved(np.argsort(order), len(order)),
        )

    @property
    def scoring(self) -> NDArray[np.float32]:
        """Return each item's vector times its boost, (n_items, D), which a taste is multiplied with
        to rank.
        """
        scoring: NDArray[np.float32] = self.vectors * self.boosts[:, None]
        return scoring


def tune_for_people(table: RatingTable, options: TrainingOptions) -> TrainingOptions:
    """Return the options filled in as by `tune_options`, by these people's likes of the items with
    min_ratings ratings or more; the options as they are where there is too little to train on.
    """
    try:
        people = _often_rated_histories(table, options)[1]
    except DataError:
        return options
    return tune_options(people, options)


def learn_vectors(table: RatingTable, options: TrainingOptions) -> FittedItems:
    """Return the items with options.min_ratings ratings or more, in the table's order, with vectors
    by symmetric EASE of these people's likes, by options as `tune_options` fills them in. Raises
    DataError where people or items are not more than the signal's dimensions, nobody likes
    anything, or as `rating_scale_of`.
    """
    keys, people = _often_rated_histories(table, options)
    scale = rating_scale_of(table, options.like_from)
    options = tune_options(people, options)
    penalty, rank = options.penalty or 0.0, options.ranking_dimension or 0
    if people.likes.shape[1] > ease.DENSE_ITEMS:
        factors = ease.fit_sparse(people.likes, penalty, rank)
    else:
        factors = ease.fit(ease.gram_of(people.likes), penalty, rank)
    exact = factors.vectors.astype(np.float32)
    tastes = fold_in_people(sample_profiles(people, options.seed), exact, options.least_likes)
    vectors, scales = round_vectors(tastes.vectors, exact)
    boosts = rounded_boosts(factors.boosts.astype(np.float32))
    neighbors = _encode_neighbors(factors, vectors, options.neighbors or 0)
    return FittedItems(keys, vectors, boosts, scales, scale, people, options, neighbors)


def _often_rated_histories(
    table: RatingTable, options: TrainingOptions
) -> tuple[tuple[str, ...], Histories]:
    scale, kept = rating_scale_of(table, options.like_from), often_rated(table, options.min_ratings)
    if min(table.n_people, len(kept)) - 1 < options.dimension:
        raise DataError(
            f"{table.n_people} people and {len(kept)} items with at least "
            f"{options.min_ratings} ratings do not make {options.dimension} dimensions"
        )
    return tuple(table.item_keys[i] for i in kept), histories_of(table, kept, scale)


def _encode_neighbors(
    factors: ease.Factors, vectors: NDArray[np.float32], most: int
) -> Neighbors | None:
    if not most or factors.inverse is None:
        return None
    pairs = ease.neighbor_pairs(factors.inverse, factors.scale, vectors, most)
    step = float(pairs.data.max(initial=0)) / TOP
    codes = np.rint(pairs.data / (step or 1)).astype(np.uint8)
    kept = np.flatnonzero(codes)
    if not kept.size:
        return None
    kept = kept[np.argsort(pairs.row[kept], kind="stable")]
    item = pairs.row[kept]
    place = np.arange(len(item)) - np.searchsorted(item, item)
    shape = (len(vectors), most)
    items_of, codes_of = np.zeros(shape, np.uint16), np.zeros(shape, np.uint8)
    items_of[item, place], codes_of[item, place] = pairs.col[kept], codes[kept]
    return Neighbors(items_of, codes_of, step)


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Items, their vectors (n_items, D) and boosts (n_items,) from before anybody was trained on.

    boosts: 1 for every item where there are none. scales: (D,), of the codes that say the vectors;
    None where codes cannot say them yet.
    """

    keys: tuple[str, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    scale: RatingScale
    boosts: NDArray[np.float32] | None = field(default=None, repr=False)
    scales: NDArray[np.float32] | None = field(default=None, repr=False)

    def fit(self, table: RatingTable, options: TrainingOptions) -> FittedItems:
        """Return all these items, rated or not, and the likes and ratings of these people,
        (n_people, n_items). Vectors that codes can say stay to the bit; others are rounded to 4-bit
        codes so that these people's scores stay. Raises ParameterError for another rating scale, or
        counts, beside vectors of codes, and DataError as `histories_by_key`.
        """
        vectors, scales, boosts, scale = self.vectors, self.scales, self.boosts, self.scale
        if scales is not None and options.like_from not in {None, scale.like_from}:
            limit = f"{scale.like_from:g}, as in the model that the vectors are from"
            raise ParameterError("like_from", options.like_from, limit)
        if scales is not None and table.scale not in {None, scale}:
            limit = "left out: the vectors are from a model of ratings"
            raise ParameterError("counts", options.counts, limit)
        people = histories_by_key(table, self.keys, scale)
        if boosts is None:
            boosts = np.ones(len(vectors), dtype=np.float32)
        if scales is None:
            tastes = fold_in_people(people, vectors, options.least_likes)
            vectors, scales = round_vectors(tastes.vectors, vectors)
            boosts = rounded_boosts(boosts)
        options = replace(options, ranking_dimension=vectors.shape[1])
        return FittedItems(self.keys, vectors, boosts, scales, scale, people, options)


def often_rated(table: RatingTable, least: int) -> NDArray[np.intp]:
    """Return the places of the items with at least `least` ratings in the table's item keys,
    ascending.
    """
    return np.flatnonzero(np.bincount(table.item, minlength=len(table.item_keys)) >= least)


def match_keys(
    keys: Sequence[str], others: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the keys that both have, in `keys`, ascending, and in `others`, in the
    same order: [0, 1] and [2, 0] of "a", "b" and "b", "c", "a". Raises DataError where there are
    none.
    """
    places = {key: place for place, key in enumerate(others)}
    pairs = [(new, places[key]) for new, key in enumerate(keys) if key in places]
    if not pairs:
        raise DataError("none of these items is in the model: train a new one")
    new, old = np.array(pairs, dtype=np.int64).T
    return new, old


def histories_by_key(table: RatingTable, keys: tuple[str, ...], scale: RatingScale) -> Histories:
    """Return what all people of a table like and have seen of the items of these keys, (n_people,
    keys). Raises DataError where they rated none of these, like none, or gave any item a rating off
    the scale.
    """
    new, old = match_keys(keys, table.item_keys)
    people = histories_of(table, old, scale)

    def spread(part: csr_array) -> csr_array:
        where = part.tocoo()
        place = (where.row, new[where.col])
        return csr_array((where.data, place), shape=(table.n_people, len(keys)))

    return Histories(spread(people.likes), spread(people.seen))
