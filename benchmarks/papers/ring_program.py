"""The linear program for people and two results on a circle, an independent check of the optimum.

A mechanism gives a person at u a random pair, P_u(R); it is private when P_u(R) <= e^{epsilon D}
P_v(R) for neighbors u, v at distance D. Averaging over the rotations of the circle keeps privacy
and cost, so P may be taken invariant: a law g over relative positions for each gap of the pair, and
the best single gap is optimal:

    min  sum_i g_i (distance from i to the nearest result)
    s.t. sum_i g_i = 1,  g_i >= 0,  g_i <= e^{epsilon D} g_j for neighbors i, j

solved by HiGHS. At epsilon = 3/8 it converges to the closed form from below: 0.70813, 0.70867,
0.70872, 0.70873 for 64, 200, 400, 800 nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from benchmarks.papers.frame import Floats


@dataclass(frozen=True, eq=False)
class LatticeOptimum:
    """The best noise and two results on a circle of nodes.

    cost: in units of distance. gap: nodes from one result to the other. noise: g on the nodes.
    nodes: their positions as seen from the first result.
    """

    cost: float
    gap: int
    noise: Floats
    nodes: Floats


def on_ring(
    epsilon: float, nodes: int, circumference: float = 2 * math.pi, shift: float = 0.0
) -> LatticeOptimum:
    """Return the optimum for people and two results on `nodes` places; every gap is tried. shift:
    of the people from the places that results may take.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    step, places = circumference / nodes, np.arange(nodes)
    here, there = places, (places + 1) % nodes
    values = np.repeat([1.0, -math.exp(epsilon * step)], 2 * nodes)
    rows = np.tile(np.arange(2 * nodes), 2)
    columns = np.concatenate([here, there, there, here])
    ratios = coo_array((values, (rows, columns)), shape=(2 * nodes, nodes)).tocsr()
    best: LatticeOptimum | None = None
    for gap in range(1, nodes // 2 + 1):
        apart = np.abs(places[:, None] + shift - np.array([0, gap]))
        far = np.minimum(apart, nodes - apart).min(axis=1) * step
        found = linprog(  # type: ignore[call-overload]
            far, A_ub=ratios, b_ub=np.zeros(2 * nodes), A_eq=np.ones((1, nodes)), b_eq=[1.0]
        )
        cost = float(far @ found.x)
        if best is None or cost < best.cost:
            best = LatticeOptimum(
                cost, gap, np.asarray(found.x), np.asarray(places * step, np.float64)
            )
    assert best is not None
    return best
