"""Computes the codebooks for maps that ship with askew.placement. A few minutes on one core.

    python benchmarks/fit_map_codebooks.py

For every k from 2 to 64: Lloyd for the hexagonal law and the crow's distance from four starts (the
codebook before it plus a far sample, three k-means++ draws), on SAMPLES training draws in one
quarter of the plane and their three mirror images, under which the law is the same; then the mean
distance on TEST fresh draws with its standard error. Unit epsilon.

Seeds: training and starts from (SEED, k), fresh draws from (SEED + 1). The file has the form of
codebooks.npz: points (float32), and a table of integers (0, 2, k, first number of the points).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from askew.placement.codebook import Points, fit, spread_out
from askew.placement.hexagonal import FILE, LARGEST, expected_cost, nearest_first, sample
from askew.placement.problem import Identity

SEED = 20261122
SAMPLES = 50_000
TEST = 1_000_000
OUTPUT = Path("shared/askew/placement/data") / FILE
MIRRORS = np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]], dtype=np.float32)


def draws(generator: np.random.Generator) -> Points:
    """SAMPLES draws and their mirror images, mixed, so that every part has all kinds."""
    images: Points = (sample(SAMPLES, generator)[:, None] * MIRRORS).reshape(-1, 2)
    return images


def codebook(k: int, previous: Points) -> Points:
    """k points, nearest to the signal first."""
    generator = np.random.default_rng([SEED, k])
    training = draws(generator)
    starts = [spread_out(training, k, "l2", generator, previous)]
    starts += [spread_out(training, k, "l2", generator) for _ in range(3)]
    points = fit(training, starts, "l2", generator=generator, rounds=120)
    return nearest_first(points).astype(np.float32)


def main() -> None:
    """Fits all and saves them."""
    fresh = sample(TEST, np.random.default_rng(SEED + 1))
    books, costs = [np.zeros((1, 2), np.float32)], []
    started = time.monotonic()
    for k in range(2, LARGEST + 1):
        books.append(codebook(k, books[-1]))
        costs.append(expected_cost(books[-1].astype(np.float64), Identity(), fresh))
        sys.stdout.write(f"k={k}: {costs[-1][0]:.5f}, {time.monotonic() - started:.0f} s\n")
        sys.stdout.flush()
    first = np.cumsum([0, *(book.size for book in books[1:-1])])
    table = [(0, 2, k, row) for k, row in zip(range(2, LARGEST + 1), first, strict=True)]
    cost, error = np.array(costs).T
    points = np.concatenate([book.ravel() for book in books[1:]])
    np.savez(
        OUTPUT, table=np.array(table, np.int32), cost=cost, standard_error=error, points=points
    )


if __name__ == "__main__":
    main()
