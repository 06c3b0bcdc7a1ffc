"""Laplace noise on the line, h(t) = t: closed forms, exact for every k.

Points are quantiles of a Laplace law of half the rate (density proportional to sqrt(f)). With
gaps outward from the middle,

    odd  k = 2b - 1:  0 and +-y_i,  y_i = (2 / epsilon) ln(b / (b - i)),            i = 1..b-1
                      cost 1 / (b epsilon)
    even k = 2m:      +-y_i,        y_i = (1 / epsilon) ln(m (m + 1) / (m + 1 - i)**2),  i = 1..m
                      cost ln(1 + 1 / m) / epsilon

Source: Goel et al., section 3 (odd k); the even case solves the first cell, int_0^s (s - t) e^-t dt
+ e^-s D_m, at e^s = 1 + 1 / m, and continues with the odd recurrence. O(k).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from askew.placement.answer import check_k


def offsets(epsilon: float, k: int) -> NDArray[np.float64]:
    """The optimal offsets, ascending, shape (k,), in units of distance."""
    check_k(k)
    half = (k + 1) // 2
    i = np.arange(1, k // 2 + 1, dtype=np.float64)
    if k % 2:
        outward = -2 * np.log1p(-i / half) / epsilon
        return np.concatenate([-outward[::-1], [0.0], outward])
    # ln(m (m + 1) / (m + 1 - i)**2), in terms that keep full precision for every i.
    outward = (np.log1p(1 / half) - 2 * np.log1p(-(i - 1) / half)) / epsilon
    return np.concatenate([-outward[::-1], outward])


def cost(epsilon: float, k: int) -> float:
    """The expected distance from the person to the nearest of the k results."""
    check_k(k)
    if k % 2:
        return 2 / ((k + 1) * epsilon)
    return math.log1p(2 / k) / epsilon
