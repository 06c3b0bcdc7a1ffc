"""What the rules of maps and lines are worth: tables, and goals to reach.

    python -m benchmarks.places.report --quick     one market, 200 people
    python -m benchmarks.places.report             everything that docs/places.md shows

Exits with 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.places.study import (
    BY_KIND,
    NEAREST,
    SERVED,
    PlaceCell,
    PlacesProtocol,
    PlacesStudy,
    studied,
)
from benchmarks.places.theory import agreements
from threadpoolctl import threadpool_limits

from askew.protocol.metric_card import MetricRuleKind
from askew_server.cli.progress import Steps
from askew_server.demo.places import german_towns
from askew_server.taste.measures import Estimate

_QUICK = {"items": (10_000,), "levels": ("town",), "ks": (5, 20), "axis_levels": ()}
_WORSE, _ERRORS = 0.02, 4  # of the baseline, and paired standard errors
_TOWN = {"ground": "map", "items": 100_000, "level": "town", "k": 20, "crowd": "all"}
_DISTRICT = {"ground": "map", "items": 10_000, "level": "district", "k": 5, "crowd": "all"}
# Extra distance as a part of that of the items nearest to the signal.
_RATIOS: Final[tuple[tuple[dict[str, Any], float], ...]] = (
    (_TOWN | {"rule": "codebook"}, 0.53),
    (_TOWN | {"rule": "items"}, 0.48),
    (_TOWN | {"rule": "posterior", "density": "towns"}, 0.38),
    (_TOWN | {"rule": "posterior", "density": "half of them"}, 0.46),
    (_DISTRICT | {"rule": "posterior", "density": "towns"}, 0.75),
)


@dataclass(frozen=True)
class Verdict:
    """A goal, what was found, and whether it is met."""

    goal: str
    found: str
    met: bool


def verdicts(cells: Iterable[PlaceCell]) -> Iterator[Verdict]:
    """One for each goal that the cells speak of. People in the country are no part of these: for
    them the tables say which rule is best.
    """
    cells = list(cells)
    for wanted, most in _RATIOS:
        for cell in _those(cells, wanted):
            density = f", {cell.label.density}" if cell.label.density else ""
            goal = (
                f"{cell.label.items:,} items, {cell.label.level}, k = {cell.label.k}: "
                f"{cell.label.rule}{density} at most {most} of nearest"
            )
            yield Verdict(
                goal, f"{cell.ratio.mean:.3f} ± {cell.ratio.error:.3f}", cell.ratio.mean <= most
            )
    served = _those(cells, {"rule": SERVED, "crowd": "all"})
    if served:
        worse = [cell for cell in served if is_worse(cell)]
        goal = "served: nowhere worse than nearest or codebook by more than 2 % and 4 paired errors"
        where = "".join(f"; {_place(cell)}" for cell in worse)
        yield Verdict(goal, f"worse in {len(worse)} of {len(served)} cells{where}", not worse)


def is_worse(cell: PlaceCell) -> bool:
    """Than `nearest` or `codebook`, by more than both margins."""
    return any(
        over.mean > max(_WORSE * (cell.extra.mean - over.mean), _ERRORS * over.error)
        for over in (cell.over_nearest, cell.over_codebook)
    )


def _those(cells: list[PlaceCell], wanted: dict[str, Any]) -> list[PlaceCell]:
    return [c for c in cells if all(getattr(c.label, n) == v for n, v in wanted.items())]


def _place(cell: PlaceCell) -> str:
    label = cell.label
    return f"{label.ground}, {label.items:,}, {label.level}, k = {label.k}, {label.crowd}"


_ESTIMATES = ("extra", "ratio", "over_nearest", "over_codebook")


def as_csv(cells: Iterable[PlaceCell]) -> str:
    """One row a cell; every estimate has a column for its standard error; unknown is empty."""
    rows, text = [_row(cell) for cell in cells], io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["ground"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_lines(study: PlacesStudy) -> Iterator[tuple[str, ...]]:
    """Rows of ground, items, level, who, rule, and for each k the extra distance and its ratio to
    that of `nearest`.
    """
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for cell in study.cells:
        at = cell.label
        who = " ".join(each for each in (at.crowd, at.density) if each)
        line = lines.setdefault((at.ground, f"{at.items:,}", at.level, who, at.rule), {})
        line[at.k] = f"{cell.extra.mean:.3g} ({cell.ratio.mean:.2f})"
    for heading, texts in lines.items():
        yield (*heading, *(texts.get(k, "") for k in study.protocol.ks))


def best_lines(study: PlacesStudy) -> Iterator[str]:
    """For people in the country: which rule is best at each number of items, level and k."""
    groups: dict[tuple[str, int, str, int], list[PlaceCell]] = {}
    for cell in study.cells:
        at = cell.label
        if at.crowd == "rural":
            groups.setdefault((at.ground, at.items, at.level, at.k), []).append(cell)
    for (ground, n, level, k), cells in groups.items():
        best = min(cells, key=lambda cell: cell.extra.mean)
        served = [f"; {SERVED} {c.ratio.mean:.2f}" for c in cells if c.label.rule == SERVED]
        yield (
            f"rural, {ground}, {n:,} items, {level}, k = {k}: {best.label.rule} is best, "
            f"{_shown(best.extra)} km, {best.ratio.mean:.2f} of nearest{''.join(served)}"
        )


def agreement_lines(study: PlacesStudy) -> Iterator[str]:
    """Lines beside their closed form."""
    for each in study.agreements:
        yield (
            f"{each.ground}, h = {each.disutility}, k = {each.k}: {each.found:.4f}, "
            f"closed form {each.theory:.4f}, ratio {each.ratio:.4f}"
        )


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


_RULES = (MetricRuleKind.NEAREST, MetricRuleKind.CODEBOOK, MetricRuleKind.ITEMS, SERVED)


def _protocol(options: argparse.Namespace) -> PlacesProtocol:
    chosen: dict[str, Any] = {"people": 200, "draws": 2, **_QUICK} if options.quick else {}
    given = {name: getattr(options, name) for name in ("items", "levels", "ks", "rules")}
    given |= {name: getattr(options, name) for name in ("people", "draws", "seed")}
    chosen |= {n: tuple(v) if isinstance(v, list) else v for n, v in given.items() if v is not None}
    if "items" in chosen or "levels" in chosen:
        chosen["axis_levels"] = ()  # a part of the map is asked for
    return PlacesProtocol(**chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, help="a csv with every cell and its errors")
    parser.add_argument("--workers", type=int, default=1)
    for name, kind in (("people", int), ("draws", int), ("seed", int)):
        parser.add_argument(f"--{name}", type=kind)
    parser.add_argument("--items", type=int, nargs="+")
    parser.add_argument("--levels", nargs="+")
    parser.add_argument("--rules", nargs="+")
    parser.add_argument("-k", dest="ks", type=int, nargs="+")
    options = parser.parse_args()
    protocol, towns = _protocol(options), german_towns().towns
    with threadpool_limits(1), Steps.shown() as steps:
        parts = studied(protocol, towns, steps.step_of_all, options.workers)
        cells = tuple(cell for part in parts for cell in part)
        checked = tuple(agreements()) if protocol.axis_levels else ()
    study = PlacesStudy(protocol, towns.source, cells, checked)
    for line in as_lines(study):
        print("  ".join(each.rjust(14) for each in line))
    filtered = [
        each for rule in (NEAREST, SERVED, BY_KIND) for each in filter_lines(study, rule, 20)
    ]
    goals = list(verdicts(study.cells))
    print(*best_lines(study), *filtered, *agreement_lines(study), sep="\n")
    print(
        *(f"{'met' if each.met else 'MISSED'}: {each.goal}: {each.found}" for each in goals),
        sep="\n",
    )
    if options.out:
        options.out.write_text(as_csv(cells), encoding="utf-8")
    return int(not all(each.met for each in goals))


if __name__ == "__main__":
    sys.exit(main())
