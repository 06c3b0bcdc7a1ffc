"""Is the proposed mechanism the best? Beside the recall of every pure one, on known counts.

    python -m benchmarks.proposals [counts.npy ...]

Logs of 400 to 2,000 users at place 20 are made up, and thinned to 1,000 from the files given. What
is expected of each: the true number of users at place k alone, half of it, twice of it, and the
true counts of the first 2 k places. Printed is how much recall the proposal loses to the best
mechanism. Fails where the first 2 k counts lose more than .05 in more than one case of twenty.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
from benchmarks.selection import Counts, films, zipf

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew_server.release.forecast import Expectation, SimulatedBits, best_of, forecasts
from askew_server.release.selectors import MechanismRequest, specs

K, DRAWS, SHARE = 20, 24, 0.95
EPSILONS = [Fraction(n, 1000) for n in (30, 50, 80, 140, 230, 370, 610, 1000)]
PURE = [name for name, kind in specs().items() if not kind.needs_delta and not kind.needs_bound]


def main(paths: list[str]) -> int:
    losses: dict[str, list[float]] = {}
    for name, counts in logs(paths):
        falling = np.sort(counts)[::-1]
        for epsilon in EPSILONS:
            recalls = {each: recall(each, wish_of(epsilon), falling) for each in PURE}
            for what, expectation in expectations(falling).items():
                found = forecasts(wish_of(epsilon), len(falling), expectation, needs=False)
                best = best_of(found, wish_of(epsilon))
                lost = max(recalls.values()) - recalls[best.mechanism] if best else 1.0
                losses.setdefault(what, []).append(lost)
                if lost > 0.05:
                    print(f"{name} at {float(epsilon):g}, {what}: {lost:.2f} lost", flush=True)
    for what, each in losses.items():
        within = [f"{np.mean(np.array(each) <= most):.0%} within {most}" for most in (0.05, 0.15)]
        print(
            f"{what:16} {len(each)} cases: mean {np.mean(each):.3f}, most {max(each):.2f}, ",
            *within,
        )
    return int(np.mean(np.array(losses["first 2 k counts"]) <= 0.05) < SHARE)


def logs(paths: list[str]) -> Iterator[tuple[str, Counts]]:
    yield "films", thinned(films(), 1000)
    yield "zipf 1", zipf(20_000, 800 * K)
    yield "zipf 1/2", np.floor(1500 * (K / np.arange(1, 5001)) ** 0.5).astype(np.int64)
    yield "flat", np.floor(2000 * (K / np.arange(1, 4001)) ** 0.1).astype(np.int64)
    yield "a step", np.repeat([600, 50], [K, 2000])
    yield "exponential", np.floor(400 * np.exp(1 - np.arange(1, 3001) / K)).astype(np.int64)
    for path in paths:
        yield Path(path).stem, thinned(np.load(path).astype(np.int64), 1000)


def thinned(counts: Counts, users: int) -> Counts:
    """Of so many users at place k, each of the others kept by chance."""
    edge = np.sort(counts)[-K]
    return np.random.default_rng(1).binomial(counts, min(1.0, users / edge))


def expectations(falling: Counts) -> Mapping[str, Expectation]:
    users = int(falling[K - 1])
    counts = tuple(falling[: 2 * K].tolist())
    return {
        "users at place k": Expectation((users,), ""),
        "half of them": Expectation((users // 2,), ""),
        "twice": Expectation((2 * users,), ""),
        "first 2 k counts": Expectation(counts, ""),
    }


def wish_of(epsilon: Fraction) -> MechanismRequest:
    return MechanismRequest(
        k=K,
        epsilon=epsilon,
        delta=Fraction(0),
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=None,
    )


def recall(mechanism: str, wish: MechanismRequest, falling: Counts) -> float:
    """Ties in favor of what is listed."""
    selector, bits = specs()[mechanism].build(wish), SimulatedBits(11)
    lists = [[*selector.select(falling, bits=bits)] for _ in range(DRAWS)]
    return float(np.mean([falling[each] >= falling[K - 1] for each in lists]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
