"""The people whom a server may know: what the rules with a prior weigh.

Where they come from, in words, is the model card's `prior`:

published    a file that its publisher made public: ratings of people, or bare tastes
DP Gaussian  drawn from a Gaussian that was fitted under differential privacy, see `prior.gaussian`
cohort       people of the ratings file who opted in, by name, as they are; the card warns, since
             answers tell about them: see the leak test of `askew-server evaluate`

There is no fourth way: people who did none of this are in no prior.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.encoder import Encoder
from askew.errors import OutOfRange
from askew.meanings import Meanings
from askew.model_card import Catalog
from askew.retrieval.buckets import labels_of
from askew.retrieval.posterior import Prior
from askew_server.training.factors import Tastes, divisors
from askew_server.training.pool import favorites, pool_of

_CHUNK = 1024


@dataclass(frozen=True, eq=False)
class PriorPeople:
    """m people: tastes (m, D) float32, points (m, d) where their signals come from, seen items
    sparse (m, n_items) of ones, weights (m,). origin: where they come from, in words. named: the
    slate that each names by the meanings of the space (m,), where it has any: decided once, when
    all that they have seen is at hand, since items go and meanings stay.
    """

    tastes: NDArray[np.float32] = field(repr=False)
    points: NDArray[np.float64] = field(repr=False)
    seen: csr_array = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)
    origin: str
    named: NDArray[np.int64] | None = field(default=None, repr=False)

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
        )

    def naming(self, meanings: Meanings, catalog: Catalog) -> PriorPeople:
        """The same people, who have named slates as their devices would: by what is unseen."""
        return replace(self, named=self.names(meanings, catalog))

    def names(self, meanings: Meanings, catalog: Catalog) -> NDArray[np.int64]:
        """The slate that each of them names, (m,)."""
        items = meanings.found_in(catalog.vectors)
        seen = self.seen[:, items.ravel()].toarray().astype(np.bool_) & (items.ravel() >= 0)
        tastes = self.tastes.astype(np.float64)
        return labels_of(meanings, tastes, seen.reshape(-1, *items.shape))

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
        return replace(self, seen=csr_array((seen.data[kept], where), shape=shape))

    def scores(self, scoring: NDArray[np.float32]) -> NDArray[np.float32]:
        """What items (n_items, D) are worth to them, (m, n_items): 0 where seen or disliked."""
        found: NDArray[np.float32] = np.maximum(self.tastes @ scoring.T, 0).astype(np.float32)
        seen = self.seen.tocoo()
        found[seen.row, seen.col] = 0
        return found

    def prior(self, catalog: Catalog) -> Prior:
        """Their favorites of a catalog, as the rules weigh them."""
        counts = np.zeros(len(catalog), dtype=np.int64)
        parts = [np.arange(s, min(s + _CHUNK, len(self))) for s in range(0, len(self), _CHUNK)]
        for rows in parts:  # all of a large catalog at once would not fit
            counts += favorites(self.only(rows).scores(catalog.scoring))
        shared = np.array(catalog.shared_slate, dtype=np.int64)
        pool = np.union1d(pool_of(counts, least=len(shared)), shared)
        scores = np.empty((len(pool), len(self)), dtype=np.float32)
        for rows in parts:
            scores[:, rows] = self.only(rows).scores(catalog.scoring)[:, pool].T
        return Prior(self.points, scores, pool, self.weights)


def as_they_are(
    tastes: Tastes, vectors: NDArray[np.float32], encoder: Encoder, origin: str
) -> PriorPeople:
    """People with profiles of their own, placed as their devices would place them."""
    likes = tastes.people.likes
    sums = (likes @ encoder.contributions(vectors)) / divisors(likes, encoder.least_likes)
    points = encoder.unit * encoder.ranks(sums)
    light = tastes.vectors.astype(np.float32)
    return PriorPeople(light, points, csr_array(tastes.people.seen), np.ones(len(light)), origin)


def of_tastes(
    tastes: NDArray[np.float32], seen: csr_array, encoder: Encoder, origin: str
) -> PriorPeople:
    """People of whom only tastes are known: their likes are taken to be unclipped."""
    points = encoder.unit * encoder.ranks(tastes.astype(np.float64) @ encoder.directions)
    return PriorPeople(tastes, points, seen, np.ones(len(tastes)), origin)
