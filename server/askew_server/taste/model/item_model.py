"""The model: factors that rank items, and a feature space in which people can be hidden.

The guarantee of the exchange covers the person who asks. It does not cover the people trained on:
what a model tells about them is in `training.options`.

`train` makes a model of ratings. `import_model` makes one of vectors that another model has: it is
fitted and compared as any other, by simulated people. Nothing but the vectors is given, so no
figure of such a model is of people who rated anything; its card says so. Its prior is other made-up
people, drawn from the item vectors alone even where user vectors are given: nobody is in it. On
MovieLens 1M (vectors of ALS, 400 real people, buckets at epsilon 4) the gain is .14 where a prior
of real people gives .15 for k = 5, and .07 where it gives .11 for k = 20.

`update` makes a new catalog in the old space: items come, go and are scored anew, and no device
pays for it. The space stays, and with it every signal that a device has stored. Known items keep
their vectors, new ones are folded in with the factors at hand, items that are rated no more are
dropped; boosts and the shared slate are made anew. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.catalog.catalog import Catalog
from askew.errors import DataError, OutOfRange, ParameterError
from askew.protocol.model_card import NO_PRIOR, ModelCard, ServingRule
from askew.protocol.utility_table import SERVED, RuleKind, UtilityTable
from askew.retrieval.buckets import BucketRule
from askew.spaces.item_codes import rounded, rounded_boosts
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.ratings import ItemRow, RatingTable
from askew_server.ratings.vectors import Vectors
from askew_server.taste.model.held_out import Figure, Groups, HeldOutGroup, dealt
from askew_server.taste.model.payloads import MovedPayloads, Payloads
from askew_server.taste.model.rule_choice import (
    RuleChoice,
    RuleQuestion,
    ServedSignals,
    buckets_of,
    choose,
)
from askew_server.taste.model.shared_slate import (
    SLATE_LIMIT,
    default_first,
    items_of,
    shared_slate,
)
from askew_server.taste.model.utility_table import (
    FileSize,
    ModeComparison,
    baselines_of,
    of_catalog,
    order_for_everybody,
    sized,
)
from askew_server.taste.prior.people import PriorPeople, as_they_are, served_slates
from askew_server.taste.prior.source import PriorSource, PublishedRatings, Trained, check_needs
from askew_server.taste.training import given_vectors
from askew_server.taste.training.buckets import favorites, pool_of
from askew_server.taste.training.factors import (
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
    check_people,
    for_devices,
)
from askew_server.taste.training.item_vectors import (
    Expressed,
    ImportedVectors,
    LearnedVectors,
    VectorSource,
    often_rated,
    people_by_key,
)
from askew_server.taste.training.options import TrainingOptions, in_words
from askew_server.taste.training.space_fit import (
    FittedSpace,
    Purpose,
    fit_space,
    learned_directions,
)

LEARNED_VECTORS = LearnedVectors()
Step = Callable[[str], None]
_ENOUGH = 0.95  # of the people, that a model is made of where the others are held out
_LEARNED_FROM = 10_000  # people; more change the directions by less than their seed


@dataclass(frozen=True, eq=False)
class ItemModel:
    """A trained model: all of it public, which is why its prior, if any, must be. keys: the name of
    each item in the ratings. training: the options it was made with. counts: about how many people,
    ratings and likes. figures: what each rule gave people held out, where rules were compared.
    median_distance: of two people of the training, 1 unless devices had refused such a space.
    payloads: what only a reply brings of each item, if anything. slates: of buckets, where they
    were chosen before.
    """

    card: ModelCard
    catalog: Catalog
    keys: Sequence[str]
    training: TrainingOptions
    counts: Mapping[str, int]
    prior: PriorPeople | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    median_distance: float = 1.0
    payloads: Payloads | None = field(default=None, repr=False)
    slates: BucketRule | None = field(default=None, repr=False)

    @property
    def words(self) -> str:
        """What it is, for an operator."""
        return f"{self.card.n_items} items, {self.card.source}"

    def bucket_slates(self) -> BucketRule | None:
        """What buckets are answered by, where there are a prior and buckets: chosen now, unless
        they were before.
        """
        if self.slates is not None or self.prior is None or self.card.space.buckets is None:
            return self.slates
        prior = self.prior.prior(self.catalog, self.card.n_held)
        return served_slates(self.card, self.catalog, self.prior, prior)


def train(  # noqa: PLR0913 - what a model is made of
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    options: TrainingOptions,
    *,
    source: str,
    simulated: bool = False,
    prior: PriorSource | None = None,
    vectors: VectorSource = LEARNED_VECTORS,
    file_size: FileSize | None = None,
    step: Step = lambda _: None,
) -> ItemModel:
    """The model of a table of ratings. Deterministic for a seed and for what its prior gives.
    step is told each part of the work as it begins. file_size: measures the files that devices
    hold; where there is none, the card has no utility table.

    Every figure is of people who were in nothing of what is measured (`model.held_out`): where they
    are more than a twentieth of all, or there is a prior, of a model without them, and then one is
    made of everybody.

    Raises ParameterError for a rule, or for items with payloads, that need a prior where there is
    none, and DataError when too few people, items or ratings are left to make d dimensions, or when
    what they make is no space that a device would enter.
    """
    check_needs(options.kind, prior)
    if options.has_payloads and prior is None:
        raise ParameterError(
            "has_payloads", True, "a model with a prior: slates are chosen for its people"
        )
    with _as_data_errors("these ratings make no usable space"):
        choosing, testing = dealt(table.n_people, options.seed)
        rest = np.setdiff1d(np.arange(table.n_people), np.concatenate([choosing, testing]))
        others = table.only(rest)
        step("item vectors")
        options = vectors.tuned(others, options)
        # Of many people, the model does without those held out, and is measured as it is. But a
        # prior is of everybody: one person more would deal anew, and change all that is released.
        enough = prior is None and len(rest) >= _ENOUGH * table.n_people
        made = Draft.of(others if enough else table, rows, options, vectors, step)
        step("what it gives people held out")
        measured = made if enough else made.without(others, rows, vectors)
        simulated_prior = None if prior is None else prior.rehearsed(measured.trained)
        groups = measured.groups(table.only(choosing), table.only(testing), simulated_prior)
        question = _question(made.told.options, measured.catalog)
        choice = _choice(question, options, measured, groups)
        step("the prior")
        known = None if prior is None else prior.people(made.trained)
        space, catalog = made.fitted.space, made.catalog
        if known is not None:
            weighed = known.prior(catalog, made.held)
            buckets = buckets_of(question, known, weighed, catalog, choice.size)
            space, known = replace(space, buckets=buckets), known.naming(buckets, catalog)
        rule = ServingRule(
            choice.rule, options.epsilon, options.k, known.origin if known is not None else NO_PRIOR
        )
        card = card_of(space, catalog, rule, source, made.n_default, simulated=simulated)
        if file_size is not None:
            step("the utility table")
            found = measured.table(choice, question, groups)
            held = {measured.n_default: made.n_default, len(measured.catalog): len(catalog)}
            card = replace(card, utility_table=of_catalog(found, held, len(catalog)))
            card = sized(card, catalog, file_size)
        return ItemModel(
            card,
            catalog,
            made.told.keys,
            made.told.options,
            made.told.people.counts(),
            known,
            choice.figures,
            made.fitted.median_distance,
        )


@dataclass(frozen=True, eq=False)
class Draft:
    """What is made of people before anybody asks what it is worth. held: the default items, or 0
    where devices hold all.
    """

    told: Expressed
    n_default: int
    tastes: Tastes
    fitted: FittedSpace
    catalog: Catalog
    vectors_fixed: bool

    @classmethod
    def of(
        cls,
        table: RatingTable,
        rows: Mapping[str, ItemRow],
        options: TrainingOptions,
        vectors: VectorSource,
        step: Step,
    ) -> Draft:
        """Of the people of a table."""
        told, n_default = default_first(vectors.express(table, options), rows)
        held = 0 if n_default == len(told.keys) else n_default
        options, people = told.options, told.people
        rng = np.random.default_rng(options.seed)  # choices about public figures: protects nobody
        tastes = fold_in_people(snapshot(people, options.seed), told.vectors, options.least_likes)
        scoring = told.scoring
        step("signal directions and the space")
        fitted = _space(told, tastes, scoring, options, rng)
        step("the shared slate")
        slate = shared_slate(tastes, scoring, rng, held)
        words = items_of(told.keys, rows)
        catalog = Catalog(words, told.vectors, told.boosts, slate, told.neighbors)
        return cls(told, n_default, tastes, fitted, catalog, vectors.fixed)

    def for_signals(self, options: TrainingOptions) -> Draft:
        """The same in a space that suits the signals of other options."""
        rng = np.random.default_rng([self.told.options.seed, 3])
        options = replace(options, seed=self.told.options.seed)
        fitted = _space(self.told, self.tastes, self.catalog.scoring, options, rng)
        return replace(self, fitted=fitted)

    @property
    def as_people(self) -> PriorPeople:
        """The people whom it is made of, as a prior."""
        encoder = self.fitted.space.encoder
        return as_they_are(self.tastes, self.catalog.vectors, encoder, "as they are")

    @property
    def held(self) -> int:
        """How many items everybody has who asks."""
        return 0 if self.n_default == len(self.catalog) else self.n_default

    @property
    def trained(self) -> Trained:
        """As a prior wants to know it."""
        return Trained(
            self.told.keys,
            self.told.vectors,
            self.fitted.space,
            self.tastes,
            self.told.options.seed,
            vectors_fixed=self.vectors_fixed,
        )

    def without(
        self, others: RatingTable, rows: Mapping[str, ItemRow], vectors: VectorSource
    ) -> Draft:
        """The same of fewer people, with about the same items and as many for everybody."""
        options, n_people = self.told.options, self.told.people.seen.shape[0]
        fewer = max(options.min_ratings * others.n_people // n_people, 1)
        held = self.held or len(others.item_keys)
        options = replace(options, min_ratings=fewer, default_items=held)
        return Draft.of(others, rows, options, vectors, lambda _: None)

    def groups(
        self, choosing: RatingTable, testing: RatingTable, prior: PriorPeople | None
    ) -> Groups:
        """People held out, as devices of this draft see them. Raises DataError where a group of
        them has no likes.
        """
        told, encoder = self.told, self.fitted.space.encoder
        try:
            known = [people_by_key(some, told.keys, told.scale) for some in (choosing, testing)]
        except DataError as error:
            raise DataError(f"these people are held out, to measure by them: {error}") from None
        first, second = (
            HeldOutGroup.of(*divided(some, told.options.seed), encoder, self.catalog, self.held)
            for some in known
        )
        weighed = None if prior is None else prior.prior(self.catalog, self.held)
        return Groups(first, second, prior, weighed, self.held)

    def table(self, choice: RuleChoice, question: RuleQuestion, groups: Groups) -> UtilityTable:
        """What every mode gives the second group."""
        encoder, seed = self.fitted.space.encoder, self.told.options.seed
        signals = ServedSignals.of_choice(choice, question, encoder, self.catalog, groups)
        order = order_for_everybody(self.tastes, self.catalog, self.held, seed)
        beside = baselines_of(self.told.people, groups)
        return ModeComparison(signals, order, beside).table()


def _space(
    told: Expressed,
    tastes: Tastes,
    scoring: NDArray[np.float32],
    options: TrainingOptions,
    rng: np.random.Generator,
) -> FittedSpace:
    """A space of these people's tastes. scoring: of the items, (n_items, D)."""
    asks = options.learned and options.kind is not RuleKind.NONE
    directions = _directions(tastes, scoring, options) if asks else None
    d = options.signal_dimension
    return fit_space(
        tastes, told.vectors, told.scale, d, rng, scales=told.scales, directions=directions
    )


@contextmanager
def _as_data_errors(what: str) -> Iterator[None]:
    """A core type that refuses what the ratings make is an error of the ratings."""
    try:
        yield
    except OutOfRange as error:
        raise DataError(f"{what}: {error}") from None


def _directions(
    tastes: Tastes, scoring: NDArray[np.float32], options: TrainingOptions
) -> NDArray[np.float64]:
    """Signal directions learned from some of the people trained on, as everything else is."""
    some = tastes.some(_LEARNED_FROM, np.random.default_rng([options.seed, 3]))
    every = np.arange(len(scoring))
    counts = np.sum([favorites(part) for part in some.scores(scoring, every)], axis=0)
    pool = pool_of(counts, least=min(options.k, len(scoring)))
    scores = np.concatenate([*some.scores(scoring, pool)])
    purpose = Purpose(options.epsilon, min(options.k, len(pool)))
    d = options.signal_dimension
    return learned_directions(some.vectors, scores.T, d, purpose, seed=options.seed)


def _question(options: TrainingOptions, catalog: Catalog) -> RuleQuestion:
    candidates = SERVED if options.kind is None else (options.kind,)
    k = min(options.k, len(catalog.shared_slate))
    return RuleQuestion(
        Fraction(options.epsilon), k, candidates, options.seed, options.has_payloads
    )


def _choice(
    question: RuleQuestion, options: TrainingOptions, measured: Draft, groups: Groups
) -> RuleChoice:
    """The rule that was asked for, or the best; rules are compared where there is a choice."""
    if options.kind is not None and groups.people is None:
        return RuleChoice(options.kind, None, {})
    return choose(question, measured.fitted.space.encoder, measured.catalog, groups)


def card_of(  # noqa: PLR0913
    space: FeatureSpace,
    catalog: Catalog,
    rule: ServingRule,
    source: str,
    n_default: int,
    *,
    simulated: bool,
) -> ModelCard:
    """The card of a catalog in a space."""
    return ModelCard(
        space=space,
        catalog_version=catalog.version,
        n_items=len(catalog),
        max_slate_size=min(SLATE_LIMIT, len(catalog.shared_slate)),
        source=source,
        simulated=simulated,
        rule=rule,
        n_default=n_default,
    )


@dataclass(frozen=True)
class ImportOptions:
    """Public parameters of an import. scale: what people rate on, on their devices."""

    training: TrainingOptions
    scale: RatingScale


def import_model(  # noqa: PLR0913
    items: GivenItems,
    people: Vectors | None,
    rows: Mapping[str, ItemRow],
    options: ImportOptions,
    *,
    file_size: FileSize | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> tuple[ItemModel, RatingTable]:
    """The model, and the simulated ratings that it is fitted to. Deterministic for a seed.

    Raises DataError for user vectors of another geometry, and as `train`.
    """
    step("simulated histories")
    if people is not None:
        check_people(people, items)
    rng = np.random.default_rng([options.training.seed, 16])  # made-up people: protects nobody
    folded = for_devices(items.vectors)
    made_up = as_ratings(given_vectors.made_up(folded, rng), items.keys, options.scale)
    prior = PublishedRatings(made_up, "the item vectors", simulated=True)
    if people is None:
        likes = given_vectors.made_up(folded, rng)
        source = (
            f"vectors of another model, with SIMULATED likes of {given_vectors.MADE_UP:,} people"
        )
    else:
        likes = given_vectors.of_people(people.numbers, items.vectors, rng)
        of = in_words(len(people))
        source = f"vectors of another model, with likes SIMULATED from those of {of} users"
    table = as_ratings(likes, items.keys, options.scale)
    training = _of_size(options.training, folded.shape[1])
    given = ImportedVectors(items.keys, folded, options.scale)
    model = train(
        table,
        rows,
        training,
        source=source,
        simulated=True,
        prior=prior,
        vectors=given,
        file_size=file_size,
        step=step,
    )
    return model, table


def _of_size(options: TrainingOptions, size: int) -> TrainingOptions:
    """The options for vectors of this size; no signal has more, unless it was asked to.

    Raises ParameterError in that case.
    """
    dimension = options.dimension or min(options.signal_dimension, size)
    return replace(options, ranking_dimension=size, dimension=dimension)


def update(
    model: ItemModel,
    table: RatingTable,
    rows: Mapping[str, ItemRow],
    *,
    source: str,
    file_size: FileSize | None = None,
) -> ItemModel:
    """The model with the catalog of these ratings. Deterministic, by the seed of its training.
    Items that stay keep their payloads. file_size: as in `train`; the figures of the utility table
    stay those of the training.

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
        simulated = model.card.simulated
        card = card_of(space, catalog, model.card.rule, source, n_default, simulated=simulated)
        if file_size is not None and model.card.utility_table is not None:
            then = {model.card.n_default: n_default, model.card.n_items: len(keys)}
            figures = of_catalog(model.card.utility_table, then, len(keys))
            card = sized(replace(card, utility_table=figures), catalog, file_size)
        known, old = _known(keys, model.keys)
        prior = model.prior and model.prior.with_items(known, old, len(keys))
        places = dict(zip(known.tolist(), old.tolist(), strict=True))
        payloads = model.payloads and MovedPayloads(model.payloads, places, len(keys))
        return replace(
            model,
            card=card,
            catalog=catalog,
            keys=keys,
            counts=people.counts(),
            prior=prior,
            payloads=payloads,
            slates=None,
        )


def _expressed(model: ItemModel, table: RatingTable) -> Expressed:
    """The items of these ratings, new ones folded in, and their people."""
    space, options = model.card.space, model.training
    kept = often_rated(table, options.min_ratings)
    keys = tuple(table.item_keys[i] for i in kept)
    people = people_of(table, kept, space.scale)
    vectors = np.zeros((len(keys), space.ranking_dimension), dtype=np.float32)
    boosts = np.ones(len(keys), dtype=np.float32)
    known, old = _known(keys, model.keys)
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


def _known(
    keys: tuple[str, ...], old_keys: Iterable[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the known items in the new catalog, and in the old one."""
    places = {key: place for place, key in enumerate(old_keys)}
    pairs = [(new, places[key]) for new, key in enumerate(keys) if key in places]
    if not pairs:
        raise DataError("none of these items is in the model: train a new one")
    known, old = np.array(pairs, dtype=np.int64).T
    return known, old
