"""Selection beside the papers' algorithms and OpenDP's, and beside the physical floor.

    python -m benchmarks.selection [counts.npy ...] [1e7]

Counts of films are given as files, or made up in their shape; a number adds rows of so many items.
The floor of a row is what any way must do at the least: sort the items, or part the
highest from the rest. The law of "ours" and of OpenDP is exact, that of the papers' algorithms with
numpy's floats is not. Fails where a mechanism takes more than its goal times the floor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from benchmarks.baselines import peers as peer
from benchmarks.baselines import selection as plain
from benchmarks.results import Result, record
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from numpy.typing import NDArray

from askew.dp.privacy import ADD_OR_REMOVE_ONE as ONE
from askew.mechanisms import (
    Canonical,
    Joint,
    LimitedDomain,
    Lipschitz,
    OneShot,
    PermuteAndFlip,
)
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomness import RandomBits, SystemBits

Counts = NDArray[np.int64]
BITS = SystemBits()
DELTA = Fraction(1, 10**6)
KBAR = 1000
OPENDP = "OpenDP"


class Selects(Protocol):
    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]: ...


def films() -> Counts:
    counts = (97_000 * np.exp(-0.115 * np.arange(1, 17_771) ** 0.45)).astype(np.int64)
    return np.random.default_rng(1).permutation(counts)


def zipf(items: int, highest: float) -> Counts:
    counts = (highest / np.arange(1, items + 1)).astype(np.int64)
    return np.random.default_rng(1).permutation(counts)


def distinct(items: int) -> Counts:
    return np.random.default_rng(1).integers(0, 2**40, items)


def gumbel_max(counts: Counts) -> int:
    rng = np.random.default_rng()
    return int(np.argmax(counts + rng.gumbel(size=len(counts))))


def beside(
    name: str, counts: Counts, mechanism: Selects, goal: Goal, peers: Mapping[str, Work]
) -> Row:
    """Return the row of a mechanism beside peers; of those is the floor, if it is not argsort."""
    works: dict[str, Work] = dict(peers)
    if goal.floor == "argsort":
        works["argsort"] = lambda: np.argsort(counts)
    works[OURS] = lambda: mechanism.select(counts, bits=BITS)
    return Row(name, lambda: works, goal)


def sorting(times: float) -> Goal:
    return Goal(times=times, floor="argsort")


def of_size(counts: Counts, k: int) -> Iterator[Row]:
    rng, dk = np.random.default_rng(1), len(counts) * k
    most = (1.5, 1.5) if k <= 200 else (8.0, 4.0) if len(counts) < 100_000 else (4.0, 4.0)
    peers: dict[str, Work] = {}
    if dk <= 4_000_000:  # beyond, it sorts d k losses in gigabytes
        peers["paper"] = lambda: plain.joint(counts, k, 1.0, rng)
    if k <= 200:  # beyond, a table of k^2 ln d numbers
        peers["FastJoint"] = lambda: plain.fast_joint(counts, k, 1.0, rng)
    joint = Joint(k=k, epsilon=1, neighbors=ONE)
    yield beside(f"Joint, k={k}", counts, joint, sorting(most[0]), peers)
    peers = {"paper": lambda: plain.canonical(counts, k, 1.0, rng)} if dk <= 20_000_000 else {}
    half = Canonical(k=k, epsilon=1, neighbors=ONE)
    yield beside(f"Canonical 1/2, k={k}", counts, half, sorting(most[1]), peers)


def of_films(counts: Counts) -> Iterator[Row]:
    rng = np.random.default_rng(1)
    for k in (10, 100, 200, 1000):
        yield from of_size(counts, k)
    for k in (10, 100, 1000):
        flips = partial(plain.permute_and_flip, counts, k, 1.0, rng)
        peers: dict[str, Work] = {"paper": flips}
        if peer.INSTALLED and k <= 100:
            peers[OPENDP] = peer.top_k(counts, k, 1.0)
        flip = PermuteAndFlip(k=k, epsilon=1, neighbors=ONE)
        yield beside(f"permute-and-flip, k={k}", counts, flip, Goal(times=1, floor="paper"), peers)
    k = 1000
    shot = OneShot(k=k, epsilon=1, neighbors=ONE, noise="gumbel")
    peers = {"paper": lambda: plain.one_shot(counts, k, 1.0, rng)}
    yield beside(f"one-shot Gumbel, k={k}", counts, shot, sorting(6), peers)
    limited = LimitedDomain(k=k, kbar=KBAR, epsilon=1, delta=DELTA, neighbors=ONE)
    peers = {"paper": lambda: plain.limited_domain(counts, k, 1.0, rng, (KBAR, float(DELTA)))}
    yield beside(f"LimitedDomain of 1,000, k={k}", counts, limited, sorting(10), peers)


def of_a_million(most: int) -> Iterator[Row]:
    k, rng = 1000, np.random.default_rng(1)
    shot = OneShot(k=k, epsilon=1, neighbors=ONE, noise="gumbel")
    logs = [("Zipf", zipf(1_000_000, 1e7), 28.0), ("distinct", distinct(1_000_000), 28.0)]
    if most > 1_000_000:
        logs.append((f"Zipf, d={most:,}", zipf(most, 10.0 * most), 1.5))
    for name, counts, times in logs:
        noisy = counts / k + np.random.default_rng(2).gumbel(size=len(counts))
        peers: dict[str, Work] = {
            "argpartition": partial(np.argpartition, noisy, len(noisy) - k),
            "paper": partial(plain.one_shot, counts, k, 1.0, rng),
        }
        yield beside(
            f"Gumbel, k={k}, {name}", counts, shot, Goal(times=times, floor="argpartition"), peers
        )
    counts = distinct(1_000_000)
    peers = {"sort": lambda: np.sort(counts), "numpy Gumbel-max": lambda: gumbel_max(counts)}
    goal = Goal(times=2.5, floor="sort")
    exponential, flip = (kind(epsilon=1, neighbors=ONE) for kind in (Lipschitz, PermuteAndFlip))
    yield beside("exponential mechanism, distinct", counts, exponential, goal, peers)
    yield beside("permute-and-flip, distinct", counts, flip, goal, peers)


def of_flat_counts(most: int) -> Iterator[Row]:
    """Counts 0 to 3: of a few groups, each of a fourth of the items."""
    for items in (1_000_000, *([most] if most > 1_000_000 else [])):
        counts = np.random.default_rng(1).integers(0, 4, items)
        half = Canonical(k=100, epsilon=1, neighbors=ONE)
        yield beside(f"Canonical 1/2, counts 0 to 3, d={items:,}", counts, half, sorting(2), {})


def of_an_engine() -> Iterator[Row]:
    ids, counts = list(range(1001)), (1e6 / np.arange(1, 1002)).astype(np.int64)
    limited = LimitedDomain(k=10, kbar=KBAR, epsilon=1, delta=DELTA, neighbors=ONE)
    rng = np.random.default_rng(1)

    def make() -> Mapping[str, Work]:
        return {
            "paper": lambda: plain.limited_domain(counts, 10, 1.0, rng, (KBAR, float(DELTA))),
            OURS: lambda: limited.select_from_top(ids, counts.tolist(), bits=BITS),
        }

    goal = Goal(milliseconds=1, floor="paper")
    yield Row("LimitedDomain, kbar=1000", make, goal)


def noise() -> Iterator[Row]:
    law = LatticeLaplace.for_epsilon(Fraction(1)).noise
    coins = 2 * 32 * (law.levels + 1)

    def make() -> Mapping[str, Work]:
        peers = {OPENDP: peer.noise([0] * 32, float(law.inverse_rate))} if peer.INSTALLED else {}
        return {
            "urandom": lambda: os.urandom(16 * coins),
            **peers,
            OURS: lambda: law.draw(32, BITS),
        }

    goal = Goal(times=0.7, floor=OPENDP) if peer.INSTALLED else Goal(floor="urandom")
    yield Row("32 coordinates", make, goal, rounds=21)


def main(arguments: list[str]) -> None:
    most = max([int(float(each)) for each in arguments if not each.endswith(".npy")], default=0)
    paths = [each for each in arguments if each.endswith(".npy")]
    files = {Path(path).stem: np.load(path, allow_pickle=False).astype(np.int64) for path in paths}
    if not peer.INSTALLED:
        print(peer.MISSING)
        record(Result("peers", "OpenDP", note=peer.MISSING))
    kept = []
    for name, counts in (files or {"made-up films": films()}).items():
        kept.append(run(f"{name}, d={len(counts):,}", of_films(counts)))
    big = zipf(166_000, 1e6)
    kept.append(run("Zipf, d=166,000", [row for k in (10, 100, 200) for row in of_size(big, k)]))
    kept.append(run("Zipf, d=100,000", of_size(zipf(100_000, 1e6), 1000)))
    kept.append(run("d=1,000,000", of_a_million(most)))
    kept.append(run("flat counts", of_flat_counts(most)))
    kept.append(run("an engine's top 1,001", of_an_engine()))
    kept.append(run("noise of a signal", noise()))
    finish(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
