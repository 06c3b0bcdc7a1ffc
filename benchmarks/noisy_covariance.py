"""The noise of a private model's matrix, exact, beside the plain float one.

    python -m benchmarks.noisy_covariance [10000]

The argument is the number of items; 10,000 take 5 * 10**7 draws. The floor is numpy's normal law,
rounded, in the same triangle: its law is not exact and its source is no CSPRNG. Fails where the
exact noise takes more than 60 seconds of CPU, or of that times the draws for other sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run

from askew.mechanisms.covariance import UNIT, Matrix, NoisyCovariance
from askew.noise.randomness import SystemBits

MECHANISM = NoisyCovariance(Fraction(1), Fraction(1, 10**6))
ITEMS = 10_000
SECONDS = 60  # of CPU, at 10,000 items


def floats(matrix: Matrix) -> Matrix:
    """The same triangle with rounded floats."""
    rng, noisy, sigma = np.random.default_rng(), matrix.copy(), MECHANISM.sigma * UNIT
    for row in range(len(noisy)):
        drawn = np.rint(rng.normal(0, sigma, len(noisy) - row)).astype(np.int64)
        noisy[row, row:] += drawn
        noisy[row:, row] = noisy[row, row:]
    return noisy


def contenders(items: int) -> Mapping[str, Work]:
    matrix = np.full((items, items), UNIT, np.int64)
    return {
        "floor": lambda: floats(matrix),
        OURS: lambda: MECHANISM.perturb(matrix, bits=SystemBits()),
    }


def main(arguments: list[str]) -> None:
    items = int(float(arguments[0])) if arguments else ITEMS
    share = (items / ITEMS) ** 2
    goal = Goal(milliseconds=1000 * SECONDS * share, megabytes=4000)
    row = Row(
        f"{items:,} items, {items * (items + 1) // 2:,} draws",
        lambda: contenders(items),
        goal,
        rounds=1,
        seconds=int(3 * SECONDS * max(1, share)),
    )
    finish([run("noise of a matrix", [row])])


if __name__ == "__main__":
    main(sys.argv[1:])
