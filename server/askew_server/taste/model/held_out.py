"""What people whom a model did not see get, each of them, by a mode of serving.

Before anything is fitted, some people are dealt out by the seed, and everything that is measured is
made of the others: items and their vectors, the space, the shared slate. Only then the model itself
is made, of everybody (`item_model.train`). People held out choose nothing: what is chosen by
somebody looks better on them than it is. A person's device knows most of their ratings; of the
rest, what they liked is what rankings are judged by (`measures`). Who has nothing to judge by is
left out.

Their signals are answered as the server answers them. A point's noise is drawn once for each
person, so a difference of two rows is a difference for the same people, and by the same noise for
every k. The noise is simulated for many people at once and protects nobody. Its law is that of
`askew.noise.lattice`, cell by cell; devices draw theirs from the kernel, exactly.

Shapes: n people, n_items items, the first `held` of which everybody has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.catalog.catalog import Catalog
from askew.dp.privacy import DEVICE_EPSILON
from askew.noise.lattice import LatticeLaplace
from askew.protocol.signal import Signal
from askew.retrieval.offset_rule import OffsetRule
from askew.spaces.encoder import Encoder
from askew_server.taste.measures import (
    Estimate,
    Items,
    Met,
    Profiles,
    Scorer,
    is_clear,
    mean_of,
)
from askew_server.taste.training.factors import Histories, divisors, fold_in_people
from askew_server.taste.training.item_vectors import Expressed
from askew_server.taste.training.options import TrainingOptions

Scored = Catalog | Expressed
_MOST = 800  # people, and never more than a fifth of all


def lattice_signals(
    lattice: LatticeLaplace, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy coordinates of points (n, d), in lattice steps, (n, d)."""
    place = points / lattice.step
    below = np.floor(place)
    rounded = below.astype(np.int64) + (rng.random(points.shape) < place - below)
    stop = 1.0 / (lattice.inverse_rate + 1)  # P(G >= n) = r**n; numpy counts trials, from 1
    return rounded + rng.geometric(stop, points.shape) - rng.geometric(stop, points.shape)


def points_of(
    likes: csr_array, vectors: NDArray[np.float32], encoder: Encoder
) -> NDArray[np.float64]:
    """Where the devices of people of these likes, sparse (n, n_items), place them, (n, d)."""
    sums = (likes @ encoder.contributions(vectors)) / divisors(likes, encoder.least_likes)
    points: NDArray[np.float64] = encoder.unit * encoder.ranks(sums)
    return points


@dataclass(frozen=True)
class Figure:
    """NDCG@10, and its paired gain over something else, in thousandths: every digit more tells more
    of the people held out.
    """

    ndcg: Estimate
    gain: Estimate

    @classmethod
    def of(cls, got: Met, other: Met) -> Figure:
        """The figure of some people, beside what the same people have otherwise."""
        found = (mean_of(got.ndcg), mean_of(got.ndcg - other.ndcg))
        return cls(*(Estimate(coarse(each.mean), coarse(each.error)) for each in found))


Figures = Mapping[str, Mapping[str, Figure]]
"""By how many items people hold, as text, and by what they ask (`evaluate`)."""


def coarse(value: float) -> float:
    """In thousandths, and never -0; 0 of nobody."""
    return 0.0 if np.isnan(value) else round(value, 3) + 0.0


def split_people(n_people: int, seed: int) -> NDArray[np.int64]:
    """Return the rows of the people held out, ascending."""
    order = np.random.default_rng([seed, 9]).permutation(n_people)
    return np.sort(order[: min(_MOST, max(n_people // 5, 1))])


def scorer_of(items: Scored, least_likes: int, *, whole: bool) -> Scorer:
    """Return what devices rank by; whole: neighbors add to it where every item is held."""
    pairs, neighbors = None, items.neighbors
    if whole and neighbors is not None:
        n, count = neighbors.items.shape
        where = (np.repeat(np.arange(n), count), neighbors.items.ravel().astype(np.int64))
        listed = csr_array((neighbors.step * neighbors.codes.ravel(), where), shape=(n, n))
        pairs = csr_array(listed + listed.T)

    def scores(likes: csr_array) -> NDArray[np.float64]:
        tastes = fold_in_people(Histories(likes, likes), items.vectors, least_likes).vectors
        found: NDArray[np.float64] = tastes @ items.scoring.T.astype(np.float64)
        if pairs is not None:
            found += (likes @ pairs).toarray() * items.boosts / divisors(likes, least_likes)
        return found

    return scores


@dataclass(frozen=True, eq=False)
class HeldOutGroup:
    """People held out, as their devices see themselves: points (n, d), what devices know and what
    was held out. scorer: of their likes, and `whole` of those who hold every item. held: how many
    of the items (n_items, D), the first ones, everybody has.
    """

    points: NDArray[np.float64] = field(repr=False)
    profiles: Profiles = field(repr=False)
    encoder: Encoder
    scoring: NDArray[np.float32] = field(repr=False)
    scorer: Scorer
    whole: Scorer
    held: int

    @classmethod
    def of(
        cls, shown: Histories, liked: csr_array, encoder: Encoder, items: Scored, held: int
    ) -> HeldOutGroup:
        """Those of these people of whom something is known. liked: of what they have not shown."""
        known = np.flatnonzero((np.diff(shown.likes.indptr) > 0) & (np.diff(liked.indptr) > 0))
        profiles = Profiles(shown.likes, shown.seen, liked).only(known)
        points = points_of(profiles.likes, items.vectors, encoder)
        plain, whole = (scorer_of(items, encoder.least_likes, whole=w) for w in (False, True))
        return cls(points, profiles, encoder, items.scoring, plain, whole, held)

    def __len__(self) -> int:
        """The number n of people."""
        return len(self.points)

    @cached_property
    def local(self) -> Met:
        """What each has who holds and ranks every item."""
        return self.profiles.met(self.whole)

    def cached(self, items: Items) -> Met:
        """What each has who holds and ranks these items (m,), and no others."""
        return self.profiles.met(self.scorer, items)

    def served(self, slate: Sequence[int] | Items) -> Met:
        """What each has by one slate (k,) for all, beside what is held."""
        return self.served_each(np.tile(np.asarray(slate, dtype=np.int64), (len(self), 1)))

    def served_each(self, slates: Items) -> Met:
        """What each has by a slate (n, k) of their own, beside what is held."""
        return self.profiles.met(self.scorer, np.hstack([self._best_held, slates]))

    @cached_property
    def _best_held(self) -> Items:
        """The best of what everybody has, (n, at most 20)."""
        return self.profiles.ranked(self.scorer, np.arange(self.held))


NO_VERSION = "00" * 16  # nobody receives these signals


def answers(
    people: HeldOutGroup,
    rule: OffsetRule,
    lattice: LatticeLaplace,
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> Mapping[int, Items]:
    """Return the answer to one noisy point of each, (n, k), for each k."""
    signals = [
        Signal(NO_VERSION, lattice, tuple(values))
        for values in lattice_signals(lattice, people.points, rng).tolist()
    ]
    return {
        k: np.array([rule.answer(signal, k) for signal in signals], np.int64).reshape(-1, k)
        for k in sizes
    }


HELD = (64, 200)
EPSILONS = tuple(map(Fraction, ("0.4", "0.8", "1", "2")))
"""Of one rating. One of them is the default of devices."""


def evaluate(
    group: HeldOutGroup,
    n_default: int,
    slate: Callable[[int], Sequence[int]],
    options: TrainingOptions,
) -> tuple[Figures, bool]:
    """Return what people have who hold the first 64 items, 200, or the default items:

    alone      who sends nothing, and ranks what is held; every item and its neighbors where all are
    everybody  who also gets k items that are the same for all; the gain is over `alone`
    0.4 ...    who asks at this epsilon a rating; the gain is over `everybody`

    and whether that gain is clear at the default epsilon beside the default items: no, where those
    are all items. slate: of k items, the best beside the first so many.
    """
    n_items, figures, worth_asking = len(group.scoring), {}, False
    for held in sorted({*(n for n in HELD if n < n_default), n_default}):
        people, whole = replace(group, held=held), held == n_items
        alone = people.local if whole else people.cached(np.arange(held))
        column = {"alone": Figure.of(alone, alone)}
        figures[str(held)] = column
        shared, k = slate(held) if not whole else (), min(options.k, n_items - held)
        if len(shared) < k or whole:
            continue
        alike = people.served(shared)
        column["everybody"] = Figure.of(alike, alone)
        rule = OffsetRule(group.encoder, group.scoring, held=held)
        for epsilon in EPSILONS:
            rng = np.random.default_rng([options.seed, 10])  # simulated noise: protects nobody
            lattice = LatticeLaplace.for_epsilon(epsilon)
            asked = people.served_each(answers(people, rule, lattice, [k], rng)[k])
            column[f"{float(epsilon):g}"] = Figure.of(asked, alike)
            if (held, epsilon) == (n_default, DEVICE_EPSILON):
                worth_asking = is_clear(mean_of(asked.ndcg - alike.ndcg), len(group))
    return figures, worth_asking
