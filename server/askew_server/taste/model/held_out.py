"""What people whom a model did not see get, each of them, by a mode of serving.

Whatever is chosen by such people looks better on them than it is: the best of many figures is the
luckiest too. So they are two groups, dealt by the seed. By the first a rule, a number of buckets
and a candidate are chosen; every figure that is told is of the second, which chose nothing. Where
the people trained on are the prior themselves, both groups are taken out of it for this. Item
vectors, signal directions and the shared slate are made of everybody, them too.

Their signals are answered as the server answers them:

    geo_laplace   a point's noise is drawn once for each person, and each noisy point is answered
    bucket_rr     the expectation over all lies, exactly: P(b | l(p)) times what slate b gives p

so a difference of two rows is a difference for the same people, and for points by the same noise
for every k. The noise is simulated for many people at once and protects nobody. Its laws are those
of `askew.noise.lattice` and `askew.noise.randomized_response`, and a test compares them cell by
cell; devices draw theirs from the kernel, exactly.

Shapes: n people of a group, n_items items, the first `held` of which everybody has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.catalog.catalog import Catalog
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal
from askew.retrieval import RetrievalRule
from askew.retrieval.posterior import (
    PosteriorRule,
    Prior,
    lattice_log_likelihood,
    response_log_odds,
)
from askew.spaces.buckets import Buckets, SlateCodebook
from askew.spaces.encoder import Encoder
from askew_server.taste.measures import Estimate, ratio_of
from askew_server.taste.prior.people import PriorPeople, as_they_are, names_of
from askew_server.taste.training.factors import Tastes

_GROUP = 400  # people, and never more than a fifth of all
_CHUNK = 4096  # items whose scores are in memory at once
Gains = NDArray[np.float64]


def lattice_signals(
    lattice: LatticeLaplace, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy coordinates of points (n, d), in lattice steps, (n, d)."""
    place = points / lattice.step
    below = np.floor(place)
    rounded = below.astype(np.int64) + (rng.random(points.shape) < place - below)
    stop = 1.0 / (lattice.inverse_rate + 1)  # P(G >= n) = r**n; numpy counts trials, from 1
    return rounded + rng.geometric(stop, points.shape) - rng.geometric(stop, points.shape)


def response_signals(
    response: RandomizedResponse, buckets: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy buckets of people in these buckets (n,), (n,)."""
    lies = rng.random(len(buckets)) >= float(response.odds / (response.odds + response.buckets - 1))
    moved = lies * rng.integers(1, response.buckets, len(buckets))
    return (buckets + moved) % response.buckets


@dataclass(frozen=True)
class Figure:
    """score of the picks / best possible, and its paired gain over as many items for everybody.

    In hundredths: the card has them, and every digit more tells more of the people held out.
    """

    ratio: float
    gain: float
    gain_error: float


@dataclass(frozen=True, eq=False)
class HeldOutGroup:
    """A group: points (n, d), tastes (n, D), seen items sparse (n, n_items).

    have: the best score among the items held, (n,); possible: among all, (n,). 0 for nothing good.
    """

    points: NDArray[np.float64] = field(repr=False)
    tastes: NDArray[np.float64] = field(repr=False)
    seen: csr_array = field(repr=False)
    scoring: NDArray[np.float32] = field(repr=False)
    have: Gains = field(repr=False)
    possible: Gains = field(repr=False)

    @classmethod
    def of(cls, people: PriorPeople, catalog: Catalog, held: int) -> HeldOutGroup:
        """These people, of whom everybody has the first `held` items."""
        nothing = np.zeros(len(people))
        tastes = people.tastes.astype(np.float64)
        draft = cls(people.points, tastes, people.seen, catalog.scoring, nothing, nothing)
        have = draft.best(np.arange(held))
        return HeldOutGroup(
            people.points,
            tastes,
            people.seen,
            catalog.scoring,
            have,
            np.maximum(have, draft.best(np.arange(held, len(catalog)))),
        )

    def __len__(self) -> int:
        """The number n of people."""
        return len(self.tastes)

    def scores(self, items: NDArray[np.int64]) -> Gains:
        """What items (m,) are worth to each, (n, m): 0 where seen or disliked."""
        found: Gains = np.maximum(self.tastes @ self.scoring[items].T.astype(np.float64), 0)
        seen = self.seen[:, items].tocoo()
        found[seen.row, seen.col] = 0
        return found

    def best(self, items: NDArray[np.int64]) -> Gains:
        """The best score among items (m,), whatever is held, (n,)."""
        reached = np.zeros(len(self))
        for start in range(0, len(items), _CHUNK):
            reached = np.maximum(reached, self.scores(items[start : start + _CHUNK]).max(axis=1))
        return reached

    def served(self, slate: Sequence[int] | NDArray[np.int64]) -> Gains:
        """What each has by one slate for all, beside what is held, (n,)."""
        return np.maximum(self.have, self.best(np.asarray(slate, dtype=np.int64)))

    def served_each(self, slates: NDArray[np.int64]) -> Gains:
        """What each has by a slate of their own, (n, k) -> (n,)."""
        items, places = np.unique(slates, return_inverse=True)
        reached = self.have.copy()
        for column in places.reshape(slates.shape).T:  # one item each at a time
            worth = np.einsum("nd,nd->n", self.tastes, self.scoring[items[column]])
            seen = np.asarray(self.seen[np.arange(len(self)), items[column]]).ravel()
            reached = np.maximum(reached, np.where(seen > 0, 0, worth))
        return reached

    def ratio(self, got: Gains) -> float:
        """What they have over the best possible; 1 where nothing good is left for any of them."""
        return ratio_of(got, self.possible).mean if self.possible.any() else 1.0

    def gain(self, got: Gains, other: Gains) -> Estimate:
        """The paired difference of two such ratios, with its standard error."""
        return ratio_of(got - other, self.possible) if self.possible.any() else Estimate(0.0, 0.0)

    def figure(self, got: Gains, other: Gains) -> Figure:
        """As a card tells it."""
        gain = self.gain(got, other)
        return Figure(*(round(each, 2) + 0.0 for each in (self.ratio(got), gain.mean, gain.error)))


@dataclass(frozen=True, eq=False)
class Groups:
    """Who chooses, who tests, and the prior's people without either of them: as they are, and as
    rules weigh them.
    """

    choosing: HeldOutGroup
    testing: HeldOutGroup
    people: PriorPeople | None
    prior: Prior | None
    held: int


def groups_of(  # noqa: PLR0913
    tastes: Tastes,
    encoder: Encoder,
    catalog: Catalog,
    prior: PriorPeople | None,
    *,
    own: bool,
    held: int,
    seed: int,
) -> Groups:
    """The groups, dealt by the seed. own: the prior is these very people."""
    order = np.random.default_rng([seed, 9]).permutation(len(tastes.vectors))
    size = min(_GROUP, max(len(order) // 5, 1))
    people = as_they_are(tastes, catalog.vectors, encoder, "held out")
    first, second = (
        HeldOutGroup.of(people.only(np.sort(rows)), catalog, held)
        for rows in (order[:size], order[size : 2 * size])
    )
    if prior is not None and own:
        prior = prior.only(np.sort(order[2 * size :]))
    weighed = None if prior is None else prior.prior(catalog, held)
    return Groups(first, second, prior, weighed, held)


NO_VERSION = "00" * 16  # nobody receives these signals
LIMIT = 512  # people of a prior that an answer weighs here; a server weighs more, and does better


def by_point(  # noqa: PLR0913
    people: HeldOutGroup,
    rule: RetrievalRule,
    prior: Prior | None,
    lattice: LatticeLaplace,
    sizes: Sequence[int],
    *,
    rng: np.random.Generator,
) -> Mapping[int, Gains]:
    """What each has by one noisy point, for each k, (n,). prior: of a rule that weighs one."""
    signals = lattice_signals(lattice, people.points, rng).tolist()
    found: dict[int, list[Sequence[int]]] = {k: [] for k in sizes}
    for values in signals:
        slates = by_sizes(rule, prior, Signal(NO_VERSION, lattice, tuple(values)), sizes)
        for k, slate in zip(sizes, slates, strict=True):
            found[k].append(slate)
    return {k: people.served_each(np.array(slates)) for k, slates in found.items()}


def by_bucket(  # noqa: PLR0913, PLR0917
    people: HeldOutGroup,
    rule: RetrievalRule,
    buckets: Buckets | SlateCodebook,
    response: RandomizedResponse,
    sizes: Sequence[int],
    catalog: Catalog,
) -> Mapping[int, Gains]:
    """What each has by one noisy bucket in expectation, for each k, (n,)."""
    signals = [Signal(NO_VERSION, response, (b,)) for b in range(len(buckets))]
    label = names_of(buckets, people.tastes, people.seen, catalog)
    return {
        k: expected(people, [rule.answer(signal, k) for signal in signals], label, response)
        for k in sizes
    }


def expected(
    people: HeldOutGroup,
    slates: Sequence[Sequence[int]],
    label: NDArray[np.int64],
    response: RandomizedResponse,
) -> Gains:
    """The mean over the lies of people with these buckets (n,), of M slates of items, (n,)."""
    served = np.stack([people.served(slate) for slate in slates], axis=1)  # (n, M)
    own, other = np.exp(response_log_odds(response))
    truth = served[np.arange(len(served)), label]
    mean: Gains = (own - other) * truth + other * served.sum(axis=1)
    return mean


def by_sizes(
    rule: RetrievalRule, prior: Prior | None, signal: Signal, sizes: Sequence[int]
) -> list[Sequence[int]]:
    """The items that a rule answers a signal with, for each k, in any order. prior: of a rule that
    weighs one.
    """
    if isinstance(rule, PosteriorRule) and prior is not None:  # every k by one choice
        weights = prior.posterior(
            lattice_log_likelihood(signal.lattice, signal.values, prior.points)
        )
        return [prior.items[rows].tolist() for rows in rule.choose(weights, *sizes)]
    return [rule.answer(signal, k) for k in sizes]
