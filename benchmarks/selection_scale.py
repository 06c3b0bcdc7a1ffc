"""Ten million items, k = 1,000: every mechanism beside a sort, and its peak memory.

    python -m benchmarks.selection_scale

Each is run once. The peak is that of the row's process: interpreter, numpy and the 80 MB of the
counts included. A mechanism that passes 2 GiB, or a minute of CPU, fails the run; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Protocol

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from numpy.typing import NDArray

from askew.dp.privacy import ADD_OR_REMOVE_ONE as ONE
from askew.mechanisms import (
    Canonical,
    ConcentratedPeeling,
    Joint,
    LaplaceCounts,
    LaplaceLimitedDomain,
    LimitedDomain,
    OneShot,
    OptimalThreshold,
    Peeling,
    PermuteAndFlip,
    PNFJoint,
)
from askew.noise.randomness import RandomBits, SystemBits

ITEMS, K = 10_000_000, 1000
LIMIT = Goal(megabytes=2**21 / 1e3, floor="sort")  # 2 GiB
DELTA = Fraction(1, 10**6)
COUNTS: dict[str, Callable[[], NDArray[np.int64]]] = {
    "Zipf": lambda: np.random.default_rng(1).permutation(
        (1e8 / np.arange(1, ITEMS + 1)).astype(np.int64)
    ),
    "all distinct": lambda: np.random.default_rng(1).integers(0, 2**40, ITEMS),
}


class Selects(Protocol):
    def select(self, counts: NDArray[np.int64], *, bits: RandomBits) -> tuple[int, ...]: ...


MECHANISMS: dict[str, Selects] = {
    "Joint": Joint(k=K, epsilon=1, neighbors=ONE),
    "Joint, epsilon 1/10": Joint(k=K, epsilon=Fraction(1, 10), neighbors=ONE),
    "PNFJoint": PNFJoint(k=K, epsilon=1, neighbors=ONE),
    "Canonical": Canonical(k=K, epsilon=1, neighbors=ONE),
    "Canonical, gamma 1": Canonical(k=K, epsilon=1, neighbors=ONE, gamma=1),
    "Canonical, exponential": Canonical(k=K, epsilon=1, neighbors=ONE, noise="exponential"),
    "Peeling": Peeling(k=K, epsilon=1, neighbors=ONE),
    "PermuteAndFlip": PermuteAndFlip(k=K, epsilon=1, neighbors=ONE),
    "PermuteAndFlip, epsilon 1/100": PermuteAndFlip(k=K, epsilon=Fraction(1, 100), neighbors=ONE),
    "OneShot, exponential": OneShot(k=K, epsilon=1, neighbors=ONE),
    "OneShot, Laplace": OneShot(k=K, epsilon=1, neighbors=ONE, noise="laplace"),
    "ConcentratedPeeling": ConcentratedPeeling(k=K, epsilon=1, delta=DELTA, neighbors=ONE),
    "LaplaceCounts": LaplaceCounts(k=K, epsilon=1, neighbors=ONE, max_items_per_unit=10),
    "LimitedDomain": LimitedDomain(k=K, kbar=2 * K, epsilon=1, delta=DELTA, neighbors=ONE),
    "LaplaceLimitedDomain": LaplaceLimitedDomain(
        k=K, kbar=2 * K, epsilon=1, delta=DELTA, neighbors=ONE, max_items_per_unit=10
    ),
    "OptimalThreshold": OptimalThreshold(k=K, dbar=2 * K, epsilon=1, delta=DELTA, neighbors=ONE),
}


def contenders(kind: str, mechanism: Selects) -> Mapping[str, Work]:
    """In the process of the row, so that its peak is of these counts alone."""
    counts = COUNTS[kind]()

    def ours() -> None:
        chosen = mechanism.select(counts, bits=SystemBits())
        assert len(set(chosen)) == len(chosen) <= K

    return {"sort": lambda: np.sort(counts), OURS: ours}


def main() -> None:
    finish(
        [
            run(
                f"{kind}: d={ITEMS:,} k={K:,}",
                [
                    Row(name, partial(contenders, kind, mechanism), LIMIT, rounds=1)
                    for name, mechanism in MECHANISMS.items()
                ],
            )
            for kind in COUNTS
        ]
    )


if __name__ == "__main__":
    main()
