"""Draws docs/selection-error.svg: median k-relative error against k, one line a mechanism.

python benchmarks/selection_picture.py [counts.npy ...]
"""

from __future__ import annotations

import sys
from fractions import Fraction
from math import log10
from pathlib import Path
from statistics import median

import numpy as np

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import Canonical, Joint, LaplaceCounts, OneShot, Peeling, PermuteAndFlip
from askew.mechanisms.tally import Integers, k_relative_error
from askew.noise.randomness import SystemBits

KS, RUNS, EPSILON = (5, 10, 20, 50, 100, 200, 500, 1000), 9, Fraction(1, 10)
WIDTH, HEIGHT, MARGIN, TOP = 420, 300, 50, 1e5
COLORS = ("#1b6ca8", "#7d3c98", "#117a65", "#b9770e", "#a93226", "#555555")
FAMILY = {
    "Canonical": Canonical,
    "Joint": Joint,
    "PermuteAndFlip": PermuteAndFlip,
    "OneShot": OneShot,
    "Peeling": Peeling,
}


def error(name: str, k: int, counts: Integers) -> float:
    """Median over runs of x_k minus the lowest selected count; epsilon 1/10, add or remove one."""
    bits, neighbors = SystemBits(), ADD_OR_REMOVE_ONE
    if name in FAMILY:
        mechanism = FAMILY[name](k=k, epsilon=EPSILON, neighbors=neighbors)
    else:
        mechanism = LaplaceCounts(k=k, epsilon=EPSILON, neighbors=neighbors, max_items_per_unit=100)
    runs = [mechanism.select(counts, bits=bits) for _ in range(RUNS)]
    return float(median(k_relative_error(chosen, counts) for chosen in runs))


def place(k: float, value: float, left: int) -> str:
    """SVG coordinates on two logarithmic axes; an error of 0 is drawn as .5."""
    x = left + MARGIN + (WIDTH - MARGIN - 20) * log10(k / KS[0]) / log10(KS[-1] / KS[0])
    share = (log10(max(value, 0.5)) + 0.31) / (log10(TOP) + 0.31)
    return f"{x:.1f},{HEIGHT - MARGIN - (HEIGHT - MARGIN - 40) * min(share, 1):.1f}"


def panel(title: str, counts: Integers, left: int) -> list[str]:
    parts = [f'<text x="{left + MARGIN}" y="20" font-weight="bold">{title}</text>']
    axis, bottom = left + WIDTH - 20, HEIGHT - 12
    parts.append(f'<text x="{axis}" y="{bottom}" text-anchor="end">k (log scale)</text>')
    parts.append(f'<text x="{left + 8}" y="{place(KS[0], 0.5, left).split(",")[1]}">0</text>')
    for power in range(6):
        x, y = place(KS[0], 10.0**power, left).split(",")
        parts.append(f'<text x="{left + 8}" y="{y}">1e{power}</text>')
        parts.append(f'<path d="M{x},{y} h{WIDTH - MARGIN - 20}" stroke="#ddd"/>')
    for k in KS:
        x, y = place(k, 0.5, left).split(",")
        parts.append(f'<text x="{x}" y="{float(y) + 18}" text-anchor="middle">{k}</text>')
    for name, color in zip([*FAMILY, "LaplaceCounts"], COLORS, strict=True):
        line = " ".join(place(k, error(name, k, counts), left) for k in KS)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
    return parts


def legend(columns: int) -> list[str]:
    parts = []
    for i, (name, color) in enumerate(zip([*FAMILY, "LaplaceCounts"], COLORS, strict=True)):
        x = 20 + i * 130 % (columns * WIDTH - 100)
        y = HEIGHT + 10 + 16 * (i * 130 // (columns * WIDTH - 100))
        parts.append(f'<text x="{x}" y="{y}" fill="{color}">{name}</text>')
    return parts


def main(paths: list[str]) -> None:
    panels: dict[str, Integers] = {
        "Zipf, 10,000 items": (1e6 / np.arange(1, 10_001)).astype(np.int64)
    }
    for path in paths:
        panels[Path(path).name.split(".")[0]] = np.load(path, allow_pickle=False).astype(np.int64)
    width, height = len(panels) * WIDTH, HEIGHT + (25 if len(panels) > 1 else 60)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    parts = [
        svg + ' font-family="sans-serif" font-size="11">',
        "<title>Error against k at epsilon 1/10</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, (title, counts) in enumerate(panels.items()):
        parts += panel(title, counts, i * WIDTH)
    parts += [*legend(len(panels)), "</svg>"]
    Path("docs").mkdir(exist_ok=True)
    Path("docs/selection-error.svg").write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
