"""The model: factors that rank items, and a feature space in which people can be hidden.

`train` makes a model of ratings, in five steps:

    ratings   likes and what is seen, of the items that are rated often enough (`people`)
    factors   symmetric EASE, tuned by likes held out (`item_vectors`, `ease`),
              at 4 bits a number, in the order in which devices hold items
    space     directions, ranks and the unit of one rating (`space_fit`)
    catalog   words, vectors, boosts, neighbors, and the slate of no signal (`shared_slate`)
    card      what devices know of it
    figures   what a signal was worth to people held out (`evaluation`)

The guarantee of the exchange covers the person who asks. It does not cover the people trained on:
what a model tells about them is in `options`.

`import_model` makes one of vectors that another model has: it is fitted and measured as any other,
by simulated people. No figure of such a model is of people who rated anything; its card says so.

`update` makes a new catalog in the old space: items come, go and are scored anew, and no device
pays for it. The space stays, and with it every signal that a device has stored. Old items keep
their vectors, new ones are folded in with the factors at hand, items that are rated no more are
dropped; boosts and the shared slate are made anew. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.errors import DataError, OutOfRange
from askew.protocol.cards import ModelCard
from askew.spaces.item_codes import rounded, rounded_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.taste import imported_vectors
from askew_server.taste.evaluation import Evaluation, Figures, evaluate, split_people
from askew_server.taste.item_vectors import (
    FittedItems,
    GivenVectors,
    histories_by_key,
    learn_vectors,
    match_keys,
    often_rated,
    tune_for_people,
)
from askew_server.taste.options import TrainingOptions, count_in_words
from askew_server.taste.people import (
    Tastes,
    fold_in_items,
    fold_in_people,
    histories_of,
    sample_profiles,
    split_ratings,
)
from askew_server.taste.shared_slate import (
    catalog_items,
    device_order,
    put_default_items_first,
    shared_slate,
)
from askew_server.taste.space_fit import fit_space

Step = Callable[[str], None]
_ENOUGH = 0.95  # of the people, that a model is fitted to where the others are held out


@dataclass(frozen=True, eq=False)
class ItemModel:
    """A trained model: all of it public.

    keys: the name of each item in the ratings. training: the options it was made with. counts:
    about how many people, ratings and likes. figures: of people held out (`evaluation.evaluate`).
    """

    card: ModelCard
    catalog: Catalog
    keys: Sequence[str]
    training: TrainingOptions
    counts: Mapping[str, int]
    figures: Figures = field(default_factory=dict)

    @property
    def words(self) -> str:
        """Return the model in words for an operator, its number of items and where the card says it
        comes from: "3706 items, well-known films with SIMULATED ratings".
        """
        return f"{self.card.n_items} items, {self.card.source}"


def train(  # noqa: PLR0913 - what a model is made of
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    *,
    source: str,
    simulated: bool = False,
    vectors: GivenVectors | None = None,
    step: Step = lambda _: None,
) -> ItemModel:
    """Return a model trained on a table of ratings. Deterministic for a seed. vectors: None where
    they are learned of these people. step: is called with the name of each part of the work as it
    begins: "item vectors", those of `FittedModel.of`, "what it gives people held out".

    Every figure is of people who were in nothing of what is measured (`evaluation`): where they are
    more than a twentieth of all, of a model without them, and then one is made of everybody.

    Raises DataError when too few people, items or ratings are left to make d dimensions, or when
    what they make is no space that a device would enter.
    """
    with _as_data_errors("these ratings make no usable space"):
        held_out = split_people(table.n_people, options.seed)
        rest = np.setdiff1d(np.arange(table.n_people), held_out)
        others, people = table.only(rest), table.only(held_out)
        step("item vectors")
        if vectors is None:
            options = tune_for_people(others, options)
        enough = len(rest) >= _ENOUGH * table.n_people
        fitted = FittedModel.of(others if enough else table, rows, options, vectors, step)
        step("what it gives people held out")
        measured = fitted
        if not enough:
            # About the same items, and as many default items.
            fewer = max(fitted.items.options.min_ratings * len(rest) // table.n_people, 1)
            n_default = fitted.n_held or len(others.item_keys)
            options = replace(fitted.items.options, min_ratings=fewer, default_items=n_default)
            measured = FittedModel.of(others, rows, options, vectors, lambda _: None)
        figures = measured.evaluate(people)
        catalog, items = fitted.catalog, fitted.items
        card = ModelCard(
            space=fitted.space,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=len(catalog.shared_slate),
            source=source,
            simulated=simulated,
            n_default=fitted.n_default,
            median_distance=fitted.median_distance,
        )
        return ItemModel(card, catalog, items.keys, items.options, items.people.counts(), figures)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Factors, signal space and catalog of some people, before they are evaluated."""

    items: FittedItems
    n_default: int
    tastes: Tastes
    space: FeatureSpace
    median_distance: float
    catalog: Catalog

    @classmethod
    def of(
        cls,
        table: RatingTable,
        rows: Mapping[str, ItemRow],
        options: TrainingOptions,
        vectors: GivenVectors | None,
        step: Step,
    ) -> FittedModel:
        """Return the model of the people of a table: items with these vectors, or learned ones, in
        the order in which devices hold them, tastes, space and catalog. step: is called with
        "signal directions and the space" and "the shared slate" as these begin. Raises DataError as
        `train`.
        """
        fit = learn_vectors if vectors is None else vectors.fit
        items, n_default = put_default_items_first(fit(table, options), rows)
        options = items.options
        rng = np.random.default_rng(options.seed)  # choices about public figures: protects nobody
        # People are what most of their ratings make of them.
        profiles = sample_profiles(items.people, options.seed)
        tastes = fold_in_people(profiles, items.vectors, options.least_likes)
        step("signal directions and the space")
        d = options.dimension
        space, median = fit_space(tastes, items.vectors, items.scale, d, rng, scales=items.scales)
        step("the shared slate")
        catalog = _catalog(items, n_default, tastes, rows, rng)
        return cls(items, n_default, tastes, space, median, catalog)

    @property
    def n_held(self) -> int:
        """Return how many items every device has that asks: the default items, or 0 where devices
        hold all, and none asks.
        """
        return 0 if self.n_default == len(self.catalog) else self.n_default

    def held_out(self, people: RatingTable) -> Evaluation:
        """Return the evaluation by people (`Evaluation.of`), whose ratings are split here: about
        four fifths are on their devices, the others are held out. Raises DataError where they rated
        none of the model's items, like none of them, or gave a rating off the scale.
        """
        items = self.items
        try:
            histories = histories_by_key(people, items.keys, items.scale)
        except DataError as error:
            raise DataError(f"these people are held out, to measure by them: {error}") from None
        shown, liked = split_ratings(histories, items.options.seed)
        return Evaluation.of(shown, liked, self.space.encoder, items)

    def evaluate(self, people: RatingTable) -> Figures:
        """Return figures of people held out, as `evaluation.evaluate`. Raises DataError as
        `held_out`.
        """
        # Where devices hold all in any order: what would be the first of them?
        fitted = self if self.n_held else self.in_device_order()
        options, scoring = fitted.items.options, fitted.items.scoring
        rng = np.random.default_rng([options.seed, 11])  # choices about public figures

        def slate(n_held: int) -> tuple[int, ...]:
            if n_held == self.n_held:
                return self.catalog.shared_slate[: options.k]
            return shared_slate(fitted.tastes, scoring, rng, n_held, most=options.k)

        return evaluate(fitted.held_out(people), self.n_default, slate, options)

    def in_device_order(self) -> FittedModel:
        """Return the model with `items` and `tastes` in the order of `device_order`, as devices
        hold them that do not hold all. Its catalog stays as it is.
        """
        order = device_order(self.items)
        tastes = replace(self.tastes, people=self.tastes.people.select_items(order))
        return replace(self, items=self.items.in_order(order), tastes=tastes)


def _catalog(
    items: FittedItems,
    n_default: int,
    tastes: Tastes,
    rows: Mapping[str, ItemRow],
    rng: np.random.Generator,
) -> Catalog:
    n_held = n_default if n_default < len(items.keys) else 0
    slate = shared_slate(tastes, items.scoring, rng, n_held)
    words = catalog_items(items.keys, rows)
    return Catalog(words, items.vectors, items.boosts, slate, items.neighbors)


@contextmanager
def _as_data_errors(what: str) -> Iterator[None]:
    # A core type that refuses what the ratings make is an error of the ratings.
    try:
        yield
    except OutOfRange as error:
        raise DataError(f"{what}: {error}") from None


def import_model(  # noqa: PLR0913 - what a model is made of
    items: NDArray[np.float64],
    keys: tuple[str, ...],
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    scale: RatingScale,
    *,
    people: NDArray[np.float64] | None = None,
    step: Step = lambda _: None,
) -> tuple[ItemModel, RatingTable]:
    """Return a model of item vectors, fitted to simulated people, and their simulated ratings.
    Deterministic for a seed.

    items, keys: as `match_items` returns. scale: what people rate on, on their devices. people:
    user vectors, if there are any. step: is called with "simulated histories", then as in `train`.
    Raises DataError for user vectors of another length than the items', and what `train` raises.
    """
    step("simulated histories")
    rng = np.random.default_rng([options.seed, 16])  # made-up people: protects nobody
    vectors = imported_vectors.whiten_vectors(items)
    if people is None:
        likes = imported_vectors.simulate_likes(vectors, rng)
        source = f"with SIMULATED likes of {imported_vectors.MADE_UP:,} people"
    else:
        likes = imported_vectors.simulate_likes_of_users(people, items, rng)
        source = f"with likes SIMULATED from those of {count_in_words(len(people))} users"
    table = imported_vectors.ratings_of_likes(likes, keys, scale)
    size = vectors.shape[1]  # no signal has more numbers
    model = train(
        table,
        rows,
        replace(options, ranking_dimension=size, dimension=min(options.dimension, size)),
        source=f"vectors of another model, {source}",
        simulated=True,
        vectors=GivenVectors(keys, vectors, scale),
        step=step,
    )
    return model, table


def update(
    model: ItemModel,
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    *,
    source: str,
) -> ItemModel:
    """Return the model with the catalog of these ratings, in its old space. Deterministic, by the
    seed of its training. The figures stay those of the training.

    Raises DataError where no item is one of the model, ratings are off the scale, or nobody likes
    anything.
    """
    with _as_data_errors("these ratings make no usable catalog"):
        space, seed = model.card.space, model.training.seed
        items, n_default = put_default_items_first(_fold_in_new_items(model, table), rows)
        profiles = sample_profiles(items.people, seed)
        tastes = fold_in_people(profiles, items.vectors, space.encoder.least_likes)
        catalog = _catalog(items, n_default, tastes, rows, np.random.default_rng(seed))
        card = replace(
            model.card,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=len(catalog.shared_slate),
            source=source,
            n_default=n_default,
        )
        counts = items.people.counts()
        return replace(model, card=card, catalog=catalog, keys=items.keys, counts=counts)


def _fold_in_new_items(model: ItemModel, table: RatingTable) -> FittedItems:
    space, options = model.card.space, model.training
    kept = often_rated(table, options.min_ratings)
    keys = tuple(table.item_keys[i] for i in kept)
    people = histories_of(table, kept, space.scale)
    vectors = np.zeros((len(keys), space.ranking_dimension), dtype=np.float32)
    boosts = np.ones(len(keys), dtype=np.float32)
    stay, old = match_keys(keys, model.keys)
    vectors[stay], boosts[stay] = model.catalog.vectors[old], model.catalog.boosts[old]
    new = np.setdiff1d(np.arange(len(keys)), stay)
    if new.size:
        likes, penalty = people.likes, options.penalty or 1.0
        new_vectors, new_boosts = fold_in_items(
            likes[:, stay], vectors[stay].astype("f8"), boosts[stay], penalty, likes[:, new]
        )
        vectors[new] = rounded(new_vectors.astype(np.float32), space.scales)
        boosts[new] = rounded_boosts(new_boosts.astype(np.float32))
    neighbors = model.catalog.neighbors
    if neighbors is not None:
        places = np.full(len(neighbors), -1)
        places[old] = stay
        neighbors = neighbors.moved(places, len(keys))
    return FittedItems(keys, vectors, boosts, space.scales, space.scale, people, options, neighbors)
