"""Laplace noise on the line, any increasing h: a recurrence of monotone roots, exact for every k.

At unit epsilon, with A(s) = int_0^s e^-t dh(t) and G(s) = int_0^s e^t dh(t):

    D_1 = A(infinity),  sigma_m = G^{-1}(D_m),  D_{m+1} = A(sigma_m)
    odd  k = 2b - 1: cost D_b, gaps 2 sigma_{b-1}, .., 2 sigma_1 outward from 0
    even k = 2m:     cost h(sigma_m), first points at +-sigma_m, then gaps 2 sigma_{m-1}, ..,
                     2 sigma_1

D_m is the cost, given that the noise lies beyond a point, of serving that half-line with this point
and m - 1 more. Noise without memory makes every half-line alike, and
d/ds [phi(s) + e^-s D] = e^-s (G(s / 2) - D) changes sign once because G increases, so each root is
the minimum, convex h or not. For a symmetric log-concave density the stationary k-set is unique,
hence symmetric: the result is the global optimum. Source of the odd case: Goel et al., section 3.
O(k); lengths scale as 1 / epsilon.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from askew.placement import line
from askew.placement.answer import Certificate, Placement, check_k
from askew.placement.disutility import (
    Cap,
    Disutility,
    Expm1,
    Identity,
    Log1p,
    Power,
    Saturating,
    Threshold,
)
from askew.placement.increasing import Increasing
from askew.placement.laplace_callable import CallableSteps
from askew.placement.laplace_steps import Step, Steps, steps_of

Array = NDArray[np.float64]

_UNIQUE = "exact: the stationary set of a symmetric log-concave law is unique"


def place_on_laplace_line(epsilon: float, h: Disutility, k: int) -> Placement:
    """The optimum. Raises InfiniteCost where E h(|noise|) is infinite, ParameterError for k < 1."""
    check_k(k)
    # The numbers are those of unit epsilon; h reads its distances in units of 1 / epsilon.
    factor, unit = h.in_units_of(1 / epsilon)
    match unit:
        case Identity() | Power(exponent=1.0):
            return _closed(line.offsets(epsilon, k), line.cost(epsilon, k), "closed form")
        case Cap():
            offsets, cost = _cap(unit.limit, k)
            return _closed(offsets / epsilon, factor * cost, "closed form")
        case Threshold():
            return _closed(_spaced(2 * h.radius, k), math.exp(-k * unit.radius), "closed form")  # type: ignore[attr-defined]
        case Power() | Saturating() | Log1p() | Expm1():
            return _by_recurrence(steps_of(unit), epsilon, factor, k, 0.0)
        case Increasing():
            return _by_recurrence(CallableSteps(unit), epsilon, factor, k, unit.at_zero)
        case _:
            table = CallableSteps(Increasing(unit))
            return _by_recurrence(table, epsilon, factor, k, 0.0)


def _closed(offsets: Array, cost: float, method: str) -> Placement:
    return Placement(offsets, cost, f"{method}, exact", Certificate(cost, 0.0, _UNIQUE))


def _by_recurrence(steps: Steps, epsilon: float, factor: float, k: int, fixed: float) -> Placement:
    taken = _walk(steps, k // 2)
    halves = np.array([step.sigma for step in reversed(taken)])
    if k % 2:
        cost = taken[-1].beyond if taken else steps.total
        outward = 2 * np.cumsum(halves)
        offsets = np.concatenate([-outward[::-1], [0.0], outward])
    else:
        cost = taken[-1].first
        outward = 2 * np.cumsum(halves) - halves[0]
        offsets = np.concatenate([-outward[::-1], outward])
    total = factor * cost + fixed
    residual = _residual(taken, outward) * factor * epsilon
    certificate = Certificate(total, residual, _UNIQUE)
    return Placement(offsets / epsilon, total, "recurrence of monotone roots, exact", certificate)


def _walk(steps: Steps, count: int) -> list[Step]:
    """The first `count` steps of the recurrence."""
    taken: list[Step] = []
    cost = steps.total
    for _ in range(count):
        taken.append(steps.step(cost))
        cost = taken[-1].beyond
    return taken


def _residual(taken: list[Step], outward: Array) -> float:
    """The largest derivative of the cost in one offset: what is left of G(sigma) = D, weighed with
    the density at the offset.
    """
    rest = np.array([abs(step.residual) for step in reversed(taken)])
    return float(np.max(rest * np.exp(-outward) / 2, initial=0.0))


def _cap(limit: float, k: int) -> tuple[Array, float]:
    """h = min(t, c): D_m = 1 / (m - 1 + 1 / (1 - e^-c)) and sigma_m = log(1 + D_m) <= c."""
    m = k // 2
    inverse = np.arange(m, -1, -1) - 1 / math.expm1(-limit)  # 1 / D_{m+1}, .., 1 / D_1
    halves = np.log1p(1 / inverse[1:])
    outward = 2 * np.cumsum(halves)
    if k % 2:
        return np.concatenate([-outward[::-1], [0.0], outward]), float(1 / inverse[0])
    outward -= halves[0]
    return np.concatenate([-outward[::-1], outward]), float(halves[0])


def _spaced(gap: float, k: int) -> Array:
    """k points around 0, `gap` apart: what 1{t > gap / 2} asks for."""
    return np.asarray((np.arange(k) - (k - 1) / 2) * gap, np.float64)
