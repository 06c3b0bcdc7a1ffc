"""Selection beside its peers' algorithms, written naively, and beside the physical floor.

    python -m benchmarks.selection [counts.npy ...]

Counts of films are given as a file, or made up in their shape. The floor of a row is what any way
must do at the least: sort the items, or part the highest from the rest. The law of "ours" is exact,
that of the peers is not. Fails where a mechanism takes more than its goal times the floor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Protocol

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from numpy.typing import NDArray

from askew.dp.privacy import ADD_OR_REMOVE_ONE as ONE
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
from askew.noise.randomness import RandomBits, SystemBits

Counts = NDArray[np.int64]
BITS = SystemBits()
TENTH = Fraction(1, 10)


class Selects(Protocol):
    def select(self, counts: Counts, *, bits: RandomBits) -> tuple[int, ...]: ...


def films() -> Counts:
    """17,770 made-up counts that fall as those of rated films do: by a stretched exponential."""
    counts = (97_000 * np.exp(-0.115 * np.arange(1, 17_771) ** 0.45)).astype(np.int64)
    return np.random.default_rng(1).permutation(counts)


def zipf(items: int, highest: float) -> Counts:
    counts = (highest / np.arange(1, items + 1)).astype(np.int64)
    return np.random.default_rng(1).permutation(counts)


def distinct(items: int) -> Counts:
    return np.random.default_rng(1).integers(0, 2**40, items)


def gumbel_max(counts: Counts) -> int:
    """numpy's plain noisy argmax, the usual exponential mechanism."""
    rng = np.random.default_rng()
    return int(np.argmax(counts + rng.gumbel(size=len(counts))))


def peeled_one_shot(counts: NDArray[np.integer] | NDArray[np.float64], k: int) -> NDArray[np.intp]:
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


def beside(
    floor: tuple[str, Work], mechanism: Selects, counts: Counts, peers: Mapping[str, Work]
) -> Mapping[str, Work]:
    """The contenders of a row."""
    ours = {OURS: lambda: mechanism.select(counts, bits=BITS)}
    return {floor[0]: floor[1], **peers, **ours}


def to_argsort(
    name: str, counts: Counts, mechanism: Selects, times: float | None = None, **peers: Work
) -> Row:
    """A mechanism beside a sort of the items by count."""
    floor = ("argsort", lambda: np.argsort(counts))
    named = {peer.replace("_", " "): work for peer, work in peers.items()}
    goal = Goal(times=times, floor="argsort")
    return Row(name, lambda: beside(floor, mechanism, counts, named), goal)


def of_size(counts: Counts, k: int, *, others: bool = True) -> Iterator[Row]:
    """Joint and Canonical, which have goals, and the others, which show what they cost."""
    joint, canonical = (3.5, 6.0) if k <= 200 else (75.0, 20.0)
    peers: dict[str, Work] = {"one_shot_Gumbel": lambda: peeled_one_shot(counts, k)}
    scan: dict[str, Work] = {}
    if len(counts) * k <= 200_000:
        peers["joint_naive"] = lambda: naive_joint(counts, k)
    if len(counts) * k <= 2_000_000:
        scan["canonical_scan"] = lambda: canonical_scan(counts, k)
    made = Joint(k=k, epsilon=1, neighbors=ONE)
    yield to_argsort(f"Joint, k={k}", counts, made, joint, **peers)
    made = Joint(k=k, epsilon=TENTH, neighbors=ONE)
    yield to_argsort(f"Joint, k={k}, epsilon .1", counts, made, joint)
    half = Canonical(k=k, epsilon=1, neighbors=ONE)
    yield to_argsort(f"Canonical 1/2, k={k}", counts, half, canonical, **scan)
    if others:
        yield from without_goals(counts, k)


def without_goals(counts: Counts, k: int) -> Iterator[Row]:
    mechanisms: dict[str, Selects] = {
        "PNFJoint": PNFJoint(k=k, epsilon=1, neighbors=ONE),
        "Canonical 1": Canonical(k=k, epsilon=1, neighbors=ONE, gamma=1),
        "Canonical 1/2, exponential": Canonical(k=k, epsilon=1, neighbors=ONE, noise="exponential"),
        "Peeling": Peeling(k=k, epsilon=1, neighbors=ONE),
        "OneShot, exponential": OneShot(k=k, epsilon=1, neighbors=ONE),
        "LaplaceCounts": LaplaceCounts(k=k, epsilon=1, neighbors=ONE, max_items_per_unit=10),
    }
    for name, mechanism in mechanisms.items():
        yield to_argsort(f"{name}, k={k}", counts, mechanism)


def of_a_million() -> Iterator[Row]:
    """One-shot Gumbel beside a partition of ready noisy scores, one item beside a sort."""
    k = 1000
    shot = OneShot(k=k, epsilon=1, neighbors=ONE, noise="gumbel")
    for kind, counts in (("Zipf", zipf(1_000_000, 1e7)), ("distinct", distinct(1_000_000))):
        yield gumbel_row(f"Gumbel, k={k}, {kind}", counts, shot)
    counts = distinct(1_000_000)
    ones: dict[str, Selects] = {
        "exponential mechanism": Lipschitz(epsilon=1, neighbors=ONE),
        "permute-and-flip": PermuteAndFlip(epsilon=1, neighbors=ONE),
    }
    for name, mechanism in ones.items():
        yield top_one_row(f"{name}, distinct", counts, mechanism)


def gumbel_row(name: str, counts: Counts, mechanism: OneShot) -> Row:
    k = mechanism.k
    noisy = counts / k + np.random.default_rng(2).gumbel(size=len(counts))
    floor = ("argpartition", lambda: np.argpartition(noisy, len(noisy) - k))
    peers: dict[str, Work] = {"one-shot Gumbel": lambda: peeled_one_shot(counts, k)}
    goal = Goal(times=28, floor="argpartition")
    return Row(name, lambda: beside(floor, mechanism, counts, peers), goal)


def top_one_row(name: str, counts: Counts, mechanism: Selects) -> Row:
    floor = ("sort", lambda: np.sort(counts))
    peers: dict[str, Work] = {"numpy Gumbel-max": lambda: gumbel_max(counts)}
    return Row(name, lambda: beside(floor, mechanism, counts, peers), Goal(times=2.5, floor="sort"))


def of_an_engine() -> Iterator[Row]:
    ids, counts = list(range(1001)), (1e6 / np.arange(1, 1002)).astype(np.int64)
    limited = LimitedDomain(k=10, kbar=1000, epsilon=1, delta=Fraction(1, 10**6), neighbors=ONE)
    scores = np.append(counts[:1000], int(counts[1000]) + 1 + 28).astype(np.float64)

    def make() -> Mapping[str, Work]:
        return {
            "floor": lambda: peeled_one_shot(scores, 10),
            OURS: lambda: limited.select_from_top(ids, counts.tolist(), bits=BITS),
        }

    yield Row("LimitedDomain, kbar=1000", make, Goal(milliseconds=1))


def main(paths: list[str]) -> None:
    files = {Path(path).stem: np.load(path, allow_pickle=False).astype(np.int64) for path in paths}
    kept = []
    for name, counts in (files or {"made-up films": films()}).items():
        for k in (10, 100, 200, 1000):
            rows = of_size(counts, k, others=k != 200)
            kept.append(run(f"{name}: d={len(counts):,} k={k}", rows))
    big = zipf(166_000, 1e6)
    for k in (10, 100, 200):
        kept.append(run(f"Zipf: d=166,000 k={k}", of_size(big, k, others=False)))
    kept.append(run("d=1,000,000", of_a_million()))
    kept.append(run("an engine's top 1,001", of_an_engine()))
    finish(kept)


if __name__ == "__main__":
    main(sys.argv[1:])
