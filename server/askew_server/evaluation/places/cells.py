"""The table of places: one cell for each number of items, level, k, rule, crowd and density."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew_server.training.quality import Estimate, mean_of, ratio_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PlaceLabel:
    """What a cell is about. ground: map, line or ring. epsilon: per unit of distance, on a map the
    crow's kilometer. k: 0 where a rule needs a number of its own. crowd: who asks. density: what
    the rule knows of where people are; empty where it knows nothing.
    """

    ground: str
    items: int
    level: str
    epsilon: float
    k: int
    rule: str
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


def cell_of(label: PlaceLabel, run: PlaceRun, nearest: PlaceRun, codebook: PlaceRun) -> PlaceCell:
    """The cell of a run beside its baselines. Draws of one person are averaged first, so that the
    errors are those of people.
    """
    mine, theirs, probes = (by_person(each.extra) for each in (run, nearest, codebook))
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
