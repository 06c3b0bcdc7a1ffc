"""What privacy costs a model of a noisy matrix, beside the same model without noise.

    python -m benchmarks.private_model [RATINGS [ITEMS ...]] [--people N ...] [--goals]

Four of five people are trained on, and a fifth of what the others rated is held out. A crowd of
more people is the trained ones several times: SIMULATED scale, which flatters, since their matrix
has no more noise of its own than that of a few; a quarter of them four times as often stands
beside. The catalog is public: here, the ITEMS that most people of the file rated. The noise is the
mechanism's own, the rule of items and spectrum is that of `training.private`, and nothing is chosen
by the people who judge. All of it for each of three seeds, which deal people, likes and noise.

Private ALS (`benchmarks.private_als`) is of the same people, catalog, guarantee and seeds, and not
rounded. Its settings were found for MovieLens 1M, for each crowd and epsilon by 90 to 180 trials,
judged by a fifth of the trained people: no private training has that for nothing. They are frozen.

Without RATINGS people and films are SIMULATED. With --goals, which are those of MovieLens 1M, the
exit status is 1 where a share is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from benchmarks.baselines.recommenders import popularity
from benchmarks.private_als import PrivateALS, Settings
from benchmarks.ratios import ratio_of
from numpy.typing import NDArray
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from askew.dp.composition import rho_for
from askew.mechanisms.covariance import Matrix, NoisyCovariance, covariance
from askew.noise.randomness import SystemBits
from askew_server.demo.simulation import simulated_table
from askew_server.ratings import RatingTable, read_ratings
from askew_server.taste.measures import Estimate, Gains, HeldOutPeople, Scorer, mean_of
from askew_server.taste.model.private_model import simulated_table as people_of_matrix
from askew_server.taste.training.factors import people_of
from askew_server.taste.training.item_vectors import ImportedVectors
from askew_server.taste.training.private import PrivateParameters, factors_of, kept_items
from askew_server.taste.training.space_fit import scale_of
from askew_server.taste.training.tuning import hold_out_ratings, make_scorer

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
GOALS = {
    (1500, 24_000, 1): 0.80,
    (1500, 48_000, 1): 0.87,
    (1500, 130_000, 1): 0.95,
    (1500, 480_000, 1): 0.98,
    (1500, 24_000, 4): 0.92,
    (1500, 0, 4): 0.75,
    (1500, 0, 8): 0.83,
    (3000, 24_000, 1): 0.75,
    (3000, 48_000, 1): 0.86,
}
"""Of MovieLens 1M, by items, people and epsilon: the least share of the same without noise."""
TUNED = {
    (24_000, 1): Settings(32, 2, 0.0746, 0.634, 0.0, 0.03, 0.2, 0.1, 0.5),
    (48_000, 1): Settings(48, 2, 0.0277, 1.428, 0.0, 0.03, 0.2, 0.1, 0.0),
    (130_000, 1): Settings(32, 3, 0.0244, 0.709, 0.25, 0.1, 0.03, 0.05, 0.5),
    (24_000, 4): Settings(32, 3, 0.0265, 0.608, 0.25, 0.1, 0.03, 0.05, 0.25),
    (0, 4): Settings(32, 2, 0.0746, 0.466, 0.0, 0.03, 0.2, 0.05, 0.5),
}
"""Of private ALS, by people and epsilon."""
TUNED_ITEMS = 1500
HEADING = (
    "   people eps   kept  NDCG@10        recall share, 4 bits   exact  a quarter    ALS    list"
)


@dataclass(frozen=True, eq=False)
class Split:
    """People of one seed: likes of the trained (people, items) of ones, and who judges."""

    trained: csr_array = field(repr=False)
    judges: HeldOutPeople = field(repr=False)
    keys: tuple[str, ...] = field(repr=False)
    parameters: PrivateParameters

    @classmethod
    def of(cls, table: RatingTable, items: int, seed: int) -> Split:
        """By the most rated items."""
        rated = np.bincount(table.item, minlength=len(table.item_keys))
        kept = np.sort(np.argsort(-rated, kind="stable")[:items])
        scale = scale_of(table, LIKED)
        people = people_of(table, kept, scale)
        rng = np.random.default_rng([seed, 30])
        order = rng.permutation(table.n_people)
        cut = 4 * len(order) // 5
        trained, rest = (np.sort(part) for part in (order[:cut], order[cut:]))
        judges = hold_out_ratings(csr_array(people.likes[rest]), csr_array(people.seen[rest]), rng)
        keys = tuple([table.item_keys[at] for at in kept.tolist()])
        parameters = PrivateParameters(Fraction(WITHOUT_NOISE), DELTA, scale)
        return cls(csr_array(people.likes[trained]), judges, keys, parameters)

    def matrix(self, part: int = 1) -> Matrix:
        """Of one in `part` of the trained."""
        likes = csr_array(self.trained[::part])
        ends = zip(likes.indptr, likes.indptr[1:], strict=False)
        return covariance((likes.indices[a:b].tolist() for a, b in ends), likes.shape[1])


@dataclass(frozen=True)
class Line:
    """What people got in one cell. share: of the same model without noise. exact: before codes of 4
    bits. quarter: of a quarter of the people, four times as often. als: of private ALS.
    """

    people: int
    copies: int
    epsilon: int
    kept: int
    ndcg: Estimate
    recall: Estimate
    share: Estimate
    exact: Estimate
    quarter: tuple[Estimate, Estimate] | None
    popularity: Estimate
    als: Estimate | None


def told(split: Split, matrix: Matrix, epsilon: int) -> Iterator[tuple[Gains, Gains, int]]:
    """NDCG@10 and recall@20 of the judges, and the number of items: unrounded, then at 4 bits."""
    parameters, noisy = split.parameters, matrix
    if epsilon != WITHOUT_NOISE:
        mechanism = NoisyCovariance(Fraction(epsilon), DELTA)
        noisy = mechanism.perturb(matrix, bits=SystemBits())
        parameters = PrivateParameters(Fraction(epsilon), DELTA, parameters.scale)
    kept = kept_items(noisy, parameters)
    places, factors = kept.places, factors_of(kept, parameters)
    yield _met(split, places, factors.vectors, factors.boosts)
    known = tuple([split.keys[place] for place in places.tolist()])
    people = people_of_matrix(noisy, split.keys, parameters)
    boosts = factors.boosts.astype(np.float32)
    exact = ImportedVectors(known, factors.vectors.astype(np.float32), parameters.scale, boosts)
    given = exact.fit(people, parameters.training)
    yield _met(split, places, given.vectors, given.boosts)


def _met(
    split: Split,
    places: NDArray[np.int64],
    vectors: NDArray[np.floating],
    boosts: NDArray[np.floating],
) -> tuple[Gains, Gains, int]:
    n = len(split.keys)
    everywhere = np.zeros((n, vectors.shape[1])), np.zeros(n)
    everywhere[0][places], everywhere[1][places] = vectors, boosts
    met = split.judges.evaluate(make_scorer(*everywhere, csr_array((n, n))), places)
    return met.ndcg, met.recall, len(places)


def lines_of(table: RatingTable, items: int, cells: list[tuple[int, int]]) -> Iterator[Line]:
    """A line for each cell, of all seeds."""
    splits = [Split.of(table, items, seed) for seed in SEEDS]
    grams = [(split.matrix(), split.matrix(4)) for split in splits]
    pairs = list(zip(splits, grams, strict=True))
    full = [list(told(split, gram, WITHOUT_NOISE)) for split, (gram, _) in pairs]
    few = [[next(told(split, gram, WITHOUT_NOISE))] for split, (_, gram) in pairs]
    popular = [split.judges.evaluate(popularity(split.trained)).ndcg for split in splits]
    for people, epsilon in cells:
        copies = max(1, round(people / splits[0].trained.shape[0]))
        found = [list(told(split, copies * gram, epsilon)) for split, (gram, _) in pairs]
        quarter = None
        if copies > 1:
            parts = [[next(told(split, 4 * copies * gram, epsilon))] for split, (_, gram) in pairs]
            quarter = mean_of(np.concatenate([each[0][0] for each in parts])), _share(parts, few, 0)
        yield Line(
            people=copies * splits[0].trained.shape[0],
            copies=copies,
            epsilon=epsilon,
            kept=round(np.mean([each[1][2] for each in found])),
            ndcg=mean_of(np.concatenate([each[1][0] for each in found])),
            recall=mean_of(np.concatenate([each[1][1] for each in found])),
            share=_share(found, full, 1),
            exact=_share(found, full, 0),
            quarter=quarter,
            popularity=mean_of(np.concatenate(popular)),
            als=_als(splits, copies, people, epsilon),
        )


def _share(
    found: list[list[tuple[Gains, Gains, int]]], full: list[list[tuple[Gains, Gains, int]]], at: int
) -> Estimate:
    reached, possible = (np.concatenate([each[at][0] for each in part]) for part in (found, full))
    return ratio_of(reached, possible)


def _als(splits: list[Split], copies: int, people: int, epsilon: int) -> Estimate | None:
    settings = TUNED.get((people, epsilon))
    if settings is None or len(splits[0].keys) != TUNED_ITEMS:
        return None
    model = PrivateALS(settings, float(rho_for(Fraction(epsilon), DELTA)))
    met = []
    for seed, split in zip(SEEDS, splits, strict=True):
        scorer: Scorer = model.scorer(split.trained, copies, np.random.default_rng([seed, 31]))
        met.append(split.judges.evaluate(scorer).ndcg)
    return mean_of(np.concatenate(met))


def shown(line: Line) -> str:
    """A line of the table."""
    quarter = "{:.3f} {:.3f}".format(*(each.mean for each in line.quarter)) if line.quarter else ""
    als = f"{line.als.mean:.3f}" if line.als else ""
    return (
        f"{line.people:9,d} {line.epsilon:3d} {line.kept:6,d}  "
        f"{line.ndcg.mean:.3f} ± {line.ndcg.error:.3f}  {line.recall.mean:.3f}  "
        f"{line.share.mean:.3f} ± {line.share.error:.3f}  {line.exact.mean:.3f}  {quarter:11s}  "
        f"{als:5s}  {line.popularity.mean:.3f}"
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratings", type=Path, nargs="?")
    parser.add_argument("items", type=int, nargs="*", default=[1500, 3000])
    parser.add_argument("--people", type=int, nargs="+")
    parser.add_argument("--goals", action="store_true")
    options = parser.parse_args(arguments)
    table = read_ratings(options.ratings)[0] if options.ratings else simulated_table()
    cells = [cell for cell in CELLS if options.people is None or cell[0] in options.people]
    missed = []
    for items in options.items if options.ratings else [len(table.item_keys)]:
        print(f"{items:,} items, delta 1e-6; people beyond the real ones are SIMULATED scale")
        print(HEADING)
        for cell, line in zip(cells, lines_of(table, items, cells), strict=True):
            print(shown(line), flush=True)
            goal = GOALS.get((items, *cell)) if options.goals else None
            if goal and line.share.mean < goal:
                missed.append(f"{items} items, {cell}: {line.share.mean:.3f}, not {goal}")
    if missed:
        sys.exit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
