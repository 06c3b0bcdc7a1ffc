"""How much of the true top 20 a release has, against epsilon, beside peers. Draws docs/recall.svg.

    make bench NAME=recall ARGS=counts.npy     a log of yours: how many people chose each item
    make bench NAME=recall                     made-up films

Means of DRAWS releases of one log, pure epsilon, add or remove one person, ties in favor of what is
listed. Ours is what a server proposes that expects the true number of people at place 20, and
nothing else. Peers: OpenDP's noisy top k, where it is installed, and the exponential mechanism
peeled, plainly on floats. Noise on all counts is left out: it needs every person cut to a few
items, which a file of counts no longer has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks import figures
from benchmarks.baselines import peers
from benchmarks.baselines import selection as plain
from benchmarks.results import Result, record
from benchmarks.selection import Counts, films

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms.kinds import KINDS
from askew_server.release.forecast import SimulatedBits, best_of, forecasts
from askew_server.release.plan import MechanismRequest

EPSILONS = [Fraction(n, 1000) for n in (10, 20, 30, 50, 70, 100, 140, 200, 300, 500, 700, 1000)]
K, DRAWS = 20, 24
Release = Callable[[], Iterable[int]]


def releases(falling: Counts, epsilon: Fraction) -> dict[str, Release]:
    """Return a release of each contender, of counts that fall."""
    wish = MechanismRequest(
        k=K,
        epsilon=epsilon,
        delta=Fraction(0),
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=None,
    )
    expected = (int(falling[K - 1]),)
    best = best_of(forecasts(wish, len(falling), expected, needs=False), wish)
    assert best is not None
    proposed = wish.build(KINDS[best.mechanism])
    peeled = partial(plain.one_shot, falling, K, float(epsilon), np.random.default_rng(1))
    opendp = {"OpenDP": peers.top_k(falling, K, float(epsilon))} if peers.INSTALLED else {}
    ours = partial(proposed.select, falling, bits=SimulatedBits(1))
    return {"Askew": ours, "exponential, peeled": peeled, **opendp}


def thinned(counts: Counts, users: int) -> Counts:
    """Return counts of a sample that has so many users at place k."""
    edge = np.sort(counts)[-K]
    return np.random.default_rng(1).binomial(counts, min(1.0, users / edge))


def main(paths: list[str]) -> None:
    path = Path(paths[0]) if paths else None
    name = path.stem if path else "made-up films"
    counts = np.load(path).astype(np.int64) if path else thinned(films(), 1000)
    falling = np.sort(counts)[::-1]
    lines: dict[str, list[float]] = {}
    for epsilon in EPSILONS:
        for who, release in releases(falling, epsilon).items():
            draws = [[*release()] for _ in range(DRAWS)]
            share = float(np.mean([falling[each] >= falling[K - 1] for each in draws]))
            lines.setdefault(who, []).append(share)
            print(f"epsilon {float(epsilon):g}, {who}: {share:.3f}", flush=True)
            record(Result(f"recall, {name}", f"{who}, {float(epsilon):g}", "of 1", share))
    about = f"{name}, {len(falling):,} items, {falling[K - 1]:,} people at place {K}"
    figures.draw_recall(about, [float(each) for each in EPSILONS], lines)


if __name__ == "__main__":
    main(sys.argv[1:])
