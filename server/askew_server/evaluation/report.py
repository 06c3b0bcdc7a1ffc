"""A study as csv to compute with, and as tables to read."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from askew_server.evaluation.experiment import QUANTILES
from askew_server.evaluation.study import Leak, Study, StudyCell
from askew_server.taste.measures import Estimate

_ESTIMATES = ("ratio", "over_none", "hit", "recall", "ndcg")
_USUAL_K = 5


def as_csv(cells: Iterable[StudyCell]) -> str:
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


def _named(cell: StudyCell) -> tuple[str, str]:
    return f"{cell.label.epsilon:g}" if cell.label.epsilon else "", cell.label.rule


def _measures(cell: StudyCell) -> Iterator[str]:
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


def _row(cell: StudyCell) -> dict[str, float | str | None]:
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
