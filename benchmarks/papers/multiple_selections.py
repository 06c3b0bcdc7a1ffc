"""Goel, Jiang, Korolova, Munagala, Sarmasarkar 2025: several results to one noisy question.

Figure 2: Laplace noise and the k = 5 best results around the signal, for three epsilons. Figure 4
and its values: two results on a circle, the best noise beside Laplace noise, at epsilon 3/8.
Nothing is drawn at random: offsets are closed forms, and the programs are solved by HiGHS.
"""

from __future__ import annotations

from math import log, pi

import numpy as np
from benchmarks.papers.frame import Data, Floats, Line, Panel, Reproduction, short
from benchmarks.papers.ring import laplace_on_ring, place_on_ring
from benchmarks.papers.ring_program import on_ring
from benchmarks.places.theory import on_line

from askew.placement import Identity, Laplace, Power, place
from askew.placement.problem import Increasing

EPSILONS = (0.3, 0.5, 1.0)
RING = 3 / 8
SATURATING = Increasing(lambda t: -np.expm1(-t))
DISUTILITIES = {"t": Identity(), "t²": Power(2.0), "√t": Power(0.5), "1 - e^-t": SATURATING}


def on_the_line() -> list[Panel]:
    """Return figure 2: the density of the signal's noise, with the offsets of five results."""
    panels = []
    for epsilon in EPSILONS:
        t = np.linspace(-12, 12, 121)
        placed = place(Laplace(epsilon), Identity(), 5)
        density = Line("density of the noise", t.tolist(), (_laplace(t, epsilon)).tolist())
        results = Line("results", placed.offsets.tolist(), [0.0] * 5, "o")
        title = f"ε = {epsilon}, k = 5: mean distance {placed.cost:.3f}"
        panels.append(Panel(title, "distance from the signal", "density", [density, results]))
    return panels


def _laplace(t: Floats, epsilon: float) -> Floats:
    found: Floats = np.exp(-epsilon * np.abs(t)) * epsilon / 2
    return found


def offsets() -> list[list[str]]:
    """Return rows of offsets and costs at epsilon 1, by the rule in use and by the closed forms."""
    rows = [["k", "positive offsets", "mean distance", "closed form", "alone (k = 1) over it"]]
    for k in (1, 2, 3, 4, 5, 7, 8, 9):
        placed = place(Laplace(1.0), Identity(), k)
        outward = ", ".join(f"{each:.4f}" for each in placed.offsets if each > 1e-12)
        form = 2 / (k + 1) if k % 2 else log(1 + 2 / k)
        rows.append([str(k), outward or "-", f"{placed.cost:.6f}", f"{form:.6f}", short(1 / form)])
    return rows


def costs(ks: range) -> tuple[list[Panel], list[list[str]]]:
    """Return the mean disutility against k for several h, and some of it on our lattice."""
    lines = [
        Line(f"h = {name}", [*ks], [place(Laplace(1.0), h, k).cost for k in ks])
        for name, h in DISUTILITIES.items()
    ]
    panel = Panel("Laplace noise, ε = 1", "results k", "mean disutility", lines, log_y=True)
    rows = [["h", "k", "formula", "device and server, summed over the law"]]
    for name, k in (("t", 1), ("t", 5), ("t²", 5)):
        h = DISUTILITIES[name]
        formula = place(Laplace(1.0), h, k).cost
        rows.append([name, str(k), f"{formula:.5f}", f"{on_line(h, k):.5f}"])
    return [panel], rows


def on_the_ring(nodes: int) -> list[Panel]:
    """Return figure 4: the noise around the middle of the short arc, beside Laplace noise."""
    panels = []
    for epsilon in (RING, 1.0):
        best, plain = place_on_ring(epsilon), laplace_on_ring(epsilon)
        solved = on_ring(epsilon, nodes)
        t = np.linspace(-pi, pi, 121)
        step = 2 * pi / nodes
        middle = solved.gap * step / 2
        around = (solved.nodes - middle + pi) % (2 * pi) - pi
        order = np.argsort(around)
        lines = [
            Line("best", t.tolist(), _ring(t, epsilon, best.noise_peak).tolist()),
            Line("Laplace", t.tolist(), _ring(t, epsilon, 0.0).tolist(), "--"),
            Line(
                f"linear program, {nodes} places",
                around[order].tolist(),
                (solved.noise[order] / step).tolist(),
                ":",
            ),
            Line("best, its results", [-best.offset, best.offset], [0.0, 0.0], "o"),
            Line("Laplace, its results", [-plain.offset, plain.offset], [0.0, 0.0], "o"),
        ]
        title = f"ring, ε = {epsilon:g}: {best.cost:.4f}, Laplace {plain.cost:.4f}"
        panels.append(Panel(title, "position around the signal", "density", lines))
    return panels


def _ring(t: Floats, epsilon: float, peak: float) -> Floats:
    raw = np.exp(-epsilon * np.abs(np.abs(t) - peak))
    found: Floats = raw / (np.trapezoid(raw, t))
    return found


def ring_table(grids: tuple[int, ...]) -> list[list[str]]:
    """Return what the paper prints for epsilon 3/8, beside converged values and coarse grids."""
    best, plain = place_on_ring(RING), laplace_on_ring(RING)
    rows = [["ring, k = 2, ε = 3/8", "optimum", "Laplace"]]
    rows.append(["the paper prints", "0.72", "0.75"])
    rows.append(["closed form", f"{best.cost:.6f}", f"{plain.cost:.6f}"])
    for nodes in grids:
        rows.append([f"program, people on {nodes} places", f"{on_ring(RING, nodes).cost:.5f}", "-"])
    cells = cell_centers(10, RING)
    rows.append(["program, people between 10 results", *(f"{each:.4f}" for each in cells)])
    one = place_on_ring(1.0).cost, laplace_on_ring(1.0).cost
    rows.append(["closed form at ε = 1", *(f"{each:.6f}" for each in one)])
    return rows


def cell_centers(cells: int, epsilon: float) -> tuple[float, float]:
    """Return (optimum, Laplace) where people stand half a cell from where results may be.

    A coarse grid of this kind rounds to the paper's numbers. The noise is on the cells: its law
    g over the cells, with ratio e^{epsilon step} from one cell to the next.
    """
    step, people = 2 * pi / cells, np.arange(cells) + 0.5

    def far(place: float) -> Floats:
        apart = np.abs(people - place)
        distance: Floats = np.minimum(apart, cells - apart) * step
        return distance

    plain = np.inf
    for gap in range(1, cells // 2 + 1):
        cost = np.minimum(far(0), far(gap))
        for center in np.arange(2 * cells) / 2:
            law = np.exp(-epsilon * far(center))
            plain = min(plain, float(cost @ law / law.sum()))
    return on_ring(epsilon, cells, shift=0.5).cost, plain


def measure(_: Data) -> Reproduction:
    panels, exact = costs(range(1, 21))
    return Reproduction(
        tables={"offsets": offsets(), "costs": exact, "ring": ring_table((16, 64, 200))},
        pictures={
            "multiple-selections-line": on_the_line(),
            "multiple-selections-ring": on_the_ring(200),
            "multiple-selections-cost": panels,
        },
        data=["none, these are formulas"],
    )
