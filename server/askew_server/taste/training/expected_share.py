"""How good a private model will be, from public numbers alone, before anything is spent.

One number decides: how far people's likes rise above the noise,

    x = N / (sigma sqrt(n))     N people, n items of the catalog, noise sigma of one entry

since eigenvalues of the likes grow with N and those of the noise are below 2 sigma sqrt(n). On
MovieLens 1M, with 1,500 and 3,000 items, epsilon from 1 to 8 and people multiplied, the share that
is left of the NDCG@10 of the same model without noise followed x alone, within .02. On that log,
MovieLens 100K and its latest small one, over 72 numbers of people and epsilons, a model was worse
than a list of what is popular below x of 15, about as good up to 28, and better everywhere from 30
on: by a third at 50, by six tenths at 100.

It is a rule of thumb of logs of films: other people may agree more, or less.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

import numpy as np

from askew.dp.composition import concentrated_epsilon
from askew.mechanisms.covariance import NoisyCovariance

_RISES = (30.0, 38.0, 70.0, 131.0, 189.0, 236.0, 379.0, 1023.0, 3790.0)  # x
_SHARES = (0.47, 0.53, 0.66, 0.77, 0.81, 0.85, 0.89, 0.96, 0.99)
WORTH_HAVING = _RISES[0]
GOOD = 379.0
"""x from which a model keeps about nine tenths."""


def expected_share(noise: NoisyCovariance, items: int, people: int) -> float | None:
    """Return the share of the NDCG@10 without noise that a model keeps, from .47 to .99; None where
    x is below 30 and a list of what is popular does better.
    """
    rise = people / (noise.sigma * sqrt(items))
    if rise < WORTH_HAVING:
        return None
    return float(np.interp(np.log(rise), np.log(_RISES), _SHARES))


def people_for(noise: NoisyCovariance, items: int, rise: float) -> int:
    """Return how many people, rounded up, make x = N / (sigma sqrt(items)) as large as `rise`."""
    return ceil(rise * noise.sigma * sqrt(items))


def epsilon_for(delta: Fraction, items: int, people: int, rise: float) -> float:
    """Return the epsilon at which so many people make x = N / (sigma sqrt(items)) as large as
    `rise`, with this delta.
    """
    sigma = people / (rise * sqrt(items))
    return float(concentrated_epsilon(Fraction(1 / (4 * sigma**2)), delta))
