"""The model: factors that rank items, and a feature space in which people can be hidden.

`train` makes a model of ratings, in five steps:

    ratings   likes and what is seen, of the items that are rated often enough (`training.factors`)
    factors   symmetric EASE, designed by likes held out (`training.item_vectors`, `.ease`,
              `.tuning`), at 4 bits a number, in the order in which devices hold items
    space     directions, ranks and the unit of one rating (`training.space_fit`)
    catalog   words, vectors, boosts, neighbors, and the slate of no signal (`model.shared_slate`)
    card      what devices know of it, and whether a signal was worth it to people held out
              (`model.held_out`)

The guarantee of the exchange covers the person who asks. It does not cover the people trained on:
what a model tells about them is in `training.options`.

`import_model` makes one of vectors that another model has: it is fitted and measured as any other,
by simulated people. No figure of such a model is of people who rated anything; its card says so.

`update` makes a new catalog in the old space: items come, go and are scored anew, and no device
pays for it. The space stays, and with it every signal that a device has stored. Known items keep
their vectors, new ones are folded in with the factors at hand, items that are rated no more are
dropped; boosts and the shared slate are made anew. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from askew.catalog.catalog import Catalog
from askew.errors import DataError, OutOfRange
from askew.protocol.model_card import ModelCard
from askew.spaces.item_codes import rounded, rounded_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.ratings.vectors import Vectors
from askew_server.taste.model.held_out import Figures, HeldOutGroup, evaluate, split_people
from askew_server.taste.model.shared_slate import (
    default_first,
    held_order,
    items_of,
    shared_slate,
)
from askew_server.taste.training import given_vectors
from askew_server.taste.training.factors import (
    Histories,
    KnownItems,
    Tastes,
    divided,
    fold_in_people,
    people_of,
    snapshot,
)
from askew_server.taste.training.given_vectors import (
    GivenItems,
    as_ratings,
    for_devices,
)
from askew_server.taste.training.item_vectors import (
    Expressed,
    ImportedVectors,
    LearnedVectors,
    VectorSource,
    matched,
    often_rated,
    people_by_key,
)
from askew_server.taste.training.options import TrainingOptions, in_words
from askew_server.taste.training.space_fit import fit_space

LEARNED_VECTORS = LearnedVectors()
Step = Callable[[str], None]
_ENOUGH = 0.95  # of the people, that a model is made of where the others are held out


@dataclass(frozen=True, eq=False)
class ItemModel:
    """A trained model: all of it public. keys: the name of each item in the ratings. training: the
    options it was made with. counts: about how many people, ratings and likes. figures: what people
    held out have (`held_out.evaluate`).
    """

    card: ModelCard
    catalog: Catalog
    keys: Sequence[str]
    training: TrainingOptions
    counts: Mapping[str, int]
    figures: Figures = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What it is, for an operator."""
        return f"{self.card.n_items} items, {self.card.source}"


def train(  # noqa: PLR0913 - what a model is made of
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    *,
    source: str,
    simulated: bool = False,
    vectors: VectorSource = LEARNED_VECTORS,
    step: Step = lambda _: None,
) -> ItemModel:
    """Return the model of a table of ratings. Deterministic for a seed. step is told each part of
    the work as it begins.

    Every figure is of people who were in nothing of what is measured (`model.held_out`): where they
    are more than a twentieth of all, of a model without them, and then one is made of everybody.

    Raises DataError when too few people, items or ratings are left to make d dimensions, or when
    what they make is no space that a device would enter.
    """
    with _as_data_errors("these ratings make no usable space"):
        held_out = split_people(table.n_people, options.seed)
        rest = np.setdiff1d(np.arange(table.n_people), held_out)
        others, people = table.only(rest), table.only(held_out)
        step("item vectors")
        options = vectors.tuned(others, options)
        enough = len(rest) >= _ENOUGH * table.n_people
        fitted = FittedModel.of(others if enough else table, rows, options, vectors, step)
        step("what it gives people held out")
        measured = fitted if enough else fitted.without(others, rows, vectors)
        figures, worth_asking = measured.evaluate(people)
        catalog, told = fitted.catalog, fitted.told
        card = ModelCard(
            space=fitted.space,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=len(catalog.shared_slate),
            source=source,
            simulated=simulated,
            n_default=fitted.n_default,
            median_distance=fitted.median_distance,
            worth_asking=worth_asking,
        )
        return ItemModel(card, catalog, told.keys, told.options, told.people.counts(), figures)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Factors, signal space and catalog of some people, before anybody asks what they are worth."""

    told: Expressed
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
        vectors: VectorSource,
        step: Step,
    ) -> FittedModel:
        """Fit the people of a table: ratings, factors, space and catalog."""
        # Factors: items as vectors that 4 bits a number can say, in the order in which devices
        # hold them. People are what most of their ratings make of them.
        told, n_default = default_first(vectors.express(table, options), rows)
        options, people = told.options, told.people
        rng = np.random.default_rng(options.seed)  # choices about public figures: protects nobody
        tastes = fold_in_people(snapshot(people, options.seed), told.vectors, options.least_likes)
        step("signal directions and the space")
        d = options.dimension
        space, median = fit_space(tastes, told.vectors, told.scale, d, rng, scales=told.scales)
        step("the shared slate")
        held = n_default if n_default < len(told.keys) else 0
        slate = shared_slate(tastes, told.scoring, rng, held)
        words = items_of(told.keys, rows)
        catalog = Catalog(words, told.vectors, told.boosts, slate, told.neighbors)
        return cls(told, n_default, tastes, space, median, catalog)

    @property
    def held(self) -> int:
        """How many items everybody has who asks."""
        return 0 if self.n_default == len(self.catalog) else self.n_default

    def without(
        self, others: RatingTable, rows: Mapping[str, ItemRow], vectors: VectorSource
    ) -> FittedModel:
        """The same of fewer people, with about the same items and as many for everybody."""
        options, n_people = self.told.options, self.told.people.seen.shape[0]
        fewer = max(options.min_ratings * others.n_people // n_people, 1)
        held = self.held or len(others.item_keys)
        options = replace(options, min_ratings=fewer, default_items=held)
        return FittedModel.of(others, rows, options, vectors, lambda _: None)

    def held_out(self, people: RatingTable) -> HeldOutGroup:
        """Return people held out, as their devices see them. Raises DataError where they have no
        likes.
        """
        told = self.told
        try:
            known = people_by_key(people, told.keys, told.scale)
        except DataError as error:
            raise DataError(f"these people are held out, to measure by them: {error}") from None
        shown, liked = divided(known, told.options.seed)
        return HeldOutGroup.of(shown, liked, self.space.encoder, told, self.held)

    def evaluate(self, people: RatingTable) -> tuple[Figures, bool]:
        """Return what people held out have by what they hold and ask (`held_out.evaluate`)."""
        # Where devices hold all in any order: what would be the first of them?
        fitted = self if self.held else self.in_held_order()
        options, scoring = fitted.told.options, fitted.told.scoring
        rng = np.random.default_rng([options.seed, 11])  # choices about public figures

        def slate(held: int) -> tuple[int, ...]:
            if held == self.held:
                return self.catalog.shared_slate[: options.k]
            return shared_slate(fitted.tastes, scoring, rng, held, most=options.k)

        return evaluate(fitted.held_out(people), self.n_default, slate, options)

    def in_held_order(self) -> FittedModel:
        """The same, but for the catalog, with items as devices hold them that do not hold all."""
        order, people = held_order(self.told), self.tastes.people
        people = Histories(people.likes[:, order], people.seen[:, order])
        return replace(
            self, told=self.told.in_order(order), tastes=replace(self.tastes, people=people)
        )


@contextmanager
def _as_data_errors(what: str) -> Iterator[None]:
    """A core type that refuses what the ratings make is an error of the ratings."""
    try:
        yield
    except OutOfRange as error:
        raise DataError(f"{what}: {error}") from None


def import_model(  # noqa: PLR0913 - what a model is made of
    items: GivenItems,
    people: Vectors | None,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    scale: RatingScale,
    *,
    step: Step = lambda _: None,
) -> tuple[ItemModel, RatingTable]:
    """Return the model, and the simulated ratings that it is fitted to. scale: what people rate on,
    on their devices. Deterministic for a seed.

    Raises DataError for user vectors of another geometry, and as `train`.
    """
    step("simulated histories")
    rng = np.random.default_rng([options.seed, 16])  # made-up people: protects nobody
    folded = for_devices(items.vectors)
    if people is None:
        likes = given_vectors.made_up(folded, rng)
        source = (
            f"vectors of another model, with SIMULATED likes of {given_vectors.MADE_UP:,} people"
        )
    else:
        likes = given_vectors.of_people(people.numbers, items.vectors, rng)
        of = in_words(len(people))
        source = f"vectors of another model, with likes SIMULATED from those of {of} users"
    table = as_ratings(likes, items.keys, scale)
    size = folded.shape[1]  # no signal has more numbers
    sized = replace(options, ranking_dimension=size, dimension=min(options.dimension, size))
    given = ImportedVectors(items.keys, folded, scale)
    model = train(table, rows, sized, source=source, simulated=True, vectors=given, step=step)
    return model, table


def update(
    model: ItemModel,
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    *,
    source: str,
) -> ItemModel:
    """The model with the catalog of these ratings. Deterministic, by the seed of its training. The
    figures stay those of the training.

    Raises DataError where no item is known, ratings are off the scale, or nobody likes anything.
    """
    with _as_data_errors("these ratings make no usable catalog"):
        space, options = model.card.space, model.training
        told, n_default = default_first(_expressed(model, table), rows)
        keys, vectors, people = told.keys, told.vectors, told.people
        rng = np.random.default_rng(options.seed)
        tastes = fold_in_people(snapshot(people, options.seed), vectors, space.encoder.least_likes)
        held = n_default if n_default < len(keys) else 0
        slate = shared_slate(tastes, told.scoring, rng, held)
        catalog = Catalog(items_of(keys, rows), vectors, told.boosts, slate, told.neighbors)
        card = replace(
            model.card,
            catalog_version=catalog.version,
            n_items=len(catalog),
            max_slate_size=len(slate),
            source=source,
            n_default=n_default,
        )
        return replace(model, card=card, catalog=catalog, keys=keys, counts=people.counts())


def _expressed(model: ItemModel, table: RatingTable) -> Expressed:
    """The items of these ratings, new ones folded in, and their people."""
    space, options = model.card.space, model.training
    kept = often_rated(table, options.min_ratings)
    keys = tuple(table.item_keys[i] for i in kept)
    people = people_of(table, kept, space.scale)
    vectors = np.zeros((len(keys), space.ranking_dimension), dtype=np.float32)
    boosts = np.ones(len(keys), dtype=np.float32)
    known, old = matched(keys, model.keys)
    vectors[known], boosts[known] = model.catalog.vectors[old], model.catalog.boosts[old]
    new = np.setdiff1d(np.arange(len(keys)), known)
    if new.size:
        likes, penalty = people.likes, options.penalty or 1.0
        items = KnownItems(likes[:, known], vectors[known].astype("f8"), boosts[known], penalty)
        folded, found = items.fold_in(likes[:, new])
        vectors[new] = rounded(folded.astype(np.float32), space.scales)
        boosts[new] = rounded_boosts(found.astype(np.float32))
    neighbors = model.catalog.neighbors
    if neighbors is not None:
        places = np.full(len(neighbors), -1)
        places[old] = known
        neighbors = neighbors.moved(places, len(keys))
    return Expressed(keys, vectors, boosts, space.scales, space.scale, people, options, neighbors)
