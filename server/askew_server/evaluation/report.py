"""A study as csv to compute with, and as tables to read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from askew_server.evaluation.study import Leak, Study, StudyCell
from askew_server.taste.measures import Estimate


def as_csv(cells: Iterable[StudyCell]) -> str:
    """One row a cell; every estimate has a column for its standard error; unknown is empty."""
    text = io.StringIO()
    rows = [_row(cell) for cell in cells]
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["rule"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def held_lines(study: Study) -> Sequence[tuple[str, ...]]:
    """Rows of what sends nothing and of plain recommenders: NDCG@10 and recall@20."""
    return [
        (cell.label.rule, either_way(cell.ndcg), either_way(cell.recall))
        for cell in study.cells
        if not cell.label.k
    ]


def as_lines(study: Study) -> Sequence[tuple[str, ...]]:
    """Rows of epsilon, rule, epsilon per rating, and for each k the NDCG@10 and the gain over none:
    whatever costs the same stands together. Last, of the largest k, how many people are worse and
    better off.
    """
    ks = study.protocol.ks
    lines: dict[tuple[str, ...], list[str]] = {}
    for cell in (cell for cell in study.cells if cell.label.k):
        label, cost = cell.label, cell.guarantee.per_rating
        epsilon = f"{label.epsilon:g}" if label.epsilon else ""
        key = (epsilon, label.rule, "" if cost is None else f"{cost:.2g}")
        texts = lines.setdefault(key, ["" for _ in (*ks, "worse", "better")])
        texts[ks.index(label.k)] = f"{short(cell.ndcg.mean)} {signed(cell.gain) if epsilon else ''}"
        if label.k == max(ks) and epsilon:
            texts[-2:] = f"{cell.worse} of {cell.n_clients}", str(cell.better)
    return [(*key, *texts) for key, texts in lines.items()]


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


def signed(estimate: Estimate) -> str:
    """A difference with its standard error."""
    return f"{'-' if estimate.mean < 0 else '+'}{either_way(estimate)}"


def either_way(estimate: Estimate) -> str:
    """A mean without its sign, and its standard error."""
    return f"{short(abs(estimate.mean))} ± {short(estimate.error)}"


def short(value: float) -> str:
    """Three digits, as shares are written."""
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
    for name in ("ndcg", "recall", "gain"):
        estimate = getattr(cell, name)
        row |= {name: estimate.mean, f"{name}_error": estimate.error}
    return row | {"worse": cell.worse, "better": cell.better}


def _text(value: float | str | None) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
