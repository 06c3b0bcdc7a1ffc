"""The table: one cell for each truth, rule, epsilon and k, every figure with its standard error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.rule_kind import RuleKind
from askew_server.evaluation.guarantee import Guarantee
from askew_server.evaluation.truths import TruthName
from askew_server.training.quality import (
    Estimate,
    Gains,
    Outcome,
    coverage_of,
    gains_of,
    gap_of,
    gini_of,
    mean_of,
    ratio_of,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Label:
    """What a cell is about. epsilon: plain, between any two people, whatever the mechanism; 0 where
    no signal is sent. dimension: the signal's, where it is not the one that suits epsilon.
    """

    truth: TruthName
    k: int
    rule: RuleKind
    epsilon: float
    dimension: int = 0


@dataclass(frozen=True)
class Cell:
    """One cell. ratio: score of the picks over that of everybody's own best; bound: the most that
    any channel of this epsilon with this k could reach, unknown where nothing is sent. gap: 0 for
    the best single item for all, 1 for one's own best. over_none, over_naive: paired differences of
    ratios to the zero-information slate and to `naive` of the same k. gains: over the
    zero-information slate, person by person, for the one draw that each has.
    coverage, gini: of the picks of all people of all seeds, over the whole catalog, rare items and
    all. size: signal dimensions, or buckets, or interests, and guarantee: of the first seed.
    """

    label: Label
    guarantee: Guarantee
    size: int
    n_clients: int
    ratio: Estimate
    gap: Estimate
    over_none: Estimate
    over_naive: Estimate
    bound: float
    gains: Gains
    hit: Estimate
    recall: Estimate
    ndcg: Estimate
    coverage: float
    gini: float


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's part of a cell: what clients got, and what there was to get, (n,) each.

    picked: the catalog's items that were picked and new, one a person who had one. bound: on the
    mean of what clients could get, or nan. n_items: of the whole catalog.
    """

    got: Outcome
    picked: NDArray[np.int64] = field(repr=False)
    possible: Array = field(repr=False)
    single: Array = field(repr=False)  # the best single item for everybody
    none: Array = field(repr=False)
    naive: Array | None = field(repr=False)
    n_items: int
    guarantee: Guarantee
    size: int
    bound: float


def cell_of(label: Label, runs: Iterable[Run]) -> Cell:
    """The cell of some seeds. Clients of all seeds count alike; people who are clients in several
    seeds make the errors a little too small.
    """
    runs = list(runs)
    got = np.concatenate([run.got.score for run in runs])
    possible = np.concatenate([run.possible for run in runs])
    none = np.concatenate([run.none for run in runs])
    naive = np.concatenate(
        [np.full(len(run.possible), np.nan) if run.naive is None else run.naive for run in runs]
    )
    picked, catalog = np.concatenate([run.picked for run in runs]), runs[0].n_items
    return Cell(
        label=label,
        guarantee=runs[0].guarantee,
        size=runs[0].size,
        n_clients=len(got),
        ratio=ratio_of(got, possible),
        gap=gap_of(got, possible, np.concatenate([run.single for run in runs])),
        over_none=ratio_of(got - none, possible),
        over_naive=ratio_of(got - naive, possible),
        bound=sum(run.bound * len(run.possible) for run in runs) / float(possible.sum()),
        gains=gains_of(got, none, possible),
        coverage=coverage_of(picked, catalog),
        gini=gini_of(picked, catalog),
        **{
            name: mean_of(np.concatenate([getattr(run.got, name) for run in runs]))
            for name in ("hit", "recall", "ndcg")
        },
    )
