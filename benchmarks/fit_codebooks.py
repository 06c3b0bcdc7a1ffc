"""Computes the codebooks that ship with askew.placement. About half an hour on one core.

    python -m benchmarks.fit_codebooks
    python -m benchmarks.fit_codebooks --map           # those for maps alone, a few minutes

For every law (product Laplace noise with l1 and with l2 disutility, l2-Laplace noise with l2
disutility), every dimension 2..16 and every size k in SIZES: Lloyd from three starts (the codebook
before it plus far samples, two k-means++ draws, and the cross for k <= 2 d + 1), on SAMPLES
training draws; then the mean distance on TEST fresh draws with its standard error. Unit epsilon.

Seeds: training and starts from (SEED, law, d, k), fresh draws from (SEED + 1, law, d). The result
is one .npz file without pickles: points (float32, all codebooks one after another), and a table
of integers (law, d, k, first row) with cost and standard error.

For maps, every k from 2 to 64: Lloyd for the hexagonal law and the straight-line distance from four
starts (the codebook before it plus a far sample, three k-means++ draws), on MAP_SAMPLES training
draws in one quarter of the plane and their three mirror images, under which the law is the same;
the mean distance is on MAP_TEST fresh draws. Seeds: (MAP_SEED, k) and (MAP_SEED + 1). The table has
(0, 2, k, first number of the points).

Lloyd: each round sends every sample to its nearest point and moves every point to the center of its
cell: the median of each coordinate for the l1 distance, Weiszfeld steps toward the geometric median
for the l2 distance. Source: Lloyd 1982; Weiszfeld 1937; the first points follow k-means++ (Arthur
and Vassilvitskii 2007) with probabilities proportional to the distance.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.noise.hexagonal import GAUGE
from askew.placement import hexagonal
from askew.placement.problem import Laplace, Norm
from askew.placement.rule import Points, assign, length, sample

SEED = 20240714
SAMPLES = 60_000
SAMPLES_LARGE = 100_000  # from k = 96 on, so that a cell still holds several hundred samples
TEST = 200_000
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
DIMENSIONS = range(2, 17)
LAWS: tuple[tuple[Norm, Norm], ...] = (("l1", "l1"), ("l1", "l2"), ("l2", "l2"))
OUTPUT = Path("shared/askew/placement/data/codebooks.npz")
WEISZFELD_STEPS = 3
ENOUGH = 2e-5  # relative fall of the cost in a round below which a run ends


def fit(
    samples: Points,
    starts: list[Points],
    norm: Norm,
    *,
    generator: np.random.Generator,
    rounds: int = 60,
) -> Points:
    """Return points (k, d), fitted to samples (n, d) from the best of several starts (k, d), which
    are tried on a part of the samples. O(rounds n k d).
    """
    trial = samples[: max(len(samples) // 4, 20 * len(starts[0]))]
    tried = [_descend(trial, start, norm, generator, rounds // 3) for start in starts]
    best = min(
        tried, key=lambda points: float(assign(trial, points, norm)[1].mean(dtype=np.float64))
    )
    return _descend(samples, best, norm, generator, rounds)


def spread_out(
    samples: Points, k: int, norm: Norm, generator: np.random.Generator, first: Points | None = None
) -> Points:
    """Return k points (k, d) far from each other: first `first` (n, d), of which the first k count,
    or the point 0 where it is None; then samples, each drawn with probability proportional to its
    distance from those before it.
    """
    taken = [np.zeros(samples.shape[1], np.float32)] if first is None else list(first)
    far = assign(samples, np.array(taken), norm)[1].astype(np.float64)
    while len(taken) < k:
        chance = np.cumsum(far)
        row = int(np.searchsorted(chance, generator.random() * chance[-1]))
        taken.append(samples[min(row, len(samples) - 1)])
        far = np.minimum(far, length(samples - taken[-1], norm))
    return np.array(taken[:k], dtype=np.float32)


def _descend(
    samples: Points,
    points: Points,
    norm: Norm,
    generator: np.random.Generator,
    rounds: int,
) -> Points:
    order = np.argsort(samples, axis=0) if norm == "l1" else None
    before = np.inf
    for _ in range(rounds):
        labels, far = assign(samples, points, norm)
        points = _revive(samples, points, labels, far, generator)
        if order is None:
            points = _toward_geometric_medians(samples, points, labels)
        else:
            points = _medians(samples, points, labels, order)
        cost = float(np.mean(far, dtype=np.float64))
        if before - cost < ENOUGH * cost:
            break
        before = cost
    return points


def _revive(
    samples: Points,
    points: Points,
    labels: NDArray[np.int64],
    far: NDArray[np.float32],
    generator: np.random.Generator,
) -> Points:
    """Points whose cell is empty move to samples that are badly served."""
    idle = np.flatnonzero(np.bincount(labels, minlength=len(points)) == 0)
    if len(idle) == 0:
        return points
    points = points.copy()
    chance = far.astype(np.float64) / far.sum(dtype=np.float64)
    points[idle] = samples[generator.choice(len(samples), len(idle), p=chance)]
    return points


def _medians(
    samples: Points,
    points: Points,
    labels: NDArray[np.int64],
    order: NDArray[np.int64],
) -> Points:
    """Return the median of each coordinate in each cell.

    `order` sorts each coordinate once and for all; a stable sort of 16-bit labels is then a radix
    sort, which makes a round linear in the number of samples.
    """
    moved = points.copy()
    short = labels.astype(np.uint16)
    counts = np.bincount(labels, minlength=len(points))
    used = np.flatnonzero(counts)
    last = np.cumsum(counts)[used] - 1
    for axis in range(samples.shape[1]):
        rows = order[:, axis]
        rows = rows[np.argsort(short[rows], kind="stable")]
        running = np.arange(1.0, len(rows) + 1)
        total = running[last]
        before = np.concatenate([[0.0], total[:-1]])
        middle = np.searchsorted(running, (before + total) / 2)
        moved[used, axis] = samples[rows[np.minimum(middle, last)], axis]
    return moved


def _toward_geometric_medians(samples: Points, points: Points, labels: NDArray[np.int64]) -> Points:
    """A few Weiszfeld steps: the mean of a cell with weights 1 / distance lowers its cost."""
    k, d = points.shape
    for _ in range(WEISZFELD_STEPS):
        pull = 1 / np.maximum(length(samples - points[labels], "l2"), np.float32(1e-6))
        total = np.bincount(labels, pull, k)
        used = total > 0
        moved = points.copy()
        for axis in range(d):
            part = np.bincount(labels, pull * samples[:, axis], k)
            moved[used, axis] = part[used] / total[used]
        points = moved
    return points


def cross(d: int, k: int, arm: float) -> Points:
    """Return the first k of 0, +-s e_1, +-s e_2, ..."""
    arms = np.repeat(np.eye(d, dtype=np.float32), 2, axis=0) * np.float32(arm)
    arms[1::2] *= -1
    return np.concatenate([np.zeros((1, d), np.float32), arms])[:k]


def codebooks(law: int, d: int) -> list[tuple[int, Points, float, float]]:
    """Return (k, points, cost, standard error) for every size of one law in one dimension."""
    noise_norm, norm = LAWS[law]
    noise = Laplace(1.0, d, noise_norm)
    fresh = sample(noise, TEST, np.random.default_rng([SEED + 1, law, d]))
    found: list[tuple[int, Points, float, float]] = []
    previous: Points | None = None
    for k in SIZES:
        generator = np.random.default_rng([SEED, law, d, k])
        draws = sample(noise, SAMPLES if k < 96 else SAMPLES_LARGE, generator)
        starts = [spread_out(draws, k, norm, generator, previous)]
        starts += [spread_out(draws, k, norm, generator) for _ in range(2)]
        if k <= 2 * d + 1:
            starts.append(cross(d, k, 2.0))
        points = fit(draws, starts, norm, generator=generator)
        far = assign(fresh, points, norm)[1].astype(np.float64)
        found.append((k, points, float(far.mean()), float(far.std() / np.sqrt(TEST))))
        previous = points
    return found


def save(parts: dict[tuple[int, int], list[tuple[int, Points, float, float]]]) -> None:
    """Write everything found so far to one file."""
    table, costs, errors, points = [], [], [], []
    row = 0
    for (law, d), found in sorted(parts.items()):
        for k, book, cost, error in found:
            table.append((law, d, k, row))
            costs.append(cost)
            errors.append(error)
            points.append(book.ravel())
            row += book.size
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        OUTPUT,
        table=np.array(table, np.int32),
        cost=np.array(costs),
        standard_error=np.array(errors),
        points=np.concatenate(points),
    )


MAP_SEED = 20261122
MAP_SAMPLES = 50_000
MAP_TEST = 1_000_000
MAP_OUTPUT = Path("shared/askew/placement/data") / hexagonal.FILE
MIRRORS = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]], dtype=np.float32)


def map_sample(count: int, generator: np.random.Generator) -> Points:
    """Draws of hexagonal noise at epsilon 1, (count, 2)."""
    corners = hexagonal.corners()
    side = generator.integers(6, size=count)
    along, across = generator.exponential(float(GAUGE), size=(2, count, 1))
    drawn: Points = (along * corners[side] + across * corners[(side + 1) % 6]).astype(np.float32)
    return drawn


def map_draws(generator: np.random.Generator) -> Points:
    """Draw MAP_SAMPLES points, and return them and their mirror images, mixed."""
    images: Points = (map_sample(MAP_SAMPLES, generator)[:, None] * MIRRORS).reshape(-1, 2)
    return images


def map_codebook(k: int, previous: Points) -> Points:
    """Return k points (k, 2) fitted to the hexagonal law, nearest to the signal first."""
    generator = np.random.default_rng([MAP_SEED, k])
    training = map_draws(generator)
    starts = [spread_out(training, k, "l2", generator, previous)]
    starts += [spread_out(training, k, "l2", generator) for _ in range(3)]
    points = fit(training, starts, "l2", generator=generator, rounds=120)
    return points[np.argsort(np.hypot(*points.T), kind="stable")]


def fit_maps() -> None:
    """Fits all for maps and saves them."""
    fresh = map_sample(MAP_TEST, np.random.default_rng(MAP_SEED + 1))
    books, costs = [np.zeros((1, 2), np.float32)], []
    started = time.monotonic()
    for k in range(2, hexagonal.LARGEST + 1):
        books.append(map_codebook(k, books[-1]))
        far = assign(fresh, books[-1], "l2")[1].astype(np.float64)
        costs.append((float(far.mean()), float(far.std() / np.sqrt(len(far)))))
        sys.stdout.write(f"k={k}: {costs[-1][0]:.5f}, {time.monotonic() - started:.0f} s\n")
        sys.stdout.flush()
    first = np.cumsum([0, *(book.size for book in books[1:-1])])
    table = [(0, 2, k, row) for k, row in zip(range(2, hexagonal.LARGEST + 1), first, strict=True)]
    cost, error = np.array(costs).T
    points = np.concatenate([book.ravel() for book in books[1:]])
    np.savez(
        MAP_OUTPUT, table=np.array(table, np.int32), cost=cost, standard_error=error, points=points
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--map", action="store_true", help="those for maps alone")
    arguments = parser.parse_args()
    if arguments.map:
        fit_maps()
        return
    parts: dict[tuple[int, int], list[tuple[int, Points, float, float]]] = {}
    started = time.monotonic()
    for d in DIMENSIONS:
        for law in range(len(LAWS)):
            parts[law, d] = codebooks(law, d)
            save(parts)
            seconds = time.monotonic() - started
            sys.stdout.write(f"{LAWS[law]} d={d}: {seconds:.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
