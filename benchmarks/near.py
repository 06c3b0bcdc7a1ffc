"""What one question near a place costs the server: CPU time of the rules, beside a bare tree query.

    .venv/bin/python -m benchmarks.near         # 10^6 items
    .venv/bin/python -m benchmarks.near 1e7     # and of so many: the peak memory, within 4 GiB

Simulated towns in a country of 900 by 700 km, items around them in any order; 20 results, the
level `town`. The floor of a question is the nearest item of 20 points in a bare k-d tree, and of
the index its tree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import cycle

import numpy as np
from benchmarks.rows import OURS, Goal, Row, Work, finish, run
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from askew.dp.privacy import ANY_SPACE
from askew.protocol.cards import MetricRuleKind as Kind
from askew.protocol.signal import Signal
from askew.spaces.map import MapNoise, MapSpace, Region
from askew_server.collections.model import Towns
from askew_server.retrieval.answers import near_rule_of
from askew_server.retrieval.density import Density
from askew_server.retrieval.index import MetricIndex, Points
from askew_server.retrieval.rules import NearRule

COUNTRY = Region(47.0, 6.0, 55.0, 15.0)
ITEMS, TOWNS, SIGNALS, K = 1_000_000, 5_000, 200, 20
MEMORY = 4295.0  # megabytes: 4 GiB
TREE, SEARCH = "its tree", "a search of the tree"


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


def contenders(
    tree: cKDTree, moved: NDArray[np.float64], rule: NearRule, signals: Sequence[Signal]
) -> Mapping[str, Work]:
    """Return a search and a choice, of the next signal at each call."""
    points, asked = cycle(moved), cycle(signals)
    return {
        SEARCH: lambda: tree.query(next(points), [1]),
        OURS: lambda: rule.choose(next(asked), k=K),
    }


def rows_of(count: int) -> Iterator[Row]:
    rng = np.random.default_rng(5)
    towns, space = made_towns(rng), MapSpace(COUNTRY)
    items, signals = around(towns, count, rng), signals_at(around(towns, SIGNALS, rng))
    index = MetricIndex(space, items)
    goal = partial(Goal, megabytes=MEMORY if count > ITEMS else None)

    def tree() -> cKDTree:
        return cKDTree(index.points, 32, balanced_tree=False, compact_nodes=False)

    def indexed() -> Mapping[str, Work]:
        return {TREE: tree, OURS: lambda: MetricIndex(space, items)}

    yield Row("index", indexed, goal(milliseconds=700 * count / ITEMS, floor=TREE), rounds=3)
    density = partial(Density.of_towns, index.frame, towns, items)
    yield Row("density", lambda: {OURS: density}, goal(milliseconds=1000), rounds=3)
    frame = index.frame
    points = frame.tree(np.array([frame.aim(signal) for signal in signals]))
    moved = points[:, None] + np.random.default_rng(3).normal(scale=5.0, size=(SIGNALS, K, 3))
    rules = (
        ("codebook", near_rule_of(Kind.CODEBOOK, index), 0.2),
        ("items, served", near_rule_of(Kind.ITEMS, index, served=True), 2.5),
        ("posterior, served", near_rule_of(Kind.POSTERIOR, index, density(), served=True), 2.5),
    )
    for name, rule, most in rules:
        make = partial(contenders, tree(), moved, rule, signals)
        yield Row(name, make, goal(milliseconds=most, floor=SEARCH), rounds=21)


if __name__ == "__main__":
    counts = [ITEMS, *(int(float(each)) for each in sys.argv[1:])]
    finish(
        run("near a place" if count == ITEMS else f"near a place, {count:,} items", rows_of(count))
        for count in counts
    )
