"""A study as files: cells.csv to compute with, study.json with everything, and a table to read."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from askew_server.evaluation.cells import Cell
from askew_server.evaluation.leak import Leak
from askew_server.evaluation.study import Study
from askew_server.training.quality import Estimate

_ESTIMATES = ("ratio", "gap", "over_none", "over_naive", "hit", "ndcg")


def as_csv(cells: Iterable[Cell]) -> str:
    """One row a cell; every estimate has a column for its standard error; unknown is empty."""
    return csv_of([_row(cell) for cell in cells], "truth")


def as_json(study: Study) -> str:
    """The whole study; numbers that are not known are null."""
    return json_of(asdict(study))


def csv_of(rows: Sequence[Mapping[str, float | str | None]], first: str) -> str:
    """Rows with the same headings; first: the first heading, of a table without rows."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [first], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def json_of(value: Any) -> str:
    """Plain values as text; numbers that are not known are null."""
    return json.dumps(_plain(value), indent=1) + "\n"


def as_lines(study: Study) -> Sequence[tuple[str, ...]]:
    """Rows of truth, rule, epsilon, and for each k the ratio with its gain over none."""
    ks = study.protocol.ks
    lines: dict[tuple[str, str, float], list[str]] = {}
    for cell in study.cells:
        label = cell.label
        line = lines.setdefault((label.truth, label.rule, label.epsilon), ["" for _ in ks])
        gain = "" if label.rule.reads == "nothing" else f"  {_signed(cell.over_none)}"
        line[ks.index(label.k)] = f"{cell.ratio.mean:.3f}{gain}"
    return [
        (truth, rule, f"{epsilon:g}" if epsilon else "", *texts)
        for (truth, rule, epsilon), texts in lines.items()
    ]


def leak_lines(study: Study) -> Iterator[str]:
    """What the leak test found, in mean over seeds, one line a truth and epsilon."""
    found: dict[tuple[str, float], list[Leak]] = {}
    for leak in study.leaks:
        found.setdefault((leak.truth, leak.epsilon), []).append(leak)
    for (truth, epsilon), leaks in found.items():
        present, removed = (
            sum(estimate.mean for estimate in each) / len(leaks)
            for each in zip(*((leak.present, leak.removed) for leak in leaks), strict=True)
        )
        yield (
            f"leak, {truth}, epsilon {epsilon:g}: a prior person's best item is in the answer for "
            f"their point in {present:.0%}, without them in {removed:.0%}"
        )


def _signed(estimate: Estimate) -> str:
    return f"{estimate.mean:+.3f} ± {estimate.error:.3f}"


def _row(cell: Cell) -> dict[str, float | str | None]:
    guarantee = cell.guarantee
    row: dict[str, Any] = {
        "truth": cell.label.truth,
        "rule": cell.label.rule,
        "epsilon": cell.label.epsilon,
        "k": cell.label.k,
        "size": cell.size,
        "epsilon_per_distance": guarantee.per_distance,
        "epsilon_per_rating": guarantee.per_rating,
        "epsilon_any_two": guarantee.any_two,
        "n_clients": cell.n_clients,
    }
    for name in _ESTIMATES:
        estimate = getattr(cell, name)
        row |= {name: estimate.mean, f"{name}_error": estimate.error}
    row["coverage"] = cell.coverage
    return row


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
