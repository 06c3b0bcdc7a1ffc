"""The study of dear items: seeds x truths x epsilons, each way beside the others, and refills."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew_server.evaluation.dear import REFILLS, Compared, Refilled, compared, refilled
from askew_server.evaluation.scene import Dealt, Scene
from askew_server.evaluation.slate_choice import SlateQuestion
from askew_server.evaluation.split import deal
from askew_server.evaluation.truths import TruthName
from askew_server.ratings import RatingTable
from askew_server.training.buckets import SIZES
from askew_server.training.quality import Estimate, ratio_of

DEAR_TRUTHS: tuple[TruthName, ...] = ("next", "long-tail")
Progress = Callable[[str, float], None]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class DearProtocol:
    """What is compared. epsilons: of any two people. refills: after how many of them.
    Raises ParameterError for an empty or unknown list.
    """

    truths: tuple[TruthName, ...] = DEAR_TRUTHS
    epsilons: tuple[float, ...] = (1.0, 4.0)
    k: int = 5
    seeds: tuple[int, ...] = (0, 1, 2)
    sizes: tuple[int, ...] = SIZES
    refills: tuple[int, ...] = REFILLS
    min_ratings: int = 20

    def __post_init__(self) -> None:
        for name in ("truths", "epsilons", "seeds", "sizes"):
            given = getattr(self, name)
            if not given or len(set(given)) != len(given):
                raise ParameterError(name, given, "one or more, all different")
        if not set(self.truths) <= set(DEAR_TRUTHS):
            raise ParameterError("truths", self.truths, f"among {', '.join(DEAR_TRUTHS)}")
        if not 1 <= self.k <= 64:
            raise ParameterError("k", self.k, "from 1 to 64")


@dataclass(frozen=True)
class DearRow:
    """One way, in ratios to the best possible, and its paired gains over no signal and over the
    linear encoder, or a signal made anew. refills: -1 where the whole catalog is asked once. left:
    the part of the first items that is still there. slates, size: how many, and their bytes on a
    device, of the first seed.
    """

    truth: TruthName
    epsilon: float
    k: int
    refills: int
    left: float
    slates: int
    size: int
    none: Estimate
    other: Estimate
    named: Estimate
    over_none: Estimate
    over_other: Estimate


def dear_rows(table: RatingTable, protocol: DearProtocol, progress: Progress) -> Iterator[DearRow]:
    """The rows, one truth and epsilon after the other. Deterministic.

    Raises DataError when there are too few people or items to split.
    """
    deals = [Dealt.of(deal(table, seed, protocol.min_ratings), seed) for seed in protocol.seeds]
    cells = [(truth, epsilon) for truth in protocol.truths for epsilon in protocol.epsilons]
    for done, (truth, epsilon) in enumerate(cells):
        whole: list[Compared] = []
        later: dict[int, list[Refilled]] = {count: [] for count in protocol.refills}
        for place, dealt in enumerate(deals):
            progress(f"{truth}, {epsilon:g}", (done + place / len(deals)) / len(cells))
            scene = Scene.of(dealt, truth)
            ask = SlateQuestion(Fraction(epsilon), protocol.k, dealt.seed, protocol.sizes)
            whole.append(compared(scene, ask))
            for found in refilled(scene, ask, protocol.refills) if later else ():
                later[found.refills].append(found)
        yield _whole_row(truth, epsilon, protocol.k, whole)
        for count, founds in later.items():
            yield _later_row(truth, epsilon, protocol.k, count, founds)
    progress("done", 1.0)


def as_csv(rows: Sequence[DearRow]) -> str:
    """Every row with standard errors."""
    text = io.StringIO()
    estimates = ("none", "other", "named", "over_none", "over_other")
    plain = ("truth", "epsilon", "k", "refills", "left", "slates", "size")
    names = [*plain, *(f"{name}{end}" for name in estimates for end in ("", "_error"))]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        found = [getattr(row, name) for name in estimates]
        numbers = [f"{number:.6g}" for each in found for number in (each.mean, each.error)]
        writer.writerow([*(getattr(row, name) for name in plain), *numbers])
    return text.getvalue()


def _whole_row(truth: TruthName, epsilon: float, k: int, whole: Sequence[Compared]) -> DearRow:
    parts = [(each.possible, each.none, each.linear, each.slates) for each in whole]
    head = (truth, epsilon, k, -1, 1.0, whole[0].n_slates, whole[0].size)
    return DearRow(*head, *_figures(parts))


def _later_row(
    truth: TruthName, epsilon: float, k: int, count: int, later: Sequence[Refilled]
) -> DearRow:
    parts = [(each.possible, each.none, each.anew, each.stored) for each in later]
    left = float(np.mean([each.left for each in later]))
    return DearRow(truth, epsilon, k, count, left, 0, 0, *_figures(parts))


def _figures(
    parts: Sequence[tuple[Array, Array, Array, Array]],
) -> tuple[Estimate, Estimate, Estimate, Estimate, Estimate]:
    """Of what there was to get, and what was got without a signal, otherwise and by names."""
    possible, none, other, named = (np.concatenate(each) for each in zip(*parts, strict=True))
    return (
        ratio_of(none, possible),
        ratio_of(other, possible),
        ratio_of(named, possible),
        ratio_of(named - none, possible),
        ratio_of(named - other, possible),
    )
