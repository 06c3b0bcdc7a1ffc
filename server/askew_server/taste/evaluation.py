"""How good a model is for people whom it did not see, by what their devices hold and ask.

`split_people` draws the people held out before anything is fitted. What is measured is fitted to
the others: items and their vectors, the space, the shared slate. Only then the model itself is
fitted, to everybody (`model.train`). People held out choose nothing: what is chosen by
somebody looks better on them than it is. Their devices know most of their ratings; what they liked
of the rest is what rankings are judged by (`measures`). Who has nothing to be judged by is left
out.

Their signals are answered as the server answers them. The noise of a point is drawn once for each
person, so a difference of two figures is a difference for the same people, with the same noise for
every k. It is simulated for many people at once and protects nobody. Its law is that of
`askew.noise.lattice`, cell by cell; devices draw theirs from the kernel, exactly.

Shapes: n people, n_items items, d signal dimensions, D ranking dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew.catalog.catalog import Catalog
from askew.noise.lattice import LatticeLaplace
from askew.offset_rule import OffsetRule
from askew.protocol.signal import Signal
from askew.spaces.vectors import Encoder
from askew_server.taste.item_vectors import FittedItems
from askew_server.taste.measures import (
    Accuracy,
    Estimate,
    HeldOutPeople,
    Items,
    Scorer,
    mean_with_error,
)
from askew_server.taste.options import TrainingOptions
from askew_server.taste.people import Histories, divisors, fold_in_people

HELD = (64, 200)
"""Numbers of items that figures suppose a device to hold, beside the default items."""
EPSILONS = tuple(map(Fraction, ("0.4", "0.8", "1", "2")))
"""Of one rating. One of them is the default of devices."""
_MOST = 800  # people, and never more than a fifth of all
_NO_VERSION = "00" * 16  # nobody receives these signals


@dataclass(frozen=True)
class Figure:
    """NDCG@10, and its paired gain over something else, in thousandths: every digit more tells more
    of the people held out.
    """

    ndcg: Estimate
    gain: Estimate

    @classmethod
    def of(cls, accuracy: Accuracy, baseline: Accuracy) -> Figure:
        """Return a Figure: `ndcg`, the mean NDCG@10 of people, and `gain`, the mean of what it is
        above a baseline's for the same people, both Estimates (mean, error) in thousandths: .123;
        0.0 for nobody.
        """
        estimates = mean_with_error(accuracy.ndcg), mean_with_error(accuracy.ndcg - baseline.ndcg)
        return cls(*(Estimate(_rounded(e.mean), _rounded(e.error)) for e in estimates))


Figures = Mapping[str, Mapping[str, Figure]]
"""By how many items devices hold, as text, and by what they ask (`evaluate`)."""


def _rounded(value: float) -> float:
    # To thousandths, never -0.0; nan is the mean of nobody.
    return 0.0 if np.isnan(value) else round(value, 3) + 0.0


def split_people(n_people: int, seed: int) -> NDArray[np.int64]:
    """Return the rows of the people to hold out, drawn by the seed, ascending: a fifth of n_people,
    rounded down, at least 1 of any and at most 800.
    """
    order = np.random.default_rng([seed, 9]).permutation(n_people)
    return np.sort(order[: min(_MOST, max(n_people // 5, 1))])


def simulate_signals(
    lattice: LatticeLaplace, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return noisy points (n, d) in whole lattice steps: each coordinate of points (n, d), over the
    step, rounded up or down by chance, plus noise of the lattice's law.
    """
    place = points / lattice.step
    below = np.floor(place)
    rounded = below.astype(np.int64) + (rng.random(points.shape) < place - below)
    stop = 1.0 / (lattice.inverse_rate + 1)  # P(G >= n) = r**n; numpy counts trials, from 1
    return rounded + rng.geometric(stop, points.shape) - rng.geometric(stop, points.shape)


def device_scorer(items: Catalog | FittedItems, least_likes: int, *, whole: bool) -> Scorer:
    """Return the scorer, of scores (n, n_items) for likes (n, n_items), that ranks as devices do:
    by the product of an item's scoring vector and the taste that likes fold in to. whole: of a
    device that holds every item, where the neighbors of liked items, if there are any, add to the
    score.
    """
    pairs, neighbors = None, items.neighbors
    if whole and neighbors is not None:
        n, count = neighbors.items.shape
        where = (np.repeat(np.arange(n), count), neighbors.items.ravel().astype(np.int64))
        listed = csr_array((neighbors.step * neighbors.codes.ravel(), where), shape=(n, n))
        pairs = csr_array(listed + listed.T)

    def score(likes: csr_array) -> NDArray[np.float64]:
        tastes = fold_in_people(Histories(likes, likes), items.vectors, least_likes).vectors
        scores: NDArray[np.float64] = tastes @ items.scoring.T.astype(np.float64)
        if pairs is not None:
            scores += (likes @ pairs).toarray() * items.boosts / divisors(likes, least_likes)
        return scores

    return score


@dataclass(frozen=True, eq=False)
class Evaluation:
    """People held out, and how their devices place them and rank.

    points: (n, d). scoring: (n_items, D). whole_scorer: of devices that hold every item; scorer:
    of the others.
    """

    people: HeldOutPeople
    points: NDArray[np.float64] = field(repr=False)
    encoder: Encoder
    scoring: NDArray[np.float32] = field(repr=False)
    scorer: Scorer
    whole_scorer: Scorer

    @classmethod
    def of(
        cls, shown: Histories, held_out: csr_array, encoder: Encoder, items: Catalog | FittedItems
    ) -> Evaluation:
        """Return the evaluation by those people who have both likes that their devices know, in
        `shown`, and likes in `held_out` (n, n_items). The others are left out.
        """
        rows = np.flatnonzero((np.diff(shown.likes.indptr) > 0) & (np.diff(held_out.indptr) > 0))
        likes = csr_array(shown.likes[rows])
        people = HeldOutPeople(likes, csr_array(shown.seen[rows]), csr_array(held_out[rows]))
        sums = (likes @ encoder.contributions(items.vectors)) / divisors(likes, encoder.least_likes)
        points = encoder.unit * encoder.ranks(sums)
        scorers = (device_scorer(items, encoder.least_likes, whole=w) for w in (False, True))
        return cls(people, points, encoder, items.scoring, *scorers)

    def rank_first(self, n_held: int) -> Items:
        """Return for each person the best unseen of the first n_held items, best first, by the
        scores of devices that do not hold all: (n, r), r the smaller of 20 and n_held, NOTHING
        where there are no more.
        """
        return self.people.rank(self.scorer, np.arange(n_held))

    def evaluate_slates(self, best_held: Items, slates: Items) -> Accuracy:
        """Return the Accuracy, NDCG@10 and recall@20 (n,) each, of people whose devices rank
        together what they hold, best_held (n, r) of `rank_first`, and a slate (n, k), or (k,) for
        all.
        """
        slates = np.broadcast_to(slates, (len(self.people), np.shape(slates)[-1]))
        return self.people.evaluate(self.scorer, np.hstack([best_held, slates]))

    def ask(
        self,
        rule: OffsetRule,
        lattice: LatticeLaplace,
        sizes: Sequence[int],
        rng: np.random.Generator,
    ) -> Mapping[int, Items]:
        """Return, by k of sizes, the slates (n, k), ids ascending, with which the rule answers one
        noisy point of each person: the same point for every k.
        """
        signals = [
            Signal(_NO_VERSION, lattice, tuple(values))
            for values in simulate_signals(lattice, self.points, rng).tolist()
        ]
        return {
            k: np.array([rule.answer(signal, k) for signal in signals], np.int64).reshape(-1, k)
            for k in sizes
        }


def evaluate(
    evaluation: Evaluation,
    n_default: int,
    slate: Callable[[int], Sequence[int]],
    options: TrainingOptions,
) -> Figures:
    """Return figures by the number of items held, as text: the first 64 and 200, where these are
    below n_default, and n_default. Of each, a Figure by

    alone      they send nothing, and rank what they hold; with neighbors where that is every item,
               and then it is the only one; the gain is 0
    everybody  they also get k items that are the same for all; the gain is over `alone`
    0.4 ...    and 0.8, 1, 2: they ask at this epsilon a rating; the gain is over `everybody`

    slate: gives the best k items for all, beside the first so many; `alone` where it gives fewer.
    """
    n_items = len(evaluation.scoring)
    figures: dict[str, dict[str, Figure]] = {}
    for n_held in sorted({*(n for n in HELD if n < n_default), n_default}):
        if n_held == n_items:
            alone = evaluation.people.evaluate(evaluation.whole_scorer)
            figures[str(n_held)] = {"alone": Figure.of(alone, alone)}
            continue
        alone = evaluation.people.evaluate(evaluation.scorer, np.arange(n_held))
        column = figures[str(n_held)] = {"alone": Figure.of(alone, alone)}
        shared, k = slate(n_held), min(options.k, n_items - n_held)
        if len(shared) < k:
            continue
        best_held = evaluation.rank_first(n_held)
        same = evaluation.evaluate_slates(best_held, np.array(shared, dtype=np.int64))
        column["everybody"] = Figure.of(same, alone)
        rule = OffsetRule(evaluation.encoder, evaluation.scoring, held=n_held)
        for epsilon in EPSILONS:
            rng = np.random.default_rng([options.seed, 10])  # simulated noise: protects nobody
            slates = evaluation.ask(rule, LatticeLaplace.for_epsilon(epsilon), [k], rng)[k]
            asked = evaluation.evaluate_slates(best_held, slates)
            column[f"{float(epsilon):g}"] = Figure.of(asked, same)
    return figures
