"""Product grids: independent noise on each axis, l1 disutility, one line of offsets an axis.

The cost separates, sum_j C(k_j) / epsilon with C the cost on the line, so the best grid is the best
way to spend prod_j k_j <= k. C is convex and falling, and every factorization is tried. A baseline:
from three dimensions on, point sets that are no grid do better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from askew.placement import line


def best_factors(k: int, dimension: int) -> tuple[int, ...]:
    """Points on each axis, falling, product at most k, of the least expected cost."""
    return min(_factorizations(k, dimension, k), key=lambda factors: cost(1.0, factors))


def cost(epsilon: float, factors: tuple[int, ...]) -> float:
    """The expected l1 distance from the person to the nearest grid point."""
    return sum(line.cost(epsilon, count) for count in factors)


def offsets(epsilon: float, factors: tuple[int, ...]) -> NDArray[np.float64]:
    """The grid's points, shape (prod factors, d)."""
    axes = [line.offsets(epsilon, count) for count in factors]
    return np.array(list(itertools.product(*axes)))


def _factorizations(k: int, dimension: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Every falling tuple of counts up to `largest` whose product is at most k.

    The last count is as large as it can be, since one more point never costs more.
    """
    if dimension == 1:
        yield (min(k, largest),)
        return
    for first in range(1, min(k, largest) + 1):
        for rest in _factorizations(k // first, dimension - 1, first):
            yield (first, *rest)
