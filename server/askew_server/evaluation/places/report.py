"""A study of places as files, and as tables to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from askew_server.evaluation.places.bench import OWN_SIZE, SERVED
from askew_server.evaluation.places.cells import PlaceCell
from askew_server.evaluation.places.goals import verdicts
from askew_server.evaluation.places.study import PlacesStudy
from askew_server.evaluation.report import csv_of, json_of
from askew_server.training.quality import Estimate

_ESTIMATES = ("extra", "ratio", "over_nearest", "over_codebook")


def as_csv(cells: Iterable[PlaceCell]) -> str:
    """One row a cell; every estimate has a column for its standard error; unknown is empty."""
    return csv_of([_row(cell) for cell in cells], "ground")


def as_json(study: PlacesStudy) -> str:
    """The whole study with its goals; numbers that are not known are null."""
    met = [asdict(each) for each in verdicts(study.cells)]
    return json_of(asdict(study) | {"goals": met})


def as_lines(study: PlacesStudy) -> Iterator[tuple[str, ...]]:
    """Rows of ground, items, level, who, rule, and for each k the extra distance and its ratio to
    that of `nearest`; rules that need a number of items of their own show it under the first k.
    """
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for cell in study.cells:
        at = cell.label
        who = " ".join(each for each in (at.crowd, at.density) if each)
        line = lines.setdefault((at.ground, f"{at.items:,}", at.level, who, at.rule), {})
        line[at.k] = f"{cell.extra.mean:.3g} ({cell.ratio.mean:.2f})"
        if at.rule in OWN_SIZE:
            line[min(study.protocol.ks)] = f"{cell.extra.mean:.3g}, {cell.size:,.0f} items"
    for heading, texts in lines.items():
        yield (*heading, *(texts.get(k, "") for k in study.protocol.ks))


def best_lines(study: PlacesStudy) -> Iterator[str]:
    """For people in the country: which rule is best at each number of items, level and k."""
    groups: dict[tuple[str, int, str, int], list[PlaceCell]] = {}
    for cell in study.cells:
        at = cell.label
        if at.crowd == "rural" and at.rule not in OWN_SIZE:
            groups.setdefault((at.ground, at.items, at.level, at.k), []).append(cell)
    for (ground, n, level, k), cells in groups.items():
        best = min(cells, key=lambda cell: cell.extra.mean)
        served = [f"; {SERVED} {c.ratio.mean:.2f}" for c in cells if c.label.rule == SERVED]
        yield (
            f"rural, {ground}, {n:,} items, {level}, k = {k}: {best.label.rule} is best, "
            f"{_shown(best.extra)} km, {best.ratio.mean:.2f} of nearest{''.join(served)}"
        )


def agreement_lines(study: PlacesStudy) -> Iterator[str]:
    """Lines beside their closed form, rings beside the bound of any mechanism."""
    for each in study.agreements:
        what = "closed form" if each.ground == "line" else "least of any mechanism"
        yield (
            f"{each.ground}, h = {each.disutility}, k = {each.k}: {each.found:.4f}, "
            f"{what} {each.theory:.4f}, ratio {each.ratio:.4f}"
        )


def goal_lines(study: PlacesStudy) -> Iterator[str]:
    """Each goal that this study speaks of, what was found, and whether it is met."""
    for each in verdicts(study.cells):
        yield f"{'met' if each.met else 'MISSED'}: {each.goal}: {each.found}"


def filter_lines(study: PlacesStudy, rule: str, k: int) -> Iterator[str]:
    """Behind filters: the extra distance among items that pass, and how often none does."""
    for cell in study.cells:
        at = cell.label
        if (at.rule, at.k, at.crowd) != (rule, k, "all") or at.density == "half of them":
            continue
        parts = [
            f"{each.share:.0%} pass: {_shown(each.extra)} km, none {each.none.mean:.0%}"
            for each in cell.filtered
        ]
        yield f"{at.ground}, {at.items:,} items, {at.level}, {rule}, k = {k}: {'; '.join(parts)}"


def _shown(estimate: Estimate) -> str:
    return f"{estimate.mean:.3g} ± {estimate.error:.2g}"


def _row(cell: PlaceCell) -> dict[str, float | str | None]:
    row: dict[str, float | str | None] = asdict(cell.label)
    row |= {"n_people": cell.n_people, "size": cell.size}
    for name in _ESTIMATES:
        estimate = getattr(cell, name)
        row |= {name: estimate.mean, f"{name}_error": estimate.error}
    for each in cell.filtered:
        name = f"filter_{each.share:g}"
        row |= {f"{name}_extra": each.extra.mean, f"{name}_extra_error": each.extra.error}
        row |= {f"{name}_none": each.none.mean}
    return row
