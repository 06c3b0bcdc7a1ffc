"""g-geographic privacy (appendix A.1): log P_u(S) - log P_v(S) <= g(distance(u, v)).

For convex increasing g with g(0) = 0 only the slope at 0 counts: going from u to v in many small
steps, any such mechanism keeps the loss g'(0) * distance, and Laplace noise of that rate keeps it
too and is optimal. So the problem is the usual one with epsilon = g'(0). A bound that is infinite
beyond some distance buys nothing, for the same reason.

On a lattice of people with spacing D the smallest step is D, so the rate is g(D) / D >= g'(0): less
noise for the same promise. For a g that is not convex, chaining proves less and the optimum is not
known; the rate inf g(t) / t is merely valid, and is refused unless asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.placement.answer import check_positive
from askew.placement.noise import Laplace

Array = NDArray[np.float64]
Bound = Callable[[float], float]

_GRID = np.geomspace(1e-6, 1e3, 400)
_SMALL = (1e-6, 1e-7, 1e-8)
_NOTHING = 1e-7  # what is left of a slope that falls to 0, relative to the first quotient


def noise_for(g: Bound, *, slope: float | None = None, diameter: float | None = None) -> Laplace:
    """The optimal noise on the line for the privacy bound g, to be given to `place`.

    g: loss against distance; may be infinite from some distance on. slope: g'(0) where known, else
    a limit of g(t) / t. diameter: the largest distance between people; for a g that is not convex,
    take the rate inf g(t) / t up to it, which keeps the promise; whether it is optimal is unknown.
    Raises InfiniteCost for g'(0) = 0, ParameterError for g not convex, falling, or g(0) != 0.
    """
    g = _saturated(g)
    values = np.array([g(float(t)) for t in _GRID])
    if g(0.0) != 0 or np.isnan(values).any() or (_falls(values)).any():
        raise ParameterError("g", g, "increasing, with g(0) = 0")
    finite = values[np.isfinite(values)]
    grid = _GRID[: len(finite)]
    if slope is not None and (finite < slope * grid * (1 - 1e-9)).any():
        raise ParameterError("slope", slope, "g'(0), at most g(t) / t")
    rate = _slope_at_zero(g) if slope is None else slope
    if not _convex(grid, finite):
        if diameter is None:
            raise ParameterError("g", g, "convex, or no rate is known to be optimal")
        check_positive("diameter", diameter)
        rate = min(rate, g(diameter) / diameter, *(finite / grid)[grid <= diameter].tolist())
    if not (rate > 0 and isfinite(rate)):
        raise InfiniteCost("g", g, "of positive slope at 0, or no noise is ever enough")
    return Laplace(rate)


def noise_on_lattice(g: Bound, spacing: float) -> Laplace:
    """Noise for people who live on a lattice: rate g(spacing) / spacing, for convex g.

    The optimum among Laplace rates; the lattice itself is the business of the sampler.
    """
    check_positive("spacing", spacing)
    noise_for(lambda t: g(t) + t * 1e-3)  # checks the shape of g; a slope of 0 is fine here
    rate = g(spacing) / spacing
    if not (rate > 0 and isfinite(rate)):
        raise InfiniteCost("g", g, "positive and finite at one spacing")
    return Laplace(rate)


def _saturated(g: Bound) -> Bound:
    def bounded(t: float) -> float:
        try:
            with np.errstate(over="ignore"):
                return g(t)
        except OverflowError:
            return inf

    return bounded


def _slope_at_zero(g: Bound) -> float:
    """The limit of g(t) / t by Aitken's rule, exact for slope * t + c t**p; 0 below rounding."""
    far, near, nearest = (g(t) / t for t in _SMALL)
    if not isfinite(far):
        return 0.0
    before, fall = far - near, near - nearest
    left = fall * fall / (before - fall) if 0 < fall < before else 0.0
    limit = nearest - left
    return limit if limit > _NOTHING * far else 0.0


def _falls(values: Array) -> NDArray[np.bool_]:
    finite = values[np.isfinite(values)]
    gone = np.flatnonzero(~np.isfinite(values))
    late = len(gone) > 0 and gone[0] != len(finite)
    return np.append(np.diff(finite) < -1e-12 * np.abs(finite[1:]), late)


def _convex(grid: Array, values: Array) -> bool:
    rises = np.diff(values) / np.diff(grid)
    return bool((np.diff(rises) >= -1e-7 * np.abs(rises[1:])).all())
