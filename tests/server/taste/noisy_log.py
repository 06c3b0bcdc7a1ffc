"""A log of made-up people with tastes, and noisy matrices of it."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from mechanisms.streams import ShakeBits
from scipy.sparse import csr_array

from askew.mechanisms.covariance import Matrix, NoisyCovariance, covariance
from askew.spaces.vectors import RatingScale
from askew_server.taste.options import TrainingOptions
from askew_server.taste.private import PrivateParameters

PEOPLE, ITEMS, TASTES = 2000, 120, 5
TIMES = 10  # as if there were so many of each: SIMULATED scale
KEYS = tuple([f"{item:03}" for item in range(ITEMS)])
LAW = NoisyCovariance(Fraction(1), Fraction(1, 10**6))
PARAMETERS = PrivateParameters(
    LAW, RatingScale(1, 5, 4), TrainingOptions(k=4, dimension=2, ranking_dimension=16)
)


@cache
def likes() -> csr_array:
    """Of people who like few or many items, and of items that are liked more or less."""
    rng = np.random.default_rng(5)
    tastes = rng.gamma(0.25, size=(PEOPLE, TASTES))
    items = rng.gamma(0.25, size=(TASTES, ITEMS)) * rng.lognormal(0, 1.6, ITEMS)
    eager = rng.lognormal(0, 0.6, (PEOPLE, 1))
    chances = 4 * eager * tastes @ items
    liked = rng.random((PEOPLE, ITEMS)) < chances / (2 + chances)
    return csr_array(liked.astype(np.float64))


@cache
def exact() -> Matrix:
    """G of them, TIMES over."""
    rows = likes()
    ends = rows.indptr.tolist()
    people = (rows.indices[a:b].tolist() for a, b in pairwise(ends))
    return TIMES * covariance(people, ITEMS)


@cache
def noisy(name: str = "one") -> Matrix:
    """A noisy copy of it, the same for the same name."""
    return LAW.perturb(exact(), bits=ShakeBits(name))
