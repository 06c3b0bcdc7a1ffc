"""What the figures of places must reach, and whether they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from askew_server.evaluation.places.bench import SERVED
from askew_server.evaluation.places.cells import PlaceCell
from askew_server.training.quality import Estimate

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
            yield Verdict(goal, _shown(cell.ratio), cell.ratio.mean <= most)
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


def _shown(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} ± {estimate.error:.3f}"
