"""Ten million items, k = 1,000: CPU time and peak memory of every mechanism, a process each.

    python benchmarks/selection_scale.py

The peak is that of the whole process: interpreter, numpy and the 76 MiB of the counts included. The
limit is 2 GiB; a mechanism that passes it fails the run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askew.mechanisms import (
    Canonical,
    ConcentratedPeeling,
    GammaCounts,
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
from askew.privacy import ADD_OR_REMOVE_ONE as ONE
from askew.randomness import RandomBits, SystemBits

ITEMS, K, LIMIT = 10_000_000, 1000, 2048
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
    "OneShot, exponential": OneShot(k=K, epsilon=1, neighbors=ONE),
    "OneShot, Laplace": OneShot(k=K, epsilon=1, neighbors=ONE, noise="laplace"),
    "ConcentratedPeeling": ConcentratedPeeling(k=K, epsilon=1, delta=DELTA, neighbors=ONE),
    "LaplaceCounts": LaplaceCounts(k=K, epsilon=1, neighbors=ONE, max_items_per_unit=10),
    "GammaCounts": GammaCounts(k=K, epsilon=1, neighbors=ONE),
    "LimitedDomain": LimitedDomain(k=K, kbar=2 * K, epsilon=1, delta=DELTA, neighbors=ONE),
    "LaplaceLimitedDomain": LaplaceLimitedDomain(
        k=K, kbar=2 * K, epsilon=1, delta=DELTA, neighbors=ONE, max_items_per_unit=10
    ),
    "OptimalThreshold": OptimalThreshold(k=K, dbar=2 * K, epsilon=1, delta=DELTA, neighbors=ONE),
}


def measure(kind: str, name: str) -> None:
    """In a process of its own: prints CPU milliseconds and the peak in MiB."""
    counts = COUNTS[kind]()
    start = process_time()
    chosen = MECHANISMS[name].select(counts, bits=SystemBits())
    milliseconds = 1000 * (process_time() - start)
    assert len(set(chosen)) == len(chosen) <= K
    print(f"{milliseconds:.0f} {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f}")


def main() -> None:
    over = []
    for kind in COUNTS:
        print(f"\n{kind}: d={ITEMS:,} k={K:,}", flush=True)
        for name in MECHANISMS:
            command = [sys.executable, __file__, kind, name]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            milliseconds, peak = map(int, run.stdout.split())
            print(f"  {name:32}{milliseconds:10,} ms{peak:9,} MiB", flush=True)
            over += [f"{name} ({kind})"] if peak > LIMIT else []
    if over:
        sys.exit(f"more than {LIMIT} MiB: " + ", ".join(over))


if __name__ == "__main__":
    measure(*sys.argv[1:]) if len(sys.argv) > 1 else main()
