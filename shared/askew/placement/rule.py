"""`place`: the best placement known here for a noise law, a disutility and k."""

from __future__ import annotations

from askew.errors import ParameterError
from askew.placement import grid, line
from askew.placement.problem import Identity, Laplace, Placement, check_k


def place(noise: Laplace, disutility: Identity, k: int) -> Placement:
    """The k offsets of least expected cost: exact on the line, the best product grid beyond it.

    A grid may have fewer than k points. O(k) on the line.
    Raises ParameterError for k < 1 or another disutility.
    """
    check_k(k)
    if not isinstance(disutility, Identity):
        raise ParameterError("disutility", disutility, "Identity()")
    if noise.dimension == 1:
        return Placement(
            line.offsets(noise.epsilon, k), line.cost(noise.epsilon, k), "closed form, exact"
        )
    factors = grid.best_factors(k, noise.dimension)
    shape = " x ".join(str(count) for count in factors if count > 1) or "1"
    return Placement(
        grid.offsets(noise.epsilon, factors),
        grid.cost(noise.epsilon, factors),
        f"product grid {shape}, the best of its kind",
    )
