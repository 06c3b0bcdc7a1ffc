"""Where a prior comes from: an explicit choice of the operator's, named in the model card.

A prior as arrays of a model directory, and back with every check.

The slates of buckets as arrays of a model directory, and back with every check.

Choosing them takes far longer than a server should to start, and what they are chosen for, the
people and the catalog, is in the same directory.

A prior's release, paid for in the operator's ledger before it is drawn, and drawn once.

The key of the charge names all that decides the release but for the people: the plan, the items
and the vectors in which tastes are expressed, and what makes a profile of ratings (scale, least
likes, seed). The data set's version says whose tastes they are. The same training again gets the
stored release back and pays nothing, so the model comes out the same to the byte; another one is
another release. What is charged holds given the vectors: learned ones are made of the same people,
and no charge covers them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import ArtifactError, DataError, ParameterError
from askew.limits import check_text
from askew.noise.randomness import RandomBits
from askew.protocol.model_card import ModelCard
from askew.protocol.utility_table import RuleKind
from askew.retrieval.buckets import BucketRule
from askew.spaces.buckets import SlateCodebook
from askew.spaces.vectors import FeatureSpace
from askew_server.ledger import Charge, ChargeRequest, EventDigests, Ledger
from askew_server.ratings import RatingTable
from askew_server.taste.prior.gaussian import GaussianPrior, PriorPlan
from askew_server.taste.prior.people import PriorPeople, as_they_are, of_tastes
from askew_server.taste.training.factors import Tastes, fold_in_people, snapshot
from askew_server.taste.training.item_vectors import people_by_key
from askew_server.taste.training.options import in_words

# Type and number of dimensions of each array; seen items are in rows, one after the other.
PRIOR_KINDS: dict[str, tuple[np.dtype[Any], int]] = {
    "prior_tastes": (np.dtype(np.float32), 2),
    "prior_points": (np.dtype(np.float64), 2),
    "prior_weights": (np.dtype(np.float64), 1),
    "prior_seen_items": (np.dtype(np.int64), 1),
    "prior_seen_ends": (np.dtype(np.int64), 1),
    "prior_pool": (np.dtype(np.int64), 1),
}
NAMED = "prior_named"  # of those who name slates
Arrays = Mapping[str, NDArray[Any]]


def arrays_of_prior(people: PriorPeople, pool: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The arrays of a prior. The same people make the same arrays. pool: of the model's catalog,
    since finding it takes far longer than a server should to start.
    """
    seen = csr_array(people.seen, copy=True)
    seen.sort_indices()
    named = {} if people.named is None else {NAMED: people.named}
    return named | {
        "prior_tastes": people.tastes,
        "prior_points": people.points,
        "prior_weights": people.weights,
        "prior_seen_items": seen.indices.astype(np.int64),
        "prior_seen_ends": seen.indptr[1:].astype(np.int64),
        "prior_pool": pool,
    }


def prior_of_arrays(arrays: Arrays, card: ModelCard) -> PriorPeople | None:
    """The prior of a model, or None. Raises ArtifactError, or OutOfRange as `PriorPeople`."""
    given = [name for name in PRIOR_KINDS if name in arrays]
    if not given:
        if card.rule.kind.needs_prior:
            raise ArtifactError("the card names a rule that weighs a prior, and there is none")
        return None
    if len(given) < len(PRIOR_KINDS):
        raise ArtifactError("a prior lacks some of its arrays")
    tastes, points, weights, items, ends, pool = (arrays[name] for name in PRIOR_KINDS)
    m = len(tastes)
    starts = np.concatenate([[0], ends])
    if tastes.shape[1] != card.space.ranking_dimension or points.shape[1] != card.space.dimension:
        raise ArtifactError("the prior has another dimension than the space")
    if len(ends) != m or starts[-1] != len(items) or (np.diff(starts) < 0).any():
        raise ArtifactError("the rows of a prior's seen items do not fit together")
    if items.size and not 0 <= items.min() <= items.max() < card.n_items:
        raise ArtifactError("a prior has seen items that the catalog does not have")
    _check_pool(pool, arrays["shared_slate"], card)
    seen = csr_array((np.ones(len(items)), items, starts), shape=(m, card.n_items))
    named = arrays.get(NAMED)
    if (named is not None) != isinstance(card.space.buckets, SlateCodebook):
        raise ArtifactError("a prior names slates where the space means some, and nowhere else")
    if named is not None and (len(named) != m or not _below(named, card.space.n_buckets)):
        raise ArtifactError("a prior names slates that the space does not have")
    return PriorPeople(tastes, points, seen, weights, card.rule.prior, named, pool)


def _check_pool(pool: NDArray[np.int64], shared: NDArray[np.int64], card: ModelCard) -> None:
    within = pool.size and card.n_held <= pool[0] <= pool[-1] < card.n_items
    if not within or (np.diff(pool) <= 0).any() or not np.isin(shared, pool).all():
        raise ArtifactError(
            "the pool of a prior is not of its catalog, or lacks what all are shown"
        )


def _below(named: NDArray[np.int64], count: int) -> bool:
    return bool(((named >= 0) & (named < count)).all())


# Type and number of dimensions of each array, in the order of `BucketRule`.
SLATE_KINDS: dict[str, tuple[np.dtype[Any], int]] = {
    "bucket_slates": (np.dtype(np.int64), 3),
    "bucket_own_worth": (np.dtype(np.float64), 3),
    "bucket_general_worth": (np.dtype(np.float64), 3),
    "bucket_masses": (np.dtype(np.float64), 1),
}


def arrays_of_slates(rule: BucketRule) -> dict[str, NDArray[Any]]:
    """The arrays of a rule. Equal rules make equal arrays."""
    return dict(zip(SLATE_KINDS, rule.arrays, strict=True))


def slates_of_arrays(arrays: Arrays, card: ModelCard) -> BucketRule | None:
    """The rule for the buckets of a card, or None. Raises ArtifactError for anything else."""
    given = [name for name in SLATE_KINDS if name in arrays]
    expected = card.space.n_buckets > 0 and "prior_tastes" in arrays
    if len(given) != (len(SLATE_KINDS) if expected else 0):
        raise ArtifactError("slates of buckets are there with a prior and buckets, and only then")
    if not expected:
        return None
    orders, own, general, masses = (arrays[name] for name in SLATE_KINDS)
    versions, buckets, most = orders.shape
    if (buckets, own.shape, general.shape) != (card.space.n_buckets, orders.shape, orders.shape):
        raise ArtifactError("the slates of buckets do not fit together")
    if not versions or most < card.max_slate_size or masses.shape != (buckets,):
        raise ArtifactError("the slates of buckets do not fit their card")
    ascending = np.sort(orders, axis=2)
    if not orders.size or ascending.min() < card.n_held or ascending.max() >= card.n_items:
        raise ArtifactError("slates of buckets have items that the catalog does not have")
    if (np.diff(ascending, axis=2) <= 0).any():
        raise ArtifactError("a slate of a bucket has an item twice")
    if not all(np.isfinite(each).all() for each in (own, general, masses)):
        raise ArtifactError("the worth of slates of buckets must be finite")
    if (masses < 0).any():  # by which shares of senders are divided
        raise ArtifactError("the masses of buckets must be at least 0")
    return BucketRule(orders, own, general, masses)


MADE_UP = 2000  # people drawn from a fitted Gaussian
_LONGEST_NAME = 200
_GIVEN = "given the item vectors, which are learned from the same people without it"
_FIXED = "with item vectors of another model, which must not be made of the same people"
_NOT_COVERED = "It does not cover the space, rule, buckets, figures and shared slate"


@dataclass(frozen=True, eq=False)
class Trained:
    """What training knows when it asks for a prior: items by key, vectors, space, and the tastes of
    the people trained on. A person's profile is most of their ratings; their own ratings alone
    decide which, so that a private release of the tastes can hide a person.
    vectors_fixed: whether the vectors were there before any of these people was looked at.
    """

    keys: tuple[str, ...]
    vectors: NDArray[np.float32] = field(repr=False)
    space: FeatureSpace = field(repr=False)
    tastes: Tastes = field(repr=False)
    seed: int
    vectors_fixed: bool = False


class PriorSource(Protocol):
    """Gives the people of a prior."""

    def people(self, trained: Trained) -> PriorPeople:
        """The people, in the space that was trained."""

    def rehearsed(self, trained: Trained) -> PriorPeople:
        """The same of a space that is measured and never served; nothing is charged."""


@dataclass(frozen=True)
class Cohort:
    """The people of the ratings file, who opted in under this name. Nothing hides them."""

    name: str

    def __post_init__(self) -> None:
        check_text("the name of a cohort", self.name)
        if len(self.name) > _LONGEST_NAME:
            raise ParameterError(
                "the name of a cohort", len(self.name), f"up to {_LONGEST_NAME} long"
            )

    def people(self, trained: Trained) -> PriorPeople:
        """The people as they are."""
        size = in_words(len(trained.tastes.vectors))
        origin = (
            f"opt-in cohort {self.name}: {size} people as they are. "
            "WARNING: answers tell about them; the guarantee does not cover them"
        )
        return as_they_are(trained.tastes, trained.vectors, trained.space.encoder, origin)

    rehearsed = people


@dataclass(frozen=True)
class PublishedRatings:
    """Ratings that somebody made public, of any people; items are matched by key. name: of their
    file, or of what they were simulated from; such people are nobody.
    """

    table: RatingTable = field(repr=False)
    name: str
    simulated: bool = False

    def people(self, trained: Trained) -> PriorPeople:
        """The people, folded in as devices fold in. Raises DataError where no item is known."""
        try:
            spread = people_by_key(self.table, trained.keys, trained.space.scale)
            profiles = snapshot(spread, trained.seed)
            tastes = fold_in_people(profiles, trained.vectors, trained.tastes.least_likes)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None
        origin = f"published ratings {self.name}: {len(tastes.vectors):,} people"
        if self.simulated:
            origin = f"{len(tastes.vectors):,} made-up people, SIMULATED from {self.name} alone"
        return as_they_are(tastes, trained.vectors, trained.space.encoder, origin)

    rehearsed = people


@dataclass(frozen=True, eq=False)
class DPGaussian:
    """People drawn from a Gaussian of the people trained on, released under epsilon-DP.

    release: pays for a plan in the operator's ledger, then draws it, or gives back what was stored.
    """

    epsilon: Fraction
    release: Callable[[PriorPlan, Trained], bytes] = field(repr=False)

    def people(self, trained: Trained) -> PriorPeople:
        """People made up by the seed of the training: the same for the same stored release."""
        plan = self._plan(trained)
        return self._made_up(plan, self.release(plan, trained), trained)

    def rehearsed(self, trained: Trained) -> PriorPeople:
        """People made up of a draw by the same law, which is simulated and kept by nobody."""
        plan = self._plan(trained)
        return self._made_up(plan, plan.release(trained.tastes, _Simulated(trained.seed)), trained)

    def _plan(self, trained: Trained) -> PriorPlan:
        return PriorPlan(self.epsilon, trained.space.ranking_dimension, len(trained.keys))

    def _made_up(self, plan: PriorPlan, payload: bytes, trained: Trained) -> PriorPeople:
        tastes, seen = GaussianPrior.of_release(plan, payload).people(MADE_UP, trained.seed)
        given = _FIXED if trained.vectors_fixed else _GIVEN
        origin = (
            f"Gaussian released under epsilon = {float(self.epsilon):g} differential privacy (add "
            f"or remove one person), {given}, paid for in the ledger; {MADE_UP:,} made-up people. "
            f"{_NOT_COVERED}"
        )
        return of_tastes(tastes, seen, trained.space.encoder, origin)


class _Simulated(RandomBits):
    """Bits of a public seed: they protect nobody."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 17])

    def read(self, count: int) -> bytes:
        """`count` bytes."""
        return self._rng.bytes(count)


def check_needs(rule: RuleKind | None, prior: PriorSource | None) -> None:
    """Raises ParameterError for a rule that weighs a prior where there is none."""
    if rule is not None and rule.needs_prior and prior is None:
        raise ParameterError("rule", str(rule), "one that needs no prior, or name a prior")


@dataclass(frozen=True, eq=False)
class PaidRelease:
    """Releases of one data set in one ledger.

    place, state: where the ratings are, and which they are, as `EventDigests` has them: vectors
    that are fixed say nothing of them. tell: given the request before it is charged.
    """

    ledger: Ledger
    dataset: str
    bits: RandomBits
    place: bytes = field(repr=False)
    state: bytes = field(repr=False)
    tell: Callable[[ChargeRequest], object] = lambda _: None

    def __call__(self, plan: PriorPlan, trained: Trained) -> bytes:
        """The release of a plan: charged, drawn and stored, or the stored one.

        Raises BudgetExceeded, LedgerError: nothing was drawn. ChargePending: an earlier run paid
        and died before it stored its draw.
        """
        asked = _digest(plan, trained)
        digest = sha256(asked + self.state).digest()
        request = ChargeRequest(
            dataset=self.dataset,
            version=self.ledger.dataset(self.dataset).version,
            key=f"prior given item vectors {digest.hex()[:32]}",
            digest=digest,
            loss=plan.loss,
            events=EventDigests(asked, self.place, self.state),
        )
        self.tell(request)
        answer = self.ledger.charge(request)
        if isinstance(answer, Charge):
            answer = self.ledger.fulfill(answer.id, plan.release(trained.tastes, self.bits))
        return answer.payload


def _digest(plan: PriorPlan, trained: Trained) -> bytes:
    """Each part has a fixed length, so that none can pass for another."""
    profiles = repr((trained.keys, trained.space.scale, trained.tastes.least_likes, trained.seed))
    vectors = np.ascontiguousarray(trained.vectors, "<f4").tobytes()
    parts = (plan.digest, sha256(vectors).digest(), sha256(profiles.encode()).digest())
    return sha256(b"".join(parts)).digest()
