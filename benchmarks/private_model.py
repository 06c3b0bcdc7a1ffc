"""What privacy costs a model of a noisy matrix, beside the same model without noise.

    python -m benchmarks.report --only private --ratings NAME=PATH

Four of five people are trained on, and a fifth of what the others rated is held out. A crowd of
more people is the trained ones several times: SIMULATED scale, which flatters, since their matrix
has no more noise of its own than that of a few; a quarter of them four times as often stands
beside. The catalog is public: here, the items that most people of the file rated. The noise is the
mechanism's own, the rule of items and spectrum is that of `taste.private`, and nothing is chosen
by the people who judge. All of it for each of three seeds, which deal people, likes and noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from benchmarks.baselines.recommenders import popularity
from benchmarks.places.country import rounded
from scipy.sparse import csr_array

from askew.mechanisms.covariance import Matrix, NoisyCovariance, covariance
from askew.noise.randomness import SystemBits
from askew_server.ratings import RatingTable
from askew_server.taste.item_vectors import GivenVectors, factor_scorer, hold_out_ratings
from askew_server.taste.measures import Estimate, Gains, HeldOutPeople, mean_with_error
from askew_server.taste.people import histories_of
from askew_server.taste.private import PrivateParameters, fit_shrunk_factors, items_above_noise
from askew_server.taste.private import simulate_ratings as people_of_matrix
from askew_server.taste.space_fit import rating_scale_of

LIKED = 4.0
DELTA = Fraction(1, 10**6)
WITHOUT_NOISE = 10**5  # an epsilon
SEEDS = (0, 1, 2)
CELLS = (
    (24_000, 1),
    (48_000, 1),
    (130_000, 1),
    (480_000, 1),
    (24_000, 4),
    (0, 1),
    (0, 4),
    (0, 8),
)
"""People, 0 for those that there are, and epsilon."""


@dataclass(frozen=True, eq=False)
class Split:
    """People of one seed: likes of the trained (people, items) of ones, and who judges."""

    trained: csr_array = field(repr=False)
    judges: HeldOutPeople = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    parameters: PrivateParameters

    @classmethod
    def of(cls, table: RatingTable, items: int, seed: int) -> Split:
        """Deal people and likes of the most rated items."""
        rated = np.bincount(table.item, minlength=len(table.item_keys))
        kept = np.sort(np.argsort(-rated, kind="stable")[:items])
        scale = rating_scale_of(table, LIKED)
        people = histories_of(table, kept, scale)
        rng = np.random.default_rng([seed, 30])
        order = rng.permutation(table.n_people)
        cut = 4 * len(order) // 5
        trained, rest = (np.sort(part) for part in (order[:cut], order[cut:]))
        judges = hold_out_ratings(csr_array(people.likes[rest]), csr_array(people.seen[rest]), rng)
        keys = tuple([table.item_keys[at] for at in kept.tolist()])
        parameters = PrivateParameters(NoisyCovariance(Fraction(WITHOUT_NOISE), DELTA), scale)
        return cls(csr_array(people.likes[trained]), judges, keys, parameters)

    def matrix(self, part: int = 1) -> Matrix:
        """Return the matrix of one in `part` of the trained."""
        likes = csr_array(self.trained[::part])
        ends = zip(likes.indptr, likes.indptr[1:], strict=False)
        return covariance((likes.indices[a:b].tolist() for a, b in ends), likes.shape[1])


def evaluate_models(split: Split, matrix: Matrix, epsilon: int) -> tuple[Gains, Gains]:
    """Return NDCG@10 of the judges by vectors before codes of 4 bits, and by these codes."""
    parameters, noisy = split.parameters, matrix
    if epsilon != WITHOUT_NOISE:
        mechanism = NoisyCovariance(Fraction(epsilon), DELTA)
        noisy = mechanism.perturb(matrix, bits=SystemBits())
        parameters = PrivateParameters(mechanism, parameters.scale)
    kept = items_above_noise(noisy, parameters)
    factors = fit_shrunk_factors(kept, parameters)
    keys = tuple([split.keys[place] for place in kept.places.tolist()])
    boosts = factors.boosts.astype(np.float32)
    exact = GivenVectors(keys, factors.vectors.astype(np.float32), parameters.scale, boosts)
    coded = exact.fit(people_of_matrix(noisy, split.keys, parameters), parameters.training)
    n, gains = len(split.keys), list[Gains]()
    for fitted in (factors, coded):
        everywhere = np.zeros((n, fitted.vectors.shape[1])), np.zeros(n)
        everywhere[0][kept.places], everywhere[1][kept.places] = fitted.vectors, fitted.boosts
        scorer = factor_scorer(*everywhere, csr_array((n, n)))
        gains.append(split.judges.evaluate(scorer, kept.places).ndcg)
    return gains[0], gains[1]


def measured(table: RatingTable, items: int) -> Iterator[dict[str, Any]]:
    """Yield each cell of docs/utility.md, of all seeds.

    share: of the same model without noise. quarter: NDCG before codes, of a quarter of the people,
    four times as often.
    """
    splits = [Split.of(table, items, seed) for seed in SEEDS]
    pairs = [(split, split.matrix()) for split in splits]
    quarters = [(split, split.matrix(4)) for split in splits]
    full = np.concatenate([evaluate_models(*pair, WITHOUT_NOISE)[1] for pair in pairs])
    popular = [split.judges.evaluate(popularity(split.trained)).ndcg for split in splits]
    for people, epsilon in CELLS:
        copies = max(1, round(people / splits[0].trained.shape[0]))
        ndcg = [evaluate_models(split, copies * gram, epsilon)[1] for split, gram in pairs]
        quarter = [
            evaluate_models(split, 4 * copies * gram, epsilon)[0]
            for split, gram in quarters
            if copies > 1
        ]
        yield {
            "people": copies * splits[0].trained.shape[0],
            "copies": copies,
            "epsilon": epsilon,
            "ndcg": rounded(mean_with_error(np.concatenate(ndcg))),
            "share": rounded(ratio_of(np.concatenate(ndcg), full)),
            "quarter": rounded(mean_with_error(np.concatenate(quarter))) if quarter else None,
            "popularity": rounded(mean_with_error(np.concatenate(popular))),
        }


def ratio_of(reached: Gains, possible: Gains) -> Estimate:
    """Return sum reached / sum possible, with the error of a ratio of means (linearized)."""
    is_known = ~(np.isnan(reached) | np.isnan(possible))
    reached, possible = reached[is_known], possible[is_known]
    if not possible.sum() > 0:
        return Estimate(float("nan"), float("nan"))
    ratio = float(reached.sum() / possible.sum())
    spread = (reached - ratio * possible).std() / np.sqrt(len(reached))
    return Estimate(ratio, float(spread / possible.mean()))
