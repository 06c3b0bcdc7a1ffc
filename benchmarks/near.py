"""What one question near a place costs the server: CPU time of the rules, beside a bare tree query.

    .venv/bin/python benchmarks/near.py         # 10^6 items
    .venv/bin/python benchmarks/near.py 1e7     # and of so many: the peak memory, within 4 GiB

Simulated towns in a country of 900 by 700 km, items around them in any order; 20 results, the
level `town`. The floor of a question is the nearest item of 20 points in a bare k-d tree, and of
the index its tree. Exits 1 beyond a limit.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from benchmarks.results import Result, record
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from askew.dp.privacy import ANY_SPACE
from askew.protocol.metric_card import MetricRuleKind as Kind
from askew.protocol.signal import Signal
from askew.spaces.map import MapNoise, MapSpace, Region
from askew_server.collections.model import Towns
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.density import Density
from askew_server.retrieval.index import MetricIndex, Points

COUNTRY = Region(47.0, 6.0, 55.0, 15.0)
ITEMS, TOWNS, SIGNALS, K = 1_000_000, 5_000, 200, 20
LIMITS = {  # CPU seconds of a start, milliseconds of a question
    "index": 0.7,
    "density": 1.0,
    "codebook": 0.2,
    "items, served": 2.5,
    "posterior, served": 2.5,
}
MEMORY = 4.0  # GiB


def made_towns(rng: np.random.Generator) -> Towns:
    coordinates = [47.0, 6.0] + rng.random((TOWNS, 2)) * [8.0, 9.0]
    return Towns(coordinates, 1_000 * (1 + rng.pareto(1.1, TOWNS)), "simulated")


def around(towns: Towns, count: int, rng: np.random.Generator) -> Points:
    weights = towns.people**0.8
    centers = towns.coordinates[rng.choice(TOWNS, count, p=weights / weights.sum())]
    places = np.clip(centers + rng.normal(scale=0.03, size=(count, 2)), [47, 6], [55, 15])
    return np.asarray(places)


def signals_at(places: Points) -> list[Signal]:
    noise = MapNoise.in_region(Fraction(277, 1000), COUNTRY)
    values = np.rint(places * 1e6).astype(int).tolist()
    return [Signal(ANY_SPACE, noise, (north, east)) for north, east in values]


def cpu_seconds(step: Callable[[], object]) -> float:
    start = time.process_time_ns()
    step()
    return (time.process_time_ns() - start) / 1e9


def median_ms(step: Callable[[Signal], object], signals: list[Signal]) -> float:
    for signal in signals[:20]:
        step(signal)
    return float(np.median([cpu_seconds(partial(step, signal)) for signal in signals])) * 1e3


def told(name: str, spent: float, unit: str, floor: float | None = None) -> bool:
    """Prints one row; whether it keeps its limit."""
    limit = LIMITS.get(name)
    beside = "" if floor is None else f"   floor {floor:.3f}"
    within = limit is None or spent <= limit
    verdict = "" if limit is None else f"   limit {limit:g}" + ("" if within else "   BEYOND")
    print(f"{name:20s} {spent:8.3f} {unit}{beside}{verdict}")
    record(
        Result(
            "near a place",
            name,
            unit,
            spent,
            floor=None if floor is None else ("a search of the tree", floor),
            goal="" if limit is None else f"{limit:g} {unit}",
            met=None if limit is None else within,
        )
    )
    return within


def questions(index: MetricIndex, density: Density, signals: list[Signal]) -> bool:
    frame = index.frame
    points = frame.tree(np.array([frame.aim(signal) for signal in signals]))
    tree = cKDTree(index.points, 32, balanced_tree=False, compact_nodes=False)
    rng = np.random.default_rng(3)
    moved = points[:, None] + rng.normal(scale=5.0, size=(len(points), K, 3))
    number = {id(signal): row for row, signal in enumerate(signals)}
    floor = median_ms(lambda signal: tree.query(moved[number[id(signal)]], [1]), signals)
    rules = {
        "nearest": near_rule_of(Kind.NEAREST, index),
        "codebook": near_rule_of(Kind.CODEBOOK, index),
        "items, served": near_rule_of(Kind.ITEMS, index, served=True),
        "posterior, served": near_rule_of(Kind.POSTERIOR, index, density, served=True),
    }
    kept = [
        told(name, median_ms(partial(rule.choose, k=K), signals), "ms", floor)
        for name, rule in rules.items()
    ]
    return all(kept)


def measured(count: int, rng: np.random.Generator) -> bool:
    towns, space = made_towns(rng), MapSpace(COUNTRY)
    items, signals = around(towns, count, rng), signals_at(around(towns, SIGNALS, rng))
    made: list[MetricIndex] = []
    spent = cpu_seconds(lambda: made.append(MetricIndex(space, items)))
    index = made[0]
    floor = cpu_seconds(lambda: cKDTree(index.points, 32, balanced_tree=False, compact_nodes=False))
    kept = told("index", spent * ITEMS / count, "s for 10^6", floor * ITEMS / count)
    densities: list[Density] = []
    spent = cpu_seconds(lambda: densities.append(Density.of_towns(index.frame, towns, items)))
    kept &= told("density", spent, "s")
    return questions(index, densities[0], signals) and kept


def main() -> None:
    counts = [ITEMS, *(int(float(each)) for each in sys.argv[1:])]
    kept = True
    with threadpool_limits(1):
        for count in counts:
            print(f"{count:,} items, k = {K}, one thread, median of {SIGNALS} questions")
            kept &= measured(count, np.random.default_rng(5))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(f"peak memory          {peak:8.3f} GiB   limit {MEMORY:g}")
            kept &= peak <= MEMORY
    if not kept:
        sys.exit(1)


if __name__ == "__main__":
    main()
