"""Selection beside its peers' algorithms, written naively, and beside the physical floor.

    python benchmarks/selection.py [counts.npy ...]

CPU milliseconds, median of five after one warm-up, and peak memory beyond the input; the law of
"askew" is exact, that of the others is not. Compare the ratios, not the times.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from numpy.typing import NDArray

from askew.mechanisms import (
    Canonical,
    Joint,
    LaplaceCounts,
    LimitedDomain,
    Lipschitz,
    OneShot,
    Peeling,
    PermuteAndFlip,
    PNFJoint,
)
from askew.privacy import ADD_OR_REMOVE_ONE
from askew.randomness import SystemBits

Counts = NDArray[np.int64]
Row = tuple[str, Callable[[], object]]
ONE, BITS = ADD_OR_REMOVE_ONE, SystemBits()


def milliseconds(run: Callable[[], object], repeats: int = 5) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = process_time()
        run()
        times.append(process_time() - start)
    return 1000 * median(times)


def peak_megabytes(run: Callable[[], object]) -> float:
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def zipf(items: int, highest: float) -> Counts:
    counts = (highest / np.arange(1, items + 1)).astype(np.int64)
    np.random.default_rng(1).shuffle(counts)
    return counts


def gumbel_max(counts: Counts) -> int:
    """numpy's plain noisy argmax, the usual exponential mechanism."""
    rng = np.random.default_rng()
    return int(np.argmax(counts + rng.gumbel(size=len(counts))))


def peeled_one_shot(counts: Counts, k: int) -> Counts:
    """The usual one-shot Gumbel top-k."""
    noisy = counts / k + np.random.default_rng().gumbel(size=len(counts))
    best = np.argpartition(-noisy, k)[:k]
    return best[np.argsort(-noisy[best])]


def naive_joint(counts: Counts, k: int) -> float:
    """Gillenwater et al. 2022: sort all d k differences, one at a time count the sequences."""
    ordered = np.sort(counts)[::-1]
    losses = (ordered[:k, None] - ordered[None, :]).ravel()
    rows = np.repeat(np.arange(k), len(counts))
    order = np.argsort(losses, kind="stable")
    rows, losses = rows[order], losses[order]
    reached, logs = np.zeros(k, dtype=np.int64), np.empty(len(rows))
    log_count = 0.0
    for i, row in enumerate(rows.tolist()):
        old = max(int(reached[row]) - row, 0)
        reached[row] += 1
        new = int(reached[row]) - row
        log_count += float(np.log(new) - np.log(old)) if old else 0.0
        logs[i] = log_count
    return float(np.argmax(logs - losses / 2 + np.random.default_rng().gumbel(size=len(logs))))


def canonical_scan(counts: Counts, k: int) -> float:
    """Shekelyan, Loukides 2022, Algorithm 1 as one numpy pass over all d k classes."""
    x, rng, best = np.sort(counts)[::-1].astype(np.float64), np.random.default_rng(), -np.inf
    t = np.arange(k + 1, len(x) + 1, dtype=np.float64)
    logs = np.zeros(len(t))
    for h in range(k - 1, -1, -1):
        if h < k - 1:
            logs = logs + np.log((t - h - 2) / (k - h - 1))
        scores = (x[k:] - x[h]) / 2 + logs + rng.gumbel(size=len(t))
        best = max(best, float(scores.max()))
    return best


def of_size(counts: Counts, k: int) -> Iterator[Row]:
    yield "floor: argsort", lambda: np.argsort(counts)
    yield "peer: one-shot Gumbel", lambda: peeled_one_shot(counts, k)
    if len(counts) * k <= 2_000_000:
        yield "peer: canonical scan", lambda: canonical_scan(counts, k)
    if len(counts) * k <= 200_000:
        yield "peer: joint, naive", lambda: naive_joint(counts, k)
    yield "askew: Joint", lambda: Joint(k=k, epsilon=1, neighbors=ONE).select(counts, bits=BITS)
    tenth = Joint(k=k, epsilon=Fraction(1, 10), neighbors=ONE)
    yield "askew: Joint, epsilon .1", lambda: tenth.select(counts, bits=BITS)
    pnf = PNFJoint(k=k, epsilon=1, neighbors=ONE)
    yield "askew: PNFJoint", lambda: pnf.select(counts, bits=BITS)
    half = Canonical(k=k, epsilon=1, neighbors=ONE)
    yield "askew: Canonical", lambda: half.select(counts, bits=BITS)
    low = Canonical(k=k, epsilon=1, neighbors=ONE, gamma=1)
    yield "askew: Canonical, gamma 1", lambda: low.select(counts, bits=BITS)
    other = Canonical(k=k, epsilon=1, neighbors=ONE, noise="exponential")
    yield "askew: Canonical, exponential", lambda: other.select(counts, bits=BITS)
    peel = Peeling(k=k, epsilon=1, neighbors=ONE)
    yield "askew: Peeling", lambda: peel.select(counts, bits=BITS)
    shot = OneShot(k=k, epsilon=1, neighbors=ONE)
    yield "askew: OneShot exponential", lambda: shot.select(counts, bits=BITS)
    laplace = LaplaceCounts(k=k, epsilon=1, neighbors=ONE, max_items_per_unit=10)
    yield "askew: LaplaceCounts", lambda: laplace.select(counts, bits=BITS)


def of_one(counts: Counts) -> Iterator[Row]:
    yield "peer: numpy Gumbel-max", lambda: gumbel_max(counts)
    best = Lipschitz.exponential_mechanism(1, ONE)
    yield "askew: exponential mechanism", lambda: best.select(counts, bits=BITS)
    flip = PermuteAndFlip(epsilon=1, neighbors=ONE)
    yield "askew: permute-and-flip", lambda: flip.select(counts, bits=BITS)


def of_engine() -> Iterator[Row]:
    ids = list(range(1001))
    counts = (1e6 / np.arange(1, 1002)).astype(np.int64).tolist()
    limited = LimitedDomain(k=10, kbar=1000, epsilon=1, delta=Fraction(1, 10**6), neighbors=ONE)
    yield "askew: LimitedDomain kbar 1000", lambda: limited.select_from_top(ids, counts, bits=BITS)


def report(title: str, rows: Iterator[Row]) -> None:
    print(f"\n{title}")
    for name, run in rows:
        print(f"  {name:32}{milliseconds(run):10.2f} ms{peak_megabytes(run):9.1f} MB")


def main(paths: list[str]) -> None:
    for path in paths:
        counts = np.load(path, allow_pickle=False).astype(np.int64)
        for k in (10, 100, 1000):
            report(f"{Path(path).stem}: d={len(counts):,} k={k}", of_size(counts, k))
    report("Zipf: d=10,000 k=10", of_size(zipf(10_000, 1e5), 10))
    report("Zipf: d=166,000 k=50", of_size(zipf(166_000, 1e6), 50))
    report("Zipf: d=166,000 k=200", of_size(zipf(166_000, 1e6), 200))
    report("Zipf: d=1,000,000 k=100", of_size(zipf(1_000_000, 1e7), 100))
    report("one item of 1,000,000, Zipf", of_one(zipf(1_000_000, 1e7)))
    wide = np.random.default_rng(1).integers(0, 2**40, 1_000_000)
    report("one item of 1,000,000, all counts distinct", of_one(wide))
    report("an engine's top 1,001", of_engine())


if __name__ == "__main__":
    main(sys.argv[1:])
