"""A study as files: cells.csv to compute with, study.json with everything, and a table to read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from askew_server.evaluation.leak import Leak
from askew_server.evaluation.study import Cell, Study
from askew_server.taste.training.quality import QUANTILES, Estimate

_ESTIMATES = ("ratio", "gap", "over_none", "over_naive", "hit", "recall", "ndcg")
_USUAL_K = 5


def as_csv(cells: Iterable[Cell]) -> str:
    """One row a cell; every estimate has a column for its standard error; unknown is empty."""
    text = io.StringIO()
    rows = [_row(cell) for cell in cells]
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["rule"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def as_json(study: Study) -> str:
    """The whole study; numbers that are not known are null."""
    return json.dumps(_plain(asdict(study)), indent=1) + "\n"


def as_lines(study: Study) -> Sequence[tuple[str, ...]]:
    """Rows of epsilon, rule, epsilon per rating, and for each k the ratio and the gain over none:
    whatever costs the same stands together.
    """
    ks = study.protocol.ks
    lines: dict[tuple[str, ...], list[str]] = {}
    for cell in in_order(study):
        label = cell.label
        line = lines.setdefault(_costs(cell), ["" for _ in ks])
        gain = "" if label.rule.reads == "nothing" else f" {_signed(cell.over_none)}"
        line[ks.index(label.k)] = f"{_short(cell.ratio.mean)}{gain}"
    return [(*at, *texts) for at, texts in lines.items()]


def measure_lines(study: Study) -> tuple[int, Sequence[tuple[str, ...]]]:
    """One k of the study, and for it rows of epsilon, rule, recall@k, nDCG@k, held-out hits of the
    pick, coverage, Gini's coefficient, people worse and better off than without a signal, and what
    the 5, 50 and 95 % of people gain by it.
    """
    k = min(study.protocol.ks, key=lambda each: abs(each - _USUAL_K))
    cells = [cell for cell in in_order(study) if cell.label.k == k]
    return k, [(*_costs(cell)[:2], *_measures(cell)) for cell in cells]


def in_order(study: Study) -> list[Cell]:
    """By epsilon; within it as they were played."""
    return sorted(study.cells, key=lambda cell: cell.label.epsilon)


def _costs(cell: Cell) -> tuple[str, str, str]:
    per_rating = cell.guarantee.per_rating
    epsilon = f"{cell.label.epsilon:g}" if cell.label.epsilon else ""
    return epsilon, cell.label.rule, "" if per_rating is None else f"{per_rating:.2g}"


def _measures(cell: Cell) -> Iterator[str]:
    for estimate in (cell.recall, cell.ndcg, cell.hit):
        yield _short(estimate.mean)
    yield f"{cell.coverage:.2%}"
    yield _short(cell.gini)
    sends = cell.label.rule.reads != "nothing"
    yield f"{cell.gains.worse} of {cell.n_clients}" if sends else ""
    yield str(cell.gains.better) if sends else ""
    low, _, middle, _, high = cell.gains.quantiles
    yield f"{low:+.2f} {middle:+.2f} {high:+.2f}" if sends else ""


def leak_lines(study: Study) -> Iterator[str]:
    """What the leak test found, in mean over seeds, one line an epsilon."""
    found: dict[float, list[Leak]] = {}
    for leak in study.leaks:
        found.setdefault(leak.epsilon, []).append(leak)
    for epsilon, leaks in found.items():
        present, removed = (
            sum(estimate.mean for estimate in each) / len(leaks)
            for each in zip(*((leak.present, leak.removed) for leak in leaks), strict=True)
        )
        yield (
            f"leak, epsilon {epsilon:g}: a prior person's best item is in the answer for their "
            f"point in {present:.0%}, without them in {removed:.0%}"
        )


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
    row |= {"worse": cell.gains.worse, "better": cell.gains.better}
    return row | {"coverage": cell.coverage, "gini": cell.gini}


def _text(value: float | str | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    """The same value without tuples and NaN, which JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
