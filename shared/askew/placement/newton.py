"""Newton for points on a line that keep their order: the cost never rises, no two points meet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from askew.placement.cells import Gradient

Array = NDArray[np.float64]
CostOf = Callable[[Array], float]
GradientOf = Callable[[Array], Gradient]

_TURNS = 100
_STEP = 1e-13  # relative to the unit of the noise
_DAMPING = (0.0, *10.0 ** np.arange(-3.0, 6.0))
_PARTS = (1.0, 0.5, 0.25)


def descend(
    points: Array,
    cost_of: CostOf,
    gradient_of: GradientOf,
    *,
    unit: float,
    least: float = -np.inf,
) -> Array:
    """A local minimum near ascending points, all above `least`. O(n) a turn beside the calls."""
    cost = cost_of(points)
    for _ in range(_TURNS):
        moved, cost = _downhill(points, cost, cost_of, gradient_of(points), least)
        length = float(np.abs(moved - points).max())
        points = moved
        if length <= _STEP * unit:
            break
    return points


def _downhill(
    points: Array, cost: float, cost_of: CostOf, gradient: Gradient, least: float
) -> tuple[Array, float]:
    """Newton's step, or one damped by more and more of the identity where the cost is not convex;
    the points as they are if none keeps the order and the cost.
    """
    size = float(np.abs(gradient.diagonal).max()) + 1e-300
    for damping in _DAMPING:
        move = _solved(gradient.diagonal + damping * size, gradient.beside, gradient.value)
        if move is None:
            continue
        for part in _PARTS:
            moved = points - part * move
            if moved[0] <= least or (np.diff(moved) <= 0).any():
                continue
            reached = cost_of(moved)
            # Costs at the optimum agree to rounding while the points still settle.
            if reached <= cost * (1 + 1e-14):
                return moved, reached
    return points, cost


def _solved(diagonal: Array, beside: Array, right: Array) -> Array | None:
    """The solution of a symmetric tridiagonal system, or None where it is not positive."""
    from scipy.linalg.lapack import dptsv

    if len(diagonal) == 1:
        return right / diagonal if diagonal[0] > 0 else None
    _, _, solution, failed = dptsv(diagonal, beside, right)
    return None if failed else np.asarray(solution)
