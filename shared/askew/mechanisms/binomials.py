"""Logarithms of binomial coefficients and of sums of runs of them, without cancellation.

    ln C(n, r) = r ln(n / r) + s ln(n / s) + (1/2) ln(n / (2 pi r s)) + c(n) - c(r) - c(s)

with s = n - r and c(x) = ln x! - (x ln x - x + (1/2) ln(2 pi x)), Stirling's remainder. The two
large terms are positive, so nothing is lost: the error is below 2**-48 (ln C(n, r) + 40).
(Differences of ln x! would be off by 1e-9 already at d = 1,000,000.)
"""

from __future__ import annotations

from math import lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_TABLE = np.array(
    [0.0] + [lgamma(x + 1) - (x * log(x) - x + log(2 * pi * x) / 2) for x in range(1, 16)]
)
# A run whose log-ratio is smaller is summed by moments, a larger one by difference.
_NARROW = 0.02
LOG_ERROR = 2.0**-41  # relative to ln C + 40, of `log_runs`


def log_binomials(n: Floats, r: Floats) -> Floats:
    """ln C(n, r) elementwise, for whole numbers 0 <= r <= n held as float64."""
    n, r = np.broadcast_arrays(n, r)
    r = np.minimum(r, n - r)  # so that 1 - r / n does not cancel
    s = n - r
    inner = r > 0
    n, r, s = np.where(inner, n, 2.0), np.where(inner, r, 1.0), np.where(inner, s, 1.0)
    logs = -s * np.log1p(-r / n) + r * np.log(n / r) + np.log(n / (2 * pi * r * s)) / 2
    logs += _remainder(n) - _remainder(r) - _remainder(s)
    return np.where(inner, logs, 0.0)


def _remainder(x: Floats) -> Floats:
    """c(x): a table below 16, four terms of Stirling's series above (the fifth is below 2e-14)."""
    inverse = 1 / np.maximum(x, 16.0)
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    if not len(x) or float(x.min()) >= 16:
        return series
    return np.where(x < 16, _TABLE[np.minimum(x, 15).astype(np.int64)], series)


def log_runs(high: Floats, low: Floats, r: Floats) -> Floats:
    """ln of C(high, r) - C(low, r), which is C(low, r-1) + ... + C(high-1, r-1); r >= 1.

    high > low >= -1 and high >= r, whole numbers held as float64. With R = C(low, r) / C(high, r)
    it is ln C(high, r) + ln(1 - R), and ln R = sum of ln(1 - r / j) over j = low + 1 .. high. Where
    ln R is small, the sum is taken by its central moments (exactly one term for a run of one);
    elsewhere as the difference of the two logarithms. Error below LOG_ERROR (ln C + 40).
    """
    high, low, r = np.broadcast_arrays(high, low, r)
    whole = log_binomials(high, r)
    size, center = high - low, (high + low + 1) / 2
    inside = low >= r
    ratio = np.where(inside, r / center, 0.5)
    narrow = inside & (size * ratio < _NARROW)
    log_ratio = np.full(whole.shape, -np.inf)
    log_ratio[narrow] = _by_moments(size[narrow], center[narrow], r[narrow])
    wide = inside & ~narrow
    if wide.any():
        log_ratio[wide] = log_binomials(low[wide], r[wide]) - whole[wide]
    runs: Floats = whole + np.log(-np.expm1(log_ratio))
    return runs


def _by_moments(size: Floats, center: Floats, r: Floats) -> Floats:
    """Sum of g(j) = ln(1 - r / j) over `size` consecutive j around `center`.

    size g + g'' size (size^2 - 1) / 24 + g'''' size (size^2 - 1) (3 size^2 - 7) / 5760 + ...;
    with size r / center < 0.02 the rest is below 1e-12 of the sum.
    """
    second = 1 / center**2 - 1 / (center - r) ** 2
    fourth = 6 / center**4 - 6 / (center - r) ** 4
    square = size * size
    moments = second * (square - 1) / 24 + fourth * (square - 1) * (3 * square - 7) / 5760
    return size * (np.log1p(-r / center) + moments)
