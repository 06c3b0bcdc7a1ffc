"""Draws panels of curves as SVG. Needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from math import ceil
from pathlib import Path

from benchmarks.figures import COLORS, figure, plain
from benchmarks.papers.frame import Line, Panel
from matplotlib.axes import Axes

_A_ROW = 3


def draw(path: Path, panels: Sequence[Panel]) -> None:
    """Up to three panels a row; curves of one name have one color everywhere."""
    columns, rows = min(_A_ROW, len(panels)), ceil(len(panels) / _A_ROW)
    labels = dict.fromkeys(_name(line) for panel in panels for line in panel.lines)
    colors = dict(zip(labels, cycle(COLORS)))
    with figure(path, (4.2 * columns, 3.4 * rows)) as drawn:
        axes = drawn.subplots(rows, columns, squeeze=False).ravel()
        for each, panel in zip(axes, panels, strict=False):
            _fill(each, panel, colors)
        for unused in axes[len(panels) :]:
            unused.set_axis_off()
        # Beside the axes: within them it would lie on points.
        named = axes[0].get_legend_handles_labels()
        drawn.legend(
            *named, loc="outside lower center", ncols=columns + 1, frameon=False, fontsize=7
        )


def _name(line: Line) -> str:
    """What a curve is of: all but what follows the comma."""
    return line.label.partition(", ")[0]


def _fill(axes: Axes, panel: Panel, colors: dict[str, str]) -> None:
    for line in panel.lines:
        color = colors[_name(line)]
        if line.style == "o":
            axes.plot(line.xs, line.ys, "o", color=color, markersize=3.5, label=line.label)
        else:
            axes.plot(line.xs, line.ys, line.style, color=color, label=line.label, linewidth=1.3)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    plain(axes, panel.title, panel.x, panel.y)
