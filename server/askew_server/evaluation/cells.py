"""The table: one cell for each truth, rule, epsilon and k, every figure with its standard error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.rule_kind import RuleKind
from askew_server.evaluation.guarantee import Guarantee
from askew_server.evaluation.truths import TruthName
from askew_server.training.quality import Estimate, Outcome, gap_of, mean_of, ratio_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Label:
    """What a cell is about. epsilon: per median distance for points, of every pair for buckets; 0
    where no signal is sent. dimension: the signal's, where it is not the one that suits epsilon.
    """

    truth: TruthName
    k: int
    rule: RuleKind
    epsilon: float
    dimension: int = 0


@dataclass(frozen=True)
class Cell:
    """One cell. ratio: score of the picks / score of everybody's own best. gap: 0 for the best
    single item for all, 1 for one's own best. over_none, over_naive: paired differences of ratios
    to the zero-information slate of the same k and to naive private k = 1. coverage: share of the
    catalog that is somebody's pick, in mean over seeds. size: signal dimensions, or buckets, and
    guarantee: of the first seed.
    """

    label: Label
    guarantee: Guarantee
    size: int
    n_clients: int
    ratio: Estimate
    gap: Estimate
    over_none: Estimate
    over_naive: Estimate
    hit: Estimate
    ndcg: Estimate
    coverage: float


@dataclass(frozen=True, eq=False)
class Run:
    """One seed's part of a cell: what clients got, and what there was to get, (n,) each."""

    got: Outcome
    possible: Array = field(repr=False)
    single: Array = field(repr=False)  # the best single item for everybody
    none: Array = field(repr=False)
    naive: Array | None = field(repr=False)
    n_items: int
    guarantee: Guarantee
    size: int


def cell_of(label: Label, runs: Iterable[Run]) -> Cell:
    """The cell of some seeds. Clients of all seeds count alike; people who are clients in several
    seeds make the errors a little too small.
    """
    runs = list(runs)
    got = np.concatenate([run.got.score for run in runs])
    possible = np.concatenate([run.possible for run in runs])
    none = np.concatenate([run.none for run in runs])
    unknown = [np.full(len(run.possible), np.nan) for run in runs]
    pairs = zip(runs, unknown, strict=True)
    naive = np.concatenate([gap if run.naive is None else run.naive for run, gap in pairs])
    picked = [len(np.unique(run.got.pick)) / run.n_items for run in runs]
    return Cell(
        label=label,
        guarantee=runs[0].guarantee,
        size=runs[0].size,
        n_clients=len(got),
        ratio=ratio_of(got, possible),
        gap=gap_of(got, possible, np.concatenate([run.single for run in runs])),
        over_none=ratio_of(got - none, possible),
        over_naive=ratio_of(got - naive, possible),
        hit=mean_of(np.concatenate([run.got.hit for run in runs])),
        ndcg=mean_of(np.concatenate([run.got.ndcg for run in runs])),
        coverage=float(np.mean(picked)),
    )
