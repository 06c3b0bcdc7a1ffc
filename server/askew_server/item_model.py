"""The model: factors that rank items, and a feature space in which people can be hidden.

The guarantee of the exchange covers the person who asks. It does not cover the people trained on:
items, directions and the shared slate are learned from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.encoder import MAX_DIMENSION, MAX_RANKING_DIMENSION
from askew.errors import DataError, OutOfRange, ParameterError
from askew.model_card import MAX_GENRES, Catalog, Item, ModelCard, RuleName, ServingRule
from askew.vectors import FeatureSpace, RatingScale
from askew_server.factors import factorize, fold_in_people, people_of, snapshot
from askew_server.ratings import ItemRow, RatingTable
from askew_server.shared_slate import SLATE_LIMIT, shared_slate
from askew_server.space_fit import fit_space

BOOST_EXPONENTS = (0.0, 0.5)


@dataclass(frozen=True)
class TrainingOptions:
    """Public parameters of the training; the model card repeats them.

    epsilon, k: what the model is for; a smaller epsilon wants fewer signal dimensions.
    dimension: of the signal space, or None for what suits epsilon. ranking_dimension: of the
    factors, fewer where the ratings do not fill them. boost_exponent: 0 ranks by score, 1/2 divides
    scores by the square root of an item's likes, for the long tail. min_ratings: items with fewer
    are left out. like_from: the lowest rating that is a like, or None for the upper quarter of the
    scale. least_likes: see `askew.encoder`. Raises ParameterError for a value out of range.
    """

    epsilon: float = 4.0
    k: int = 8
    dimension: int | None = None
    ranking_dimension: int = 32
    boost_exponent: float = 0.0
    min_ratings: int = 20
    least_likes: int = 20
    like_from: float | None = None
    rule: RuleName = "codebook"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.signal_dimension <= MAX_DIMENSION:
            raise ParameterError("dimension", self.dimension, f"from 1 to {MAX_DIMENSION}")
        if not self.signal_dimension <= self.ranking_dimension <= MAX_RANKING_DIMENSION:
            limit = f"from the signal dimension to {MAX_RANKING_DIMENSION}"
            raise ParameterError("ranking_dimension", self.ranking_dimension, limit)
        if self.boost_exponent not in BOOST_EXPONENTS:
            raise ParameterError("boost_exponent", self.boost_exponent, "0 or 0.5")
        if not 0 <= self.seed < 2**32:
            raise ParameterError("seed", self.seed, "from 0 to 4294967295")
        for name in ("min_ratings", "least_likes"):
            if not 1 <= getattr(self, name) <= 10_000:
                raise ParameterError(name, getattr(self, name), "from 1 to 10000")
        try:
            ServingRule(self.rule, self.epsilon, self.k)
        except OutOfRange as error:
            given = (self.rule, self.epsilon, self.k)
            raise ParameterError("rule, epsilon, k", given, error.limit) from None

    @property
    def signal_dimension(self) -> int:
        """The dimension of the signal space."""
        return dimension_for(self.epsilon) if self.dimension is None else self.dimension


def dimension_for(epsilon: float) -> int:
    """The signal dimension that gave the best picks at this epsilon, on the ratings tried."""
    return next((d for most, d in ((2, 1), (4, 2), (8, 4)) if epsilon <= most), 8)


@dataclass(frozen=True, eq=False)
class ItemModel:
    """A trained model: all of it public. keys: the name of each item in the ratings. training, and
    counts of people, ratings and likes: what the model is made of.
    """

    card: ModelCard
    catalog: Catalog
    keys: tuple[str, ...]
    training: TrainingOptions
    counts: Mapping[str, int]


def train(
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    *,
    source: str,
    simulated: bool = False,
) -> ItemModel:
    """The model of a table of ratings. Deterministic for a seed.

    Raises DataError when too few people, items or ratings are left to make d dimensions, or when
    what they make is no space that a device would enter.
    """
    try:
        return _fit(table, rows, options, source, simulated)
    except OutOfRange as error:
        raise DataError(f"these ratings make no usable space: {error}") from None


def _fit(
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    source: str,
    simulated: bool,
) -> ItemModel:
    scale = _scale_of(table, options.like_from)
    kept = often_rated(table, options.min_ratings)
    d = options.signal_dimension
    ranking = min(options.ranking_dimension, table.n_people - 1, len(kept) - 1)
    if ranking < d:
        raise DataError(
            f"{table.n_people} people and {len(kept)} items with at least "
            f"{options.min_ratings} ratings do not make {d} dimensions"
        )
    people = people_of(table, kept, scale)
    vectors = factorize(people.likes, ranking, options.seed)
    rng = np.random.default_rng(options.seed)  # choices about public figures: protects nobody
    tastes = fold_in_people(snapshot(people, rng), vectors, options.least_likes)
    space = fit_space(tastes, vectors, scale, d, rng)
    keys = tuple(table.item_keys[i] for i in kept)
    boosts = boosts_of(people.likes, options.boost_exponent)
    slate = shared_slate(tastes, vectors * boosts[:, None], rng)
    catalog = Catalog(items_of(keys, rows), vectors, boosts, slate)
    rule = ServingRule(options.rule, options.epsilon, options.k)
    card = card_of(space, catalog, rule, source, simulated=simulated)
    return ItemModel(card, catalog, keys, options, people.counts())


def often_rated(table: RatingTable, least: int) -> NDArray[np.intp]:
    """The items with at least so many ratings, in the table's order."""
    return np.flatnonzero(np.bincount(table.item, minlength=len(table.item_keys)) >= least)


def boosts_of(likes: csr_array, exponent: float) -> NDArray[np.float32]:
    """likes**-exponent of each item, (n_items,)."""
    boosts: NDArray[np.float64] = np.maximum(likes.sum(axis=0), 1.0) ** -exponent
    return boosts.astype(np.float32)


def items_of(keys: tuple[str, ...], rows: Mapping[str, ItemRow]) -> tuple[Item, ...]:
    """What is publicly known of items by key; an item without a row is named by its key."""
    return tuple(_item(key, rows) for key in keys)


def card_of(
    space: FeatureSpace, catalog: Catalog, rule: ServingRule, source: str, *, simulated: bool
) -> ModelCard:
    """The card of a catalog in a space."""
    return ModelCard(
        space=space,
        catalog_version=catalog.version,
        n_items=len(catalog),
        max_slate_size=min(SLATE_LIMIT, len(catalog)),
        source=source,
        simulated=simulated,
        rule=rule,
    )


def _scale_of(table: RatingTable, like_from: float | None) -> RatingScale:
    if not len(table):
        raise DataError("there are no ratings")
    lowest, highest = float(table.rating.min()), float(table.rating.max())
    if lowest == highest:
        raise DataError(f"every rating is {lowest:g}: there is no scale to learn from")
    if like_from is None:
        return RatingScale.between(lowest, highest)
    return RatingScale(lowest, highest, like_from)


def _item(key: str, rows: Mapping[str, ItemRow]) -> Item:
    row = rows.get(key)
    if row is None:
        return Item(_plain(f"item {key}"))
    return Item(_plain(row.title), row.year or None, tuple(map(_plain, row.genres[:MAX_GENRES])))


def _plain(text: str) -> str:
    """Text that every device accepts: a no-break space becomes a space, a zero width one goes."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable()) or "?"
