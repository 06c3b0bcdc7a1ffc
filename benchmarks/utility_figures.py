"""Draws docs/utility-epsilon.svg and docs/utility-k.svg: the scores of simulated people, no signal
dotted. A quarter of an hour. Needs the extra `plots`.

    python -m benchmarks.utility_figures
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from askew.protocol.rule_kind import RuleKind
from askew_server.demo.simulation import simulated_table
from askew_server.evaluation.study import Cell, Protocol, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {RuleKind.POSTERIOR: "-", RuleKind.BUCKETS: "--", RuleKind.CODEBOOK: "-."}
_COLORS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8d6a9f", "#c98b2b")


def draw(study: Study, directory: Path) -> None:
    """Write the pictures as svg; the same study makes the same bytes."""
    by_epsilon = "epsilon, between any two people"
    _figure(study, directory / "utility-epsilon.svg", by_epsilon, _by_epsilon)
    _figure(study, directory / "utility-k.svg", "k", _by_k)


def _figure(study: Study, path: Path, x: str, draw_on: Callable[[Study, Axes], None]) -> None:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # Without these, ids and dates in a picture would differ from run to run.
    with mpl.rc_context({"svg.hashsalt": "askew", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(5, 3.2), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw_on(study, axes)
        axes.set(xlabel=x, ylabel="score of the picks / best possible")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(visible=True, alpha=0.3)
        if axes.has_data():
            figure.legend(loc="outside right upper", fontsize=7)
        figure.savefig(path, metadata={"Date": None})


def _by_epsilon(study: Study, axes: Axes) -> None:
    for color, k in zip(_COLORS, study.protocol.ks, strict=False):
        for rule, style in _STYLES.items():
            found = _cells(study.cells, rule=rule, k=k)
            x = [c.label.epsilon for c in found]
            _line(axes, found, x, f"{rule}, k={k}", (color, style))
        for none in _cells(study.cells, rule=RuleKind.NONE, k=k):
            axes.axhline(none.ratio.mean, color=color, linestyle=":", label=f"no signal, k={k}")


def _by_k(study: Study, axes: Axes) -> None:
    epsilons = sorted(study.protocol.epsilons)
    epsilon = epsilons[len(epsilons) // 2]
    for color, rule in zip(_COLORS, _STYLES, strict=False):
        found = _cells(study.cells, rule=rule, epsilon=epsilon)
        x = [c.label.k for c in found]
        _line(axes, found, x, f"{rule}, epsilon {epsilon:g}", (color, _STYLES[rule]))
    found = _cells(study.cells, rule=RuleKind.NONE)
    axes.plot([c.label.k for c in found], [c.ratio.mean for c in found], "k:", label="no signal")


def _line(
    axes: Axes, cells: Sequence[Cell], x: Sequence[float], label: str, look: tuple[str, str]
) -> None:
    if cells:
        means, errors = [c.ratio.mean for c in cells], [c.ratio.error for c in cells]
        color, style = look
        axes.errorbar(
            x, means, errors, label=label, color=color, linestyle=style, marker=".", capsize=2
        )


def _cells(cells: Iterable[Cell], **fixed: object) -> list[Cell]:
    """The cells whose labels have these values."""
    return [c for c in cells if all(getattr(c.label, n) == v for n, v in fixed.items())]


if __name__ == "__main__":
    found = Study(simulated_table(), Protocol(seeds=(0,), sizes=(2, 4, 8, 16)), "simulated")
    found.play(lambda doing, done: print(f"{done:4.0%}  {doing}"))
    draw(found, Path("docs"))
