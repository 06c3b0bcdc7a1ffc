"""Draws the pictures of the documents. Needs the extra `plots`.

    python -m benchmarks.figures places
    python -m benchmarks.figures selection [counts.npy ...]

places       docs/places-offsets.png: 20 query points of a map, 5 results around a day
selection    docs/selection-error.svg: median k-relative error against k, one line a mechanism
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from statistics import median

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import Canonical, Joint, LaplaceCounts, OneShot, Peeling, PermuteAndFlip
from askew.mechanisms.tally import Integers, k_relative_error
from askew.noise.randomness import SystemBits
from askew.placement import Identity, Laplace, place
from askew.placement.hexagonal import place_on_map, sample

DOCS = Path("docs")
INK = "#1b1b1b"
COLORS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8d6a9f", "#c98b2b", "#555555")


@contextmanager
def figure(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """A picture that is written in the end; the same content makes the same bytes."""
    with mpl.rc_context({"svg.hashsalt": "askew", "svg.fonttype": "none", "font.size": 9}):
        made = Figure(figsize=size, layout="constrained")
        yield made
        made.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)


def draw_places(_: list[str]) -> None:
    """A codebook over draws of the hexagonal law, and offsets on a line over its density."""
    with figure(DOCS / "places-offsets.png", (9.4, 4.2)) as drawn:
        place_axes, line_axes = drawn.subplots(1, 2)
        town = place_on_map(0.277, 20)
        draws = sample(3000, np.random.default_rng(1)) / 0.277
        place_axes.plot(*draws.T, ".", color=COLORS[0], alpha=0.12, markersize=3)
        place_axes.plot(*town.offsets.T, "o", color=COLORS[1], markersize=5)
        place_axes.plot(0, 0, "+", color=INK, markersize=11)
        place_axes.set(xlim=(-24, 24), ylim=(-24, 24), aspect="equal")
        title = f"town, k = 20: {town.cost:.2f} km instead of {place_on_map(0.277, 1).cost:.2f}"
        plain(place_axes, title, "km east of the signal", "km north")
        draw_line(line_axes)


def plain(axes: Axes, title: str, x: str, y: str) -> None:
    """No frame, no grid lines: the curves carry the picture."""
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def draw_line(axes: Axes) -> None:
    """Five results on a line at epsilon 1/4 a kilometer."""
    t = np.linspace(-16, 16, 481)
    axes.fill_between(t, np.exp(-np.abs(t) / 4) / 8, color=COLORS[0], alpha=0.25)
    five, one = (place(Laplace(0.25), Identity(), k) for k in (5, 1))
    axes.plot(five.offsets, np.zeros(5), "o", color=COLORS[1], clip_on=False)
    title = f"a line, ε = 1/4 per km, k = 5: {five.cost:.2f} km instead of {one.cost:.2f}"
    plain(axes, title, "km from the signal", "density")


KS, RUNS, EPSILON = (5, 10, 20, 50, 100, 200, 500, 1000), 9, Fraction(1, 10)
FAMILY = (Canonical, Joint, PermuteAndFlip, OneShot, Peeling)


def draw_selection(paths: list[str]) -> None:
    """A panel for Zipf counts, and for each file of counts one more."""
    panels: dict[str, Integers] = {
        "Zipf, 10,000 items": (1e6 / np.arange(1, 10_001)).astype(np.int64)
    }
    for path in map(Path, paths):
        panels[path.stem] = np.load(path, allow_pickle=False).astype(np.int64)
    with figure(DOCS / "selection-error.svg", (5 * len(panels), 3.6)) as drawn:
        row = drawn.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, counts) in zip(row, panels.items(), strict=True):
            for name, color in zip([*(each.__name__ for each in FAMILY), ""], COLORS, strict=True):
                errors = [max(_error(name, k, counts), 0.5) for k in KS]  # 0 on a log scale
                axes.loglog(KS, errors, color=color, label=name or "LaplaceCounts")
            plain(axes, title, "k", "median error, .5 for none")
        row[0].legend(frameon=False, fontsize=7)


def _error(name: str, k: int, counts: Integers) -> float:
    """Median over runs of x_k minus the lowest selected count; epsilon 1/10, add or remove one."""
    bits, neighbors = SystemBits(), ADD_OR_REMOVE_ONE
    family = {each.__name__: each for each in FAMILY}
    mechanism = (
        family[name](k=k, epsilon=EPSILON, neighbors=neighbors)
        if name
        else LaplaceCounts(k=k, epsilon=EPSILON, neighbors=neighbors, max_items_per_unit=100)
    )
    runs = [mechanism.select(counts, bits=bits) for _ in range(RUNS)]
    return float(median(k_relative_error(chosen, counts) for chosen in runs))


if __name__ == "__main__":
    drawing = {"places": draw_places, "selection": draw_selection}
    drawing[sys.argv[1]](sys.argv[2:])
