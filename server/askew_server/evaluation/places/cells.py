"""The table of places: one cell for each number of items, level, k, rule, crowd and density."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.rule_kind import MetricRuleKind
from askew_server.training.quality import Estimate, mean_of, ratio_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlaceLabel:
    """What a cell is about. level: its name; epsilon: per crow's kilometer. crowd: who asks.
    density: what the rule knows of where people are, in words; empty where it knows nothing.
    """

    items: int
    level: str
    epsilon: float
    k: int
    rule: MetricRuleKind
    crowd: str = "all"
    density: str = ""


@dataclass(frozen=True, eq=False)
class PlaceRun:
    """What people got: extra (n, draws), kilometers beyond the truly nearest item. filtered: for
    each share of items that pass a filter, the same among those, nan where none of a slate does.
    size: how many items an answer has, in mean.
    """

    extra: Array = field(repr=False)
    filtered: dict[float, Array] = field(repr=False)
    size: float


@dataclass(frozen=True)
class Filtered:
    """Of items that pass a filter: kilometers beyond the nearest of them where one is in the
    slate, and the share of questions where none is.
    """

    share: float
    extra: Estimate
    none: Estimate


@dataclass(frozen=True)
class PlaceCell:
    """One cell. extra: mean kilometers beyond the nearest item. ratio: to the extra of `nearest`,
    over_nearest, over_codebook: differences to them in km, all by the same people and draws.
    """

    label: PlaceLabel
    n_people: int
    size: float
    extra: Estimate
    ratio: Estimate
    over_nearest: Estimate
    over_codebook: Estimate
    filtered: tuple[Filtered, ...]


def cell_of(
    label: PlaceLabel, run: PlaceRun, nearest: PlaceRun, codebook: PlaceRun | None
) -> PlaceCell:
    """The cell of a run beside its baselines. Draws of one person are averaged first, so that the
    errors are those of people.
    """
    mine, theirs = by_person(run.extra), by_person(nearest.extra)
    probes = np.full_like(mine, np.nan) if codebook is None else by_person(codebook.extra)
    return PlaceCell(
        label=label,
        n_people=len(mine),
        size=run.size,
        extra=mean_of(mine),
        ratio=ratio_of(mine, theirs),
        over_nearest=mean_of(mine - theirs),
        over_codebook=mean_of(mine - probes),
        filtered=tuple(_filtered(share, extra) for share, extra in run.filtered.items()),
    )


def by_person(extra: Array) -> Array:
    """The mean of each person's draws, (n,)."""
    means: Array = extra.mean(axis=1)
    return means


def _filtered(share: float, extra: Array) -> Filtered:
    """Of people with at least one answer that has an item which passes."""
    passed = ~np.isnan(extra)
    some = passed.any(axis=1)
    known = np.where(passed, extra, 0.0)[some].sum(axis=1) / passed[some].sum(axis=1)
    return Filtered(share, mean_of(known), mean_of(1.0 - passed.mean(axis=1)))
