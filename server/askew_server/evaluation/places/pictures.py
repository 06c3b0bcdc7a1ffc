"""Pictures of a study of places: the extra distance against k, one panel a number of items."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from askew.rule_kind import MetricRuleKind
from askew_server.evaluation.pictures import COLORS, halving, panels
from askew_server.evaluation.places.bench import SERVED
from askew_server.evaluation.places.cells import PlaceCell
from askew_server.evaluation.places.study import PlacesStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RULES = (MetricRuleKind.NEAREST, MetricRuleKind.CODEBOOK, MetricRuleKind.ITEMS, SERVED)


def draw(study: PlacesStudy, directory: Path) -> list[Path]:
    """One svg a level of the map; the same study makes the same bytes."""
    return [
        panels(
            directory / f"places-{level}.svg",
            [
                (f"{n:,} items, {level}", partial(_against_k, study, n, level))
                for n in study.protocol.items
            ],
            "k",
            "km beyond the nearest item",
        )
        for level in study.protocol.levels
    ]


def _against_k(study: PlacesStudy, n: int, level: str, axes: Axes) -> None:
    for color, rule in zip(COLORS, _RULES, strict=False):
        cells = [c for c in study.cells if _is_of(c, n, level, rule)]
        if cells:
            axes.errorbar(
                [c.label.k for c in cells],
                [c.extra.mean for c in cells],
                [c.extra.error for c in cells],
                label=rule,
                color=color,
                marker=".",
                capsize=2,
            )
            axes.set_yscale("log")
    halving(axes)


def _is_of(cell: PlaceCell, n: int, level: str, rule: str) -> bool:
    at = cell.label
    named = (at.ground, at.items, at.level, at.rule, at.crowd) == ("map", n, level, rule, "all")
    return named and at.density in {"", "towns"} and cell.extra.mean > 0
