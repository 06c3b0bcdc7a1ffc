"""Draws the pictures of the documents. Needs the extra `plots`.

`make report` draws docs/answer.svg, the map of an answer, and docs/distance.svg, how far a pick is
against k; `make bench NAME=recall` draws docs/recall.svg, and `make papers` those of docs/papers.
They have no background, and colors that can be read on white and on black; letters are large enough
for 360 pixels of width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from math import ceil, cos, pi, radians, sin
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from benchmarks.papers.frame import Line, Panel
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter
from scipy.special import gammaincinv

from askew.noise.hexagonal import GAUGE
from askew.spaces.map import KM_OF_LATITUDE, KM_OF_LONGITUDE

DOCS = Path("docs")
INK = "#737b85"  # each has a contrast of at least 3.5 with white and with #0d1117
COLORS = ("#2f81d6", "#dc4a4a", "#2e9a57", "#9a63d0", "#c4771a", INK)
_WIDTH = 4.7  # inches: of a picture that a phone shows in 360 pixels


@contextmanager
def figure(path: Path, size: tuple[float, float], letters: float = 9) -> Iterator[Figure]:
    """Write a picture in the end; the same content makes the same bytes. letters: in points."""
    style: dict[Any, Any] = {"svg.hashsalt": "askew", "svg.fonttype": "none", "font.size": letters}
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    with mpl.rc_context(style | dict.fromkeys(inks, INK)):
        made = Figure(figsize=size, layout="constrained")
        yield made
        made.savefig(path, transparent=True, metadata={"Date": None})


def plain(axes: Axes, title: str, x: str, y: str) -> None:
    """Draw axes without frame and grid lines: the curves carry the picture."""
    axes.set_title(title, loc="left", fontsize="medium")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def draw_report(report: Mapping[str, Any]) -> None:
    """Draw what README shows of places."""
    draw_answer(report["example"])
    draw_distance(report["worth"])


def draw_answer(example: Mapping[str, Any]) -> None:
    """Draw home, what was sent, how far around it a server must look, and what came back."""
    north, middle = float(KM_OF_LATITUDE), cos(radians(example["home"][0]))
    east = float(KM_OF_LONGITUDE) * middle
    scale = np.array([east, north])

    def kilometers(degrees: Sequence[float]) -> Any:
        return (np.array(degrees) - example["home"])[..., ::-1] * scale

    sent, results = kilometers(example["sent"]), kilometers(example["results"])
    corners = np.array([[cos(n * pi / 3), sin(n * pi / 3)] for n in range(6)])
    # The plane of the device is narrower than the country at home.
    corners *= float(GAUGE) / example["epsilon"] * np.array([middle / example["cosine"], 1])
    with figure(DOCS / "answer.svg", (_WIDTH, 4.4), letters=11.5) as drawn:
        axes = drawn.subplots()
        for share, depth in ((0.9, 0.10), (0.5, 0.14)):
            edge = sent + gammaincinv(2.0, share) * corners
            axes.fill(*edge.T, color=COLORS[0], alpha=depth, linewidth=0)
            name = f"you, {10 * share:.0f} times in 10"
            axes.annotate(name, (sent[0], edge[1, 1] - 0.5), ha="center", va="top", color=COLORS[0])
        axes.plot(*results[1:].T, "o", color=COLORS[2], markersize=5)
        axes.plot(*sent, "D", color=COLORS[0], markersize=9)
        axes.plot(*results[0], "*", color=COLORS[4], markersize=15)
        axes.plot(0, 0, "o", color=COLORS[1], markersize=9)
        legend = (
            ("you, never sent", COLORS[1], "o"),
            ("your pick, never sent", COLORS[4], "*"),
            ("what is sent", COLORS[0], "D"),
            (f"{len(results)} results", COLORS[2], "o"),
        )
        marks = [
            axes.plot([], [], mark, color=color, label=name)[0] for name, color, mark in legend
        ]
        drawn.legend(handles=marks, loc="outside lower center", ncols=2, frameon=False)
        left, bottom = axes.get_xlim()[0], axes.get_ylim()[0]
        axes.plot([left, left + 10], [bottom, bottom], color=INK, linewidth=2)
        axes.annotate("10 km", (left, bottom + 0.4), va="bottom")
        axes.set_aspect("equal")
        axes.set_axis_off()


_LINES = {  # of a curve: its name, color and dashes
    "signal, county": ("Askew, 4 times in 20 km", COLORS[3], "-"),
    "signal, town": ("Askew, 4 times in 5 km", COLORS[0], "-"),
    "signal, district": ("Askew, 4 times in 1 km", COLORS[2], "-"),
    "cell most, spread": ("rounded to {most:.0f} km", COLORS[4], "--"),
    "cell half, spread": ("rounded to {half:.0f} km", COLORS[1], "--"),
}


def draw_distance(worth: Mapping[str, Any]) -> None:
    """Draw how much farther a pick is than the best place, against k."""
    ks = [5, 10, 20, 40, 80, 160]
    with figure(DOCS / "distance.svg", (_WIDTH, 4.0), letters=11.5) as drawn:
        axes = drawn.subplots()
        for way, (name, color, dashes) in _LINES.items():
            line = worth["curve"][way]["extra"]
            label = name.format(**worth["cells"])
            axes.loglog(ks, line, dashes, marker="o", markersize=4, color=color, label=label)
        plain(axes, "km farther than the best place", "number of results, k", "")
        axes.xaxis.set_major_locator(FixedLocator(ks))
        axes.yaxis.set_major_locator(FixedLocator([0.1, 0.3, 1, 3, 10]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        drawn.legend(loc="outside lower center", ncols=2, frameon=False)


def draw_recall(
    about: str, epsilons: Sequence[float], lines: Mapping[str, Sequence[float]]
) -> None:
    """Draw which share of the true top a release has, against epsilon."""
    with figure(DOCS / "recall.svg", (_WIDTH, 4.0), letters=11.5) as drawn:
        axes = drawn.subplots()
        for number, (name, line) in enumerate(lines.items()):
            color, dashes = COLORS[number], ("-", "--", ":", "-.")[number]
            axes.semilogx(epsilons, line, dashes, marker="o", markersize=4, color=color, label=name)
        plain(axes, "share of the true top 20 that is listed", f"epsilon\n{about}", "")
        axes.set_ylim(-0.02, 1.03)
        axes.xaxis.set_major_locator(FixedLocator([0.01, 0.03, 0.1, 0.3, 1]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        drawn.legend(loc="outside lower center", ncols=2, frameon=False)


_A_ROW = 3


def draw_panels(path: Path, panels: Sequence[Panel]) -> None:
    """Draw the curves of a paper, up to three panels a row; those of one name, which is all before
    the comma, have one color everywhere.
    """
    columns, rows = min(_A_ROW, len(panels)), ceil(len(panels) / _A_ROW)
    labels = dict.fromkeys(_name(line) for panel in panels for line in panel.lines)
    colors = dict(zip(labels, cycle(COLORS)))
    with figure(path, (4.2 * columns, 3.4 * rows)) as drawn:
        axes = drawn.subplots(rows, columns, squeeze=False).ravel()
        for each, panel in zip(axes, panels, strict=False):
            for line in panel.lines:
                size = {"markersize": 3.5} if line.style == "o" else {"linewidth": 1.3}
                color = colors[_name(line)]
                each.plot(line.xs, line.ys, line.style, color=color, label=line.label, **size)
            each.set_xscale("log" if panel.log_x else "linear")
            each.set_yscale("log" if panel.log_y else "linear")
            plain(each, panel.title, panel.x, panel.y)
        for unused in axes[len(panels) :]:
            unused.set_axis_off()
        # Beside the axes: within them it would lie on points.
        named = axes[0].get_legend_handles_labels()
        drawn.legend(
            *named, loc="outside lower center", ncols=columns + 1, frameon=False, fontsize=7
        )


def _name(line: Line) -> str:
    return line.label.partition(", ")[0]
