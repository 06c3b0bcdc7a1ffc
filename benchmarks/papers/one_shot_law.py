"""The exact probability that one-shot selection is good: one integral over a threshold.

Noise is added to each count once and the k highest are selected. The selection holds the best
`must` items and none beyond rank `within` exactly when there is a threshold z with all must-items
above it, exactly k - must of the items between above it, and all others below it. Let W be the
highest noisy count that is not selected. Then

    P = integral of S_A(z) * ( dF_C(z) P(N_B(z) = r) + F_C(z) dP(N_B(z) <= r) ),    r = k - must

A: ranks 1..must, B: must+1..within, C: the others; S_A: all of A above z; F_C: all of C below; N_B:
how many of B are above, a sum of independent coins. W is an item of C in the first term and of B in
the second. The integral is a trapezoid sum over z where W can be, to 1e-12 of its law.

Peeling with Gumbel noise selects as one shot does (Durfee, Rogers 2019, Lemma 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from benchmarks.papers.frame import Counts, Floats

_NEAR = 40.0  # noise units: no noise is further from 0, to e^-40
_FAR = 8.0


_BLOCK = 100_000  # terms at a time


@dataclass(frozen=True)
class Noise:
    """ln P(Z < z) and ln P(Z > z) of one unit of noise; both accurate in their tails.

    series: a_1, a_2, a_3 of ln P(Z < z) = -a_1 e^-z - a_2 e^-2z - a_3 e^-3z - .. for large z.
    """

    log_below: Callable[[Floats], Floats]
    log_above: Callable[[Floats], Floats]
    series: tuple[float, float, float]


def _log1mexp(x: Floats) -> Floats:
    """ln(1 - e^x) for x <= 0."""
    with np.errstate(divide="ignore"):
        found: Floats = np.where(
            x > -0.6931, np.log(-np.expm1(np.minimum(x, 0))), np.log1p(-np.exp(np.minimum(x, 0)))
        )
    return found


def _gumbel_above(z: Floats) -> Floats:
    return _log1mexp(_gumbel_below(z))


def _gumbel_below(z: Floats) -> Floats:
    found: Floats = -np.exp(np.minimum(-z, 700.0))
    return found


def _exponential_below(z: Floats) -> Floats:
    return np.where(z > 0, _log1mexp(-np.maximum(z, 0)), -np.inf)


def _half_logistic_above(z: Floats) -> Floats:
    z = np.maximum(z, 0)
    found: Floats = np.log(2.0) - z - np.log1p(np.exp(-z))
    return found


def _laplace_above(z: Floats) -> Floats:
    log_far = -np.abs(z) - np.log(2.0)
    found: Floats = np.where(z > 0, log_far, np.log1p(-np.exp(log_far)))
    return found


NOISES: Mapping[str, Noise] = {
    "exponential": Noise(_exponential_below, lambda z: -np.maximum(z, 0), (1, 1 / 2, 1 / 3)),
    "half-logistic": Noise(
        lambda z: np.where(z > 0, _log1mexp(_half_logistic_above(z)), -np.inf),
        _half_logistic_above,
        (2, 0, 2 / 3),
    ),
    "logistic": Noise(
        lambda z: -np.logaddexp(0, -z), lambda z: -np.logaddexp(0, z), (1, -1 / 2, 1 / 3)
    ),
    "Gumbel": Noise(_gumbel_below, _gumbel_above, (1, 0, 0)),
    "Laplace": Noise(lambda z: _laplace_above(-z), _laplace_above, (1 / 2, 1 / 8, 1 / 24)),
}


@dataclass(frozen=True)
class OneShotLaw:
    """One-shot selection of k, from counts in falling order; rates are noise units a count."""

    falling: Counts
    k: int
    noise: Noise
    points: int = 800

    def probability(self, rate: float, must: int, within: int) -> float:
        """Return P(the best `must` are selected, and none beyond rank `within`)."""
        y = (self.falling - self.falling[self.k - 1]) * rate
        a, b, c = y[:must], y[must:within], y[within:]
        r = self.k - must
        grid = self._grid(b, c, r)
        above = _summed(self.noise.log_above, a, grid)
        below = np.exp(self._log_below(c, grid))
        few, exactly = self._coins(b, grid, r)
        at = np.exp(above)
        middle = (at[1:] + at[:-1]) / 2
        of_c = np.diff(below) * (exactly[1:] + exactly[:-1]) / 2
        of_b = np.diff(few) * (below[1:] + below[:-1]) / 2
        return float(np.clip((middle * (of_c + of_b)).sum(), 0, 1))

    def _log_below(self, c: Floats, grid: Floats) -> Floats:
        """By the series where all of the grid is far above an item: an error below e^-32 each."""
        far = c < grid[0] - _FAR
        found = _summed(self.noise.log_below, c[~far], grid)
        for power, factor in enumerate(self.noise.series, start=1):
            if factor and far.any():
                weight = np.exp(power * (c[far] - grid[0])).sum()
                found -= factor * weight * np.exp(-power * (grid - grid[0]))
        return found

    def _coins(self, b: Floats, grid: Floats, r: int) -> tuple[Floats, Floats]:
        """P(at most r of B are above z), and P(exactly r)."""
        law = np.zeros((r + 1, len(grid)))
        law[0] = 1.0
        for each in b:
            up = np.exp(self.noise.log_above(grid - each))
            law[1:] = law[1:] * (1 - up) + law[:-1] * up
            law[0] *= 1 - up
        return law.sum(axis=0), law[r]

    def _grid(self, b: Floats, c: Floats, r: int) -> Floats:
        """Where P(W < z) rises from 1e-12 to 1 - 1e-12."""
        coarse = np.linspace(-_NEAR, _NEAR, 121)
        highest = np.concatenate((b[r : r + 1], c[:1]))
        around = coarse + (highest.max() if len(highest) else 0.0)
        law = np.exp(self._log_below(c, around)) * self._coins(b, around, r)[0]
        inside = np.flatnonzero((law > 1e-12) & (law < 1 - 1e-12))
        if not len(inside):
            return around
        low, high = max(inside[0] - 1, 0), min(inside[-1] + 1, len(around) - 1)
        return np.linspace(around[low], around[high], self.points)


def _summed(logs: Callable[[Floats], Floats], items: Floats, grid: Floats) -> Floats:
    """For each z the sum of the logarithms of all items; equal items are looked at once."""
    values, sizes = np.unique(items, return_counts=True)
    parts = np.array_split(grid[:, None], -(-len(grid) * (len(values) + 1) // _BLOCK))
    found: Floats = np.concatenate([logs(part - values) @ sizes for part in parts])
    return found
