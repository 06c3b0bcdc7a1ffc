"""Where a prior comes from: an explicit choice of the operator's, named in the model card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.errors import DataError, ParameterError
from askew.plain_text import check_text
from askew.public_arrays import MAX_SIZE
from askew.rule_kind import RuleKind
from askew.vectors import FeatureSpace
from askew_server.prior.gaussian import GaussianPrior, Plan
from askew_server.prior.people import PriorPeople, as_they_are, of_tastes
from askew_server.ratings import RatingTable
from askew_server.training.disclosure import in_words
from askew_server.training.factors import Tastes, fold_in_people, snapshot
from askew_server.training.item_vectors import people_by_key

MADE_UP = 2000  # people drawn from a fitted Gaussian
_MOST_PEOPLE = 100_000
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

    @property
    def own(self) -> bool:
        """Whether they are the people trained on, in the same order."""

    def people(self, trained: Trained) -> PriorPeople:
        """The people, in the space that was trained."""


@dataclass(frozen=True)
class Cohort:
    """The people of the ratings file, who opted in under this name. Nothing hides them."""

    name: str
    own: bool = True

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


@dataclass(frozen=True)
class PublishedRatings:
    """Ratings that somebody made public, of any people; items are matched by key."""

    table: RatingTable = field(repr=False)
    name: str
    own: bool = False

    def people(self, trained: Trained) -> PriorPeople:
        """The people, folded in as devices fold in. Raises DataError where no item is known."""
        try:
            tastes = _tastes_of(self.table, trained)
        except DataError as error:
            raise DataError(f"{self.name}: {error}") from None
        origin = f"published ratings {self.name}: {len(tastes.vectors):,} people"
        return as_they_are(tastes, trained.vectors, trained.space.encoder, origin)


@dataclass(frozen=True)
class MadeUpRatings:
    """Ratings that were simulated from item vectors alone: they are nobody's."""

    table: RatingTable = field(repr=False)
    own: bool = False

    def people(self, trained: Trained) -> PriorPeople:
        """The people, folded in as devices fold in."""
        tastes = _tastes_of(self.table, trained)
        origin = f"{len(tastes.vectors):,} made-up people, SIMULATED from the item vectors alone"
        return as_they_are(tastes, trained.vectors, trained.space.encoder, origin)


@dataclass(frozen=True, eq=False)
class PublishedTastes:
    """Tastes (m, D) that somebody made public, in the coordinates of this very model."""

    tastes: NDArray[np.float32] = field(repr=False)
    name: str
    own: bool = False

    def people(self, trained: Trained) -> PriorPeople:
        """The people, taken to have seen nothing. Raises DataError for another dimension."""
        wanted = trained.space.ranking_dimension
        if self.tastes.shape[1:] != (wanted,):
            raise DataError(f"{self.name}: its points must have {wanted} coordinates")
        seen = csr_array((len(self.tastes), len(trained.keys)))
        origin = f"published points {self.name}: {len(self.tastes):,} people"
        return of_tastes(self.tastes, seen, trained.space.encoder, origin)


@dataclass(frozen=True, eq=False)
class DPGaussian:
    """People drawn from a Gaussian of the people trained on, released under epsilon-DP.

    release: pays for a plan in the operator's ledger, then draws it, or gives back what was stored.
    """

    epsilon: Fraction
    release: Callable[[Plan, Trained], bytes] = field(repr=False)
    own: bool = False

    def people(self, trained: Trained) -> PriorPeople:
        """People made up by the seed of the training: the same for the same stored release."""
        plan = Plan(self.epsilon, trained.space.ranking_dimension, len(trained.keys))
        payload = self.release(plan, trained)
        tastes, seen = GaussianPrior.of_release(plan, payload).people(MADE_UP, trained.seed)
        given = _FIXED if trained.vectors_fixed else _GIVEN
        origin = (
            f"Gaussian released under epsilon = {float(self.epsilon):g} differential privacy (add "
            f"or remove one person), {given}, paid for in the ledger; {MADE_UP:,} made-up people. "
            f"{_NOT_COVERED}"
        )
        return of_tastes(tastes, seen, trained.space.encoder, origin)


def _tastes_of(table: RatingTable, trained: Trained) -> Tastes:
    spread = people_by_key(table, trained.keys, trained.space.scale)
    profiles = snapshot(spread, trained.seed)
    return fold_in_people(profiles, trained.vectors, trained.tastes.least_likes)


def read_published(path: Path, read_table: Callable[[Path], RatingTable]) -> PriorSource:
    """A file's prior: ratings, or points as .npz with `points`, or csv or parquet of numbers alone.

    Raises DataError.
    """
    points = _points_of(path)
    if points is None:
        return PublishedRatings(read_table(path), path.name)
    if points.ndim != 2 or not 1 <= len(points) <= _MOST_PEOPLE:
        raise DataError(f"{path}: points must be a table of 1 to {_MOST_PEOPLE:,} rows")
    if not (np.abs(points) <= MAX_SIZE).all():
        raise DataError(f"{path}: points must be numbers up to {MAX_SIZE:g} in size")
    return PublishedTastes(points.astype(np.float32), path.name)


def _points_of(path: Path) -> NDArray[np.float64] | None:
    """The numbers of a file of points, or None for anything else."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["points"].astype(np.float64) if "points" in arrays else None
        if path.suffix == ".csv":
            with path.open(encoding="utf-8") as file:
                header = file.readline()
                rated = "rating" in header
                return None if rated else np.loadtxt(file, delimiter=",", ndmin=2)
        if path.suffix == ".parquet":
            return _parquet_points(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as points: {error}") from None
    return None


def _parquet_points(path: Path) -> NDArray[np.float64] | None:
    import duckdb

    try:
        with duckdb.connect() as connection:
            columns = connection.execute("FROM read_parquet(?)", [str(path)]).fetchnumpy()
    except duckdb.Error as error:
        raise DataError(f"{path}: cannot be read as parquet: {error}") from None
    if "rating" in columns:
        return None
    return np.column_stack([np.asarray(column, np.float64) for column in columns.values()])


def check_needs(rule: RuleKind | None, prior: PriorSource | None) -> None:
    """Raises ParameterError for a rule that weighs a prior where there is none."""
    if rule is not None and rule.needs_prior and prior is None:
        raise ParameterError("rule", str(rule), "one that needs no prior, or name a prior")
