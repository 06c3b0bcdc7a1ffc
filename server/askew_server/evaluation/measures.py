"""What people get from slates, and a study's tables: shapes n people, k items a slate.

Scores (n, n_items) are at least 0, and -1 for what a person has seen. A device shows its person the
best unseen item of the slate, ties to the lower item; if all are seen, it has nothing new: 0.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from askew_server.taste.model.held_out import Estimate

if TYPE_CHECKING:
    from askew_server.evaluation.study import Cell, Leak, Study

QUANTILES = (0.05, 0.5, 0.95)  # of people's gains
_ESTIMATES = ("ratio", "over_none", "hit", "recall", "ndcg")
_USUAL_K = 5
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcome:
    """One slate for each person, (n,) each: score and item of the pick, and how the slate, as the
    device ranks it, meets what was liked and held out; nan where nothing liked was held out.

    hit: 1 where the pick was liked. recall: the share of what was liked that is in the slate.
    ndcg: nDCG@k, against the best order of k items.
    """

    score: Array = field(repr=False)
    pick: NDArray[np.int64] = field(repr=False)
    hit: Array = field(repr=False)
    recall: Array = field(repr=False)
    ndcg: Array = field(repr=False)

    @property
    def picked(self) -> NDArray[np.int64]:
        """The picks of those for whom the slate had something new."""
        return self.pick[self.score > 0]


def outcome(
    offered: NDArray[np.float32], slates: NDArray[np.int64], held_out: csr_array
) -> Outcome:
    """What people get from slates (n, k) of items, in any order, of these scores (n, k); held_out:
    liked, (n, n_items).
    """
    by_item = np.argsort(slates, axis=1, kind="stable")
    slates = np.take_along_axis(slates, by_item, axis=1)
    offered = np.take_along_axis(offered, by_item, axis=1)
    order = np.argsort(-offered, axis=1, kind="stable")
    ranked = np.take_along_axis(slates, order, axis=1)
    liked = np.empty(ranked.shape, dtype=np.float64)
    for column in range(ranked.shape[1]):
        liked[:, column] = held_out[np.arange(len(ranked)), ranked[:, column]]
    n_liked = np.diff(held_out.indptr)
    known = np.where(n_liked > 0, 1.0, np.nan)
    score = np.maximum(offered.max(axis=1), 0).astype(np.float64)
    recall, ndcg = liked.sum(axis=1) / np.maximum(n_liked, 1), _ndcg(liked, n_liked)
    return Outcome(score, ranked[:, 0], liked[:, 0] * known, recall * known, ndcg * known)


def _ndcg(liked: Array, n_liked: NDArray[np.integer]) -> Array:
    """nDCG of ranked slates (n, k), against the best order of k of all that was liked."""
    k = liked.shape[1]
    gains = 1.0 / np.log2(np.arange(2, k + 2))
    ideal = np.concatenate([[1.0], np.cumsum(gains)])[np.minimum(n_liked, k)]
    result: Array = liked @ gains / ideal
    return result


@dataclass(frozen=True)
class PeopleGains:
    """What people gain over something else, each in shares of their own best: quantiles at
    QUANTILES, and how many are worse and better off.
    """

    quantiles: tuple[float, ...]
    worse: int
    better: int

    @classmethod
    def of(cls, reached: Array, instead: Array, possible: Array) -> PeopleGains:
        """Those of the people for whom something is possible."""
        some = possible > 0
        gain = (reached[some] - instead[some]) / possible[some]
        at = np.quantile(gain, QUANTILES) if len(gain) else np.full(len(QUANTILES), np.nan)
        return cls(tuple(at.tolist()), int((gain < 0).sum()), int((gain > 0).sum()))


def coverage_of(picks: NDArray[np.int64], n_items: int) -> float:
    """The share of a catalog's n_items that is somebody's pick."""
    return len(np.unique(picks)) / n_items


def as_csv(cells: Iterable[Cell]) -> str:
    """One row a cell; every estimate has a column for its standard error; unknown is empty."""
    text = io.StringIO()
    rows = [_row(cell) for cell in cells]
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["rule"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def as_lines(study: Study) -> Sequence[tuple[str, ...]]:
    """Rows of epsilon, rule, epsilon per rating, and for each k the ratio and the gain over none:
    whatever costs the same stands together.
    """
    ks = study.protocol.ks
    lines: dict[tuple[str, ...], list[str]] = {}
    for cell in study.cells:
        label, cost = cell.label, cell.guarantee.per_rating
        key = (*_named(cell), "" if cost is None else f"{cost:.2g}")
        gain = "" if label.rule.reads == "nothing" else f" {_signed(cell.over_none)}"
        texts = lines.setdefault(key, ["" for _ in ks])
        texts[ks.index(label.k)] = f"{_short(cell.ratio.mean)}{gain}"
    return [(*key, *texts) for key, texts in lines.items()]


def measure_lines(study: Study) -> tuple[int, Sequence[tuple[str, ...]]]:
    """One k of the study, and for it rows of epsilon, rule, recall@k, nDCG@k, held-out hits of the
    pick, coverage, people worse and better off than without a signal, and what the 5, 50 and 95 %
    of people gain by it.
    """
    k = min(study.protocol.ks, key=lambda each: abs(each - _USUAL_K))
    return k, [(*_named(cell), *_measures(cell)) for cell in study.cells if cell.label.k == k]


def leak_lines(leaks: Iterable[Leak]) -> Iterator[str]:
    """What the leak test found, in mean over seeds, one line an epsilon."""
    found: dict[float, list[Leak]] = {}
    for leak in leaks:
        found.setdefault(leak.epsilon, []).append(leak)
    for epsilon, each in found.items():
        present, removed = (
            sum(getattr(leak, name).mean for leak in each) / len(each)
            for name in ("present", "removed")
        )
        yield (
            f"leak, epsilon {epsilon:g}: a prior person's best item is in the answer for their "
            f"point in {present:.0%}, without them in {removed:.0%}"
        )


def _named(cell: Cell) -> tuple[str, str]:
    return f"{cell.label.epsilon:g}" if cell.label.epsilon else "", cell.label.rule


def _measures(cell: Cell) -> Iterator[str]:
    for estimate in (cell.recall, cell.ndcg, cell.hit):
        yield _short(estimate.mean)
    yield f"{cell.coverage:.2%}"
    sends = cell.label.rule.reads != "nothing"
    yield f"{cell.gains.worse} of {cell.n_clients}" if sends else ""
    yield str(cell.gains.better) if sends else ""
    yield " ".join(f"{gain:+.2f}" for gain in cell.gains.quantiles) if sends else ""


def _signed(estimate: Estimate) -> str:
    sign = "-" if estimate.mean < 0 else "+"
    return f"{sign}{_short(abs(estimate.mean))}±{_short(estimate.error)}"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else f"{value:.2f}"


def _row(cell: Cell) -> dict[str, float | str | None]:
    guarantee = cell.guarantee
    row: dict[str, Any] = {
        "rule": cell.label.rule,
        "epsilon": cell.label.epsilon,
        "k": cell.label.k,
        "size": cell.size,
        "epsilon_spent": guarantee.epsilon,
        "epsilon_per_rating": guarantee.per_rating,
        "epsilon_per_distance": guarantee.per_distance,
        "n_clients": cell.n_clients,
    }
    for name in _ESTIMATES:
        estimate = getattr(cell, name)
        row |= {name: estimate.mean, f"{name}_error": estimate.error}
    gains = zip(QUANTILES, cell.gains.quantiles, strict=True)
    row |= {f"gain_{round(100 * part)}": gain for part, gain in gains}
    return row | {
        "worse": cell.gains.worse,
        "better": cell.gains.better,
        "coverage": cell.coverage,
    }


def _text(value: float | str | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
