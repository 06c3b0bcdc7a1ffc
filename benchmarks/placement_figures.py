"""Draws the pictures of placement into build/figures. Needs the extra `plots`.

offsets.png      densities and offsets, k = 5, epsilon 0.3, 0.5, 1 (figure 2 of Goel et al.)
ring.png         noise and results on the circle, epsilon 3/8 and 1 (figure 4)
cost_by_k.png    cost against k for several disutilities, over the cost of one result
cost_by_d.png    cost against k in d = 1, 2, 3, 5, 8 dimensions, with the volume bound
places-offsets.png   20 probes around a signal on a map, 5 results around a day: docs/places.md
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from askew.placement import Cap, Disutility, Identity, Laplace, Log1p, Power, Saturating, place
from askew.placement.codebook import shipped_sizes
from askew.placement.hexagonal import place_on_map, sample
from askew.placement.ring import (
    WrappedLaplace,
    laplace_on_ring,
    place_on_ring,
    place_on_wrapped_line,
)

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

OUTPUT = Path("build/figures")
INK = "#1b1b1b"
COLORS = ("#0b5fa5", "#c8553d", "#2d7d46", "#7d4fa0", "#b8860b")


def plain(axes: Axes, title: str, x: str, y: str) -> None:
    """No frame, no grid lines: the curves carry the picture."""
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def draw_offsets(path: Path) -> None:
    """Three densities, and under each its five offsets."""
    figure, rows = plt.subplots(3, 1, figsize=(7, 6.2), sharex=True, sharey=True)
    x = np.linspace(-9, 9, 1201)
    for axes, epsilon, color in zip(rows, (0.3, 0.5, 1.0), COLORS, strict=False):
        placement = place(Laplace(epsilon), Identity(), 5)
        axes.fill_between(x, epsilon / 2 * np.exp(-epsilon * np.abs(x)), color=color, alpha=0.25)
        heights = epsilon / 2 * np.exp(-epsilon * np.abs(placement.offsets))
        axes.vlines(placement.offsets, 0, heights, color=color)
        axes.plot(placement.offsets, np.zeros(5), "o", color=color, clip_on=False)
        title = f"epsilon = {epsilon:g}: expected distance {placement.cost:.3g}"
        plain(axes, title, "", "density")
        axes.set_ylim(0, 0.52)
    rows[-1].set_xlabel("position as seen from the signal")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_ring(path: Path) -> None:
    """The optimal noise against Laplace noise, with the two results of each."""
    figure, columns = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    t = np.linspace(-np.pi, np.pi, 1201)
    for axes, epsilon, name in zip(columns, (3 / 8, 1.0), ("3/8", "1"), strict=True):
        laws = ((place_on_ring(epsilon), "optimal"), (laplace_on_ring(epsilon), "Laplace"))
        for (ring, label), color, lift in zip(laws, COLORS, (0.0, -0.018), strict=False):
            density = np.exp(-epsilon * np.abs(np.abs(t) - ring.noise_peak))
            density /= np.mean(density) * 2 * np.pi
            axes.plot(t, density, color=color, label=f"{label}: cost {ring.cost:.4f}")
            axes.plot(ring.offsets, np.full(2, lift), "o", color=color, clip_on=False)
        plain(axes, f"circle of length 2 pi, epsilon = {name}", "angle from the signal", "density")
        axes.legend(frameon=False, fontsize=8, loc="upper right")
        axes.set_ylim(-0.03, 0.68)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_cost_by_k(path: Path) -> None:
    """Relative to the cost of a single result, on logarithmic axes."""
    shown: tuple[tuple[Disutility, str], ...] = (
        (Power(0.5), "sqrt(t)"),
        (Saturating(1.0), "1 - exp(-t)"),
        (Log1p(1.0), "log(1 + t)"),
        (Cap(1.0), "min(t, 1)"),
        (Identity(), "t"),
        (Power(2.0), "t^2"),
    )
    ks = np.unique(np.geomspace(1, 200, 60).astype(int))
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for (h, label), color in zip(shown, (*COLORS, INK), strict=True):
        costs = np.array([place(Laplace(1.0), h, int(k)).cost for k in ks])
        axes.loglog(ks, costs / costs[0], color=color, label=f"h(t) = {label}")
    plain(axes, "Laplace noise on the line, epsilon = 1", "results k", "cost / cost of one result")
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_cost_by_dimension(path: Path) -> None:
    """Product noise, l1 disutility: codebooks, and below each the volume bound."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for d, color in zip((1, 2, 3, 5, 8), COLORS, strict=True):
        ks = (1, *shipped_sizes("l1", "l1", d)) if d > 1 else (1, 2, 4, 8, 16, 32, 64, 128, 256)
        found = [place(Laplace(1.0, d), Identity(), k) for k in ks]
        axes.loglog(ks, [p.cost / d for p in found], color=color, marker=".", label=f"d = {d}")
        if d > 1:
            bounds = [p.certificate.lower_bound / d for p in found]
            axes.loglog(ks, bounds, color=color, linestyle=":", linewidth=1)
    title = "Product noise, l1 disutility (dotted: no k results can do better)"
    plain(axes, title, "results k", "cost / cost of one result")
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_places(path: Path) -> None:
    """A codebook over draws of the hexagonal law, and offsets around a ring over its density."""
    figure, (place_axes, day_axes) = plt.subplots(1, 2, figsize=(9.4, 4.2))
    town = place_on_map(0.277, 20)
    draws = sample(3000, np.random.default_rng(1)) / 0.277
    place_axes.plot(*draws.T, ".", color=COLORS[0], alpha=0.12, markersize=3, markeredgewidth=0)
    place_axes.plot(*town.offsets.T, "o", color=COLORS[1], markersize=5)
    place_axes.plot(0, 0, "+", color=INK, markersize=11)
    place_axes.set(xlim=(-24, 24), ylim=(-24, 24), aspect="equal")
    title = f"town, k = 20: {town.cost:.2f} km instead of {place_on_map(0.277, 1).cost:.2f}"
    plain(place_axes, title, "km east of the signal", "km north")
    draw_day(day_axes)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_day(axes: Axes) -> None:
    """Five results around 24 hours at epsilon 1/4 an hour, and those of a line without ends."""
    t = np.linspace(-12, 12, 481)
    mass = np.diff(WrappedLaplace(6.0).cdf(t / 4))
    axes.fill_between(t[1:], mass / 0.05, color=COLORS[0], alpha=0.25)
    day = place_on_wrapped_line(0.25, 24.0, Identity(), 5)
    line = place(Laplace(0.25), Identity(), 5)
    axes.plot(day.offsets, np.zeros(5), "o", color=COLORS[1], clip_on=False, label="on the ring")
    far = np.abs(line.offsets) <= 12
    axes.plot(line.offsets[far], np.full(far.sum(), -0.006), "|", color=INK, label="on a line")
    axes.set_xticks([-12, -6, 0, 6, 12])
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    title = f"a day, ε = 1/4 per hour, k = 5: {day.cost:.2f} h"
    plain(axes, title, "hours from the signal", "density")


def main() -> None:
    """Draws all five."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    pictures = {
        "offsets.png": draw_offsets,
        "ring.png": draw_ring,
        "cost_by_k.png": draw_cost_by_k,
        "cost_by_d.png": draw_cost_by_dimension,
        "places-offsets.png": draw_places,
    }
    for name, draw in pictures.items():
        draw(OUTPUT / name)
        sys.stdout.write(f"{OUTPUT / name}\n")


if __name__ == "__main__":
    main()
