"""The people whom a server may know: what the rules with a prior weigh.

Where they come from, in words, is the model card's `prior`:

published    a file of ratings that its publisher made public
DP Gaussian  drawn from a Gaussian that was fitted under differential privacy, see `prior.gaussian`
cohort       people of the ratings file who opted in, by name, as they are; the card warns, since
             answers tell about them
made up      simulated from item vectors alone, for vectors that are imported: they are nobody

There is no fifth way: people who did none of this are in no prior.

The rule `buckets` for the people of a prior: `askew.retrieval.buckets`.

A device chooses its own odds, so there are slates for a range of them, made before the first
question: the odds that the model was trained for, and EPSILONS around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.catalog.catalog import Catalog
from askew.errors import OutOfRange
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.model_card import ModelCard
from askew.retrieval.buckets import BucketRule, bucket_rule, labels_of
from askew.retrieval.posterior import Prior, gains
from askew.spaces.buckets import Buckets, SlateCodebook
from askew.spaces.encoder import Encoder
from askew_server.taste.training.buckets import enough_of, favorites, pool_of
from askew_server.taste.training.factors import Tastes, divisors

_CHUNK = 1024
_Columns = NDArray[np.int64] | slice
_AT_ONCE = 1 << 22  # scores: 16 MiB


@dataclass(frozen=True, eq=False)
class PriorPeople:
    """m people: tastes (m, D) float32, points (m, d) where their signals come from, seen items
    sparse (m, n_items) of ones, weights (m,). origin: where they come from, in words. named: the
    slate that each names by the codebook of the space (m,), where it has one: decided once, when
    all that they have seen is at hand, since items go and the codebook stays. pool: the items that
    rules choose among for them (p,), ascending, where they were found before (`pool_in`).
    """

    tastes: NDArray[np.float32] = field(repr=False)
    points: NDArray[np.float64] = field(repr=False)
    seen: csr_array = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    origin: str
    named: NDArray[np.int64] | None = field(default=None, repr=False)
    pool: NDArray[np.int64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Raises OutOfRange where the parts do not fit together."""
        m = len(self.tastes)
        if self.named is not None and self.named.shape != (m,):
            raise OutOfRange("the names of slates of a prior", "one a person")
        rows = (len(self.points), self.seen.shape[0], len(self.weights))
        if not m or rows != (m, m, m):
            raise OutOfRange("the parts of a prior", "one or more people, the same in each part")
        if not np.isfinite(self.tastes).all():
            raise OutOfRange("the tastes of a prior", "finite")

    def __len__(self) -> int:
        """The number m of people."""
        return len(self.tastes)

    def only(self, rows: NDArray[np.int64]) -> PriorPeople:
        """Some of them."""
        return replace(
            self,
            tastes=self.tastes[rows],
            points=self.points[rows],
            seen=csr_array(self.seen[rows]),
            weights=self.weights[rows],
            named=None if self.named is None else self.named[rows],
            pool=None,
        )

    def naming(self, buckets: Buckets | SlateCodebook | None, catalog: Catalog) -> PriorPeople:
        """The same people, who have named slates where buckets are slates that mean something."""
        if not isinstance(buckets, SlateCodebook):
            return self
        tastes = self.tastes.astype(np.float64)
        return replace(self, named=names_of(buckets, tastes, self.seen, catalog))

    def with_items(
        self, known: NDArray[np.int64], old: NDArray[np.int64], n_items: int
    ) -> PriorPeople:
        """The same people with another catalog, where items `old` are now `known`."""
        place = np.full(self.seen.shape[1], -1, dtype=np.int64)
        place[old] = known
        seen = self.seen.tocoo()
        kept = place[seen.col] >= 0
        where = (seen.row[kept], place[seen.col[kept]])
        shape = (len(self), n_items)
        return replace(self, seen=csr_array((seen.data[kept], where), shape=shape), pool=None)

    def scores(self, scoring: NDArray[np.float32]) -> NDArray[np.float32]:
        """What items (n_items, D) are worth to them, (m, n_items): 0 where seen or disliked."""
        return self._scores(scoring, slice(None))

    def gains(
        self, scoring: NDArray[np.float32], items: _Columns, held: int
    ) -> NDArray[np.float32]:
        """What these of the items would add to the first `held`, which they have, (n, m): the score
        less that of the best of those, or 0.
        """
        best = self._scores(scoring, slice(held)).max(axis=1, initial=0)
        return gains(self._scores(scoring, items).T, best)

    def pool_in(self, catalog: Catalog, held: int) -> NDArray[np.int64]:
        """The pool of a catalog, ascending, with its shared slate: where it is not known, by a look
        at every item for enough of the people.
        """
        shared, pool = np.array(catalog.shared_slate, dtype=np.int64), self.pool
        if pool is None:
            counts = np.zeros(len(catalog) - held, dtype=np.int64)
            asked = self.only(enough_of(len(self)))
            for rows in asked._parts(len(catalog)):  # all of a large catalog at once would not fit
                some = asked.only(rows)
                counts += favorites(some.gains(catalog.scoring, slice(held, len(catalog)), held).T)
            pool = held + pool_of(counts, least=len(shared))
        return np.union1d(pool, shared)

    def prior(self, catalog: Catalog, held: int = 0) -> Prior:
        """Their favorites of a catalog, as the rules weigh them. held: how many items, the first
        ones, people have already; the pool and the shared slate are of the others.
        """
        pool = self.pool_in(catalog, held)
        scores = np.empty((len(pool), len(self)), dtype=np.float32)
        for rows in self._parts(max(held, len(pool))):
            scores[:, rows] = self.only(rows).gains(catalog.scoring, pool, held)
        return Prior(self.points, scores, pool, self.weights)

    def _parts(self, n_items: int) -> list[NDArray[np.int64]]:
        """The people, so many at a time that their scores of these items fit into memory."""
        size = min(max(_AT_ONCE // n_items, 1), _CHUNK)
        starts = range(0, len(self), size)
        return [np.arange(start, min(start + size, len(self))) for start in starts]

    def _scores(self, scoring: NDArray[np.float32], items: _Columns) -> NDArray[np.float32]:
        found: NDArray[np.float32] = np.maximum(self.tastes @ scoring[items].T, 0)
        seen = self.seen[:, np.arange(len(scoring))[items]].tocoo()
        found[seen.row, seen.col] = 0
        return found.astype(np.float32, copy=False)


def names_of(
    buckets: Buckets | SlateCodebook, tastes: NDArray[np.float64], seen: csr_array, catalog: Catalog
) -> NDArray[np.int64]:
    """The bucket that the device of each person of these tastes (n, D) names, (n,); seen: sparse,
    (n, n_items), which slates that mean something are named by.
    """
    if isinstance(buckets, Buckets):
        return labels_of(buckets, tastes)
    items, parts = buckets.found_in(catalog.vectors), [np.empty(0, dtype=np.int64)]
    step = max(_AT_ONCE // items.size, 1)
    for start in range(0, len(tastes), step):
        some = slice(start, start + step)
        known = seen[some][:, items.ravel()].toarray().astype(np.bool_) & (items.ravel() >= 0)
        parts.append(labels_of(buckets, tastes[some], known.reshape(-1, *items.shape)))
    return np.concatenate(parts)


def as_they_are(
    tastes: Tastes, vectors: NDArray[np.float32], encoder: Encoder, origin: str
) -> PriorPeople:
    """People with profiles of their own, placed as their devices would place them."""
    points = points_of(tastes.people.likes, vectors, encoder)
    light = tastes.vectors.astype(np.float32)
    return PriorPeople(light, points, csr_array(tastes.people.seen), np.ones(len(light)), origin)


def points_of(
    likes: csr_array, vectors: NDArray[np.float32], encoder: Encoder
) -> NDArray[np.float64]:
    """Where the devices of people of these likes, sparse (m, n_items), place them, (m, d)."""
    sums = (likes @ encoder.contributions(vectors)) / divisors(likes, encoder.least_likes)
    points: NDArray[np.float64] = encoder.unit * encoder.ranks(sums)
    return points


def of_tastes(
    tastes: NDArray[np.float32], seen: csr_array, encoder: Encoder, origin: str
) -> PriorPeople:
    """People of whom only tastes are known: their likes are taken to be unclipped."""
    points = encoder.unit * encoder.ranks(tastes.astype(np.float64) @ encoder.directions)
    return PriorPeople(tastes, points, seen, np.ones(len(tastes)), origin)


EPSILONS = tuple(map(Fraction, ("1/2", "1", "2", "3", "4", "6", "8")))


def bucket_rule_of(
    people: PriorPeople,
    prior: Prior,
    buckets: Buckets | SlateCodebook,
    epsilon: Fraction,
    shared: Sequence[int],
) -> BucketRule:
    """Slates for these people, at this epsilon and others. shared: the zero-information order.

    Slates that mean something are filled from the catalog of today for those who name them, however
    many catalogs ago that was decided: a signal that a device has stored stays right.
    """
    label = people.named
    if label is None:
        label = labels_of(buckets, people.tastes.astype(np.float64))
    epsilons = sorted({epsilon, *EPSILONS})
    odds = (RandomizedResponse.for_epsilon(len(buckets), each).odds for each in epsilons)
    return bucket_rule(prior, label, len(buckets), shared, odds)


def served_slates(
    card: ModelCard, catalog: Catalog, people: PriorPeople | None, prior: Prior | None
) -> BucketRule | None:
    """What a card's buckets are answered by, where there are people to choose slates for."""
    if people is None or prior is None or card.space.buckets is None:
        return None
    epsilon, shared = Fraction(card.rule.epsilon), catalog.shared_slate
    return bucket_rule_of(people, prior, card.space.buckets, epsilon, shared)
