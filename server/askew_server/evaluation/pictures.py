"""Pictures of a study: score against epsilon, against k, against the signal's dimension.

One panel a truth; in every panel the zero-information slate is a dotted line of the same color as
the k or the rule that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from askew.rule_kind import RuleKind
from askew_server.evaluation.cells import Cell
from askew_server.evaluation.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {RuleKind.POSTERIOR: "-", RuleKind.BUCKETS: "--", RuleKind.CODEBOOK: "-."}
COLORS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8d6a9f", "#c98b2b")
_RATIO = "score of the picks / best possible"


def draw(study: Study, directory: Path) -> list[Path]:
    """Write the pictures as svg; the same study makes the same bytes."""

    def figure(name: str, label: str, panel: Callable[[Study, str, Axes], None]) -> Path:
        truths = study.protocol.truths
        drawn = [(truth, partial(panel, study, truth)) for truth in truths]
        return panels(directory / f"{name}.svg", drawn, label, _RATIO)

    return [
        figure("epsilon", "epsilon, between any two people", _against_epsilon),
        figure("k", "k", _against_k),
        figure("dimension", "signal dimension", _against_dimension),
    ]


def panels(path: Path, drawn: Sequence[tuple[str, Callable[[Axes], None]]], x: str, y: str) -> Path:
    """One svg of titled panels side by side, with one legend."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Without these, ids and dates in a picture would differ from run to run.
    with mpl.rc_context({"svg.hashsalt": "askew", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(3.4 * len(drawn) + 1.6, 3.2), layout="constrained")
        FigureCanvasSVG(figure)
        for place, (title, draw_on) in enumerate(drawn, 1):
            axes = figure.add_subplot(1, len(drawn), place)
            draw_on(axes)
            axes.set(title=title, xlabel=x, ylabel=y if place == 1 else "")
            axes.grid(visible=True, alpha=0.3)
            if place == 1 and axes.has_data():
                figure.legend(loc="outside right upper", fontsize=7)
        figure.savefig(path, metadata={"Date": None})
    return path


def _against_epsilon(study: Study, truth: str, axes: Axes) -> None:
    for color, k in zip(COLORS, study.protocol.ks, strict=False):
        for rule, style in _STYLES.items():
            found = _cells(study.cells, truth, rule=rule, k=k)
            x = [c.label.epsilon for c in found]
            _line(axes, found, x, f"{rule}, k={k}", (color, style))
        for none in _cells(study.cells, truth, rule=RuleKind.NONE, k=k):
            axes.axhline(none.ratio.mean, color=color, linestyle=":", label=f"no signal, k={k}")
    halving(axes)


def _against_k(study: Study, truth: str, axes: Axes) -> None:
    epsilon = _middle(study.protocol.epsilons)
    for color, rule in zip(COLORS, _STYLES, strict=False):
        found = _cells(study.cells, truth, rule=rule, epsilon=epsilon)
        x = [c.label.k for c in found]
        _line(axes, found, x, f"{rule}, epsilon {epsilon:g}", (color, _STYLES[rule]))
    found = _cells(study.cells, truth, rule=RuleKind.NONE)
    axes.plot([c.label.k for c in found], [c.ratio.mean for c in found], "k:", label="no signal")
    halving(axes)


def _against_dimension(study: Study, truth: str, axes: Axes) -> None:
    for color, k in zip(COLORS, study.protocol.ks, strict=False):
        found = _cells(study.by_dimension, truth, k=k)
        label = f"posterior, epsilon {study.protocol.dimension_epsilon:g}, k={k}"
        _line(axes, found, [c.label.dimension for c in found], label, (color, "-"))
        for none in _cells(study.cells, truth, rule=RuleKind.NONE, k=k):
            axes.axhline(none.ratio.mean, color=color, linestyle=":", label=f"no signal, k={k}")
    halving(axes)


def halving(axes: Axes) -> None:
    """A logarithmic axis with plain numbers."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")


def _line(
    axes: Axes, cells: Sequence[Cell], x: Sequence[float], label: str, look: tuple[str, str]
) -> None:
    if cells:
        means, errors = [c.ratio.mean for c in cells], [c.ratio.error for c in cells]
        color, style = look
        axes.errorbar(
            x, means, errors, label=label, color=color, linestyle=style, marker=".", capsize=2
        )


def _cells(cells: Iterable[Cell], truth: str, **fixed: object) -> list[Cell]:
    """The cells of a truth whose labels have these values."""
    mine = (cell for cell in cells if cell.label.truth == truth)
    return [c for c in mine if all(getattr(c.label, n) == v for n, v in fixed.items())]


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
