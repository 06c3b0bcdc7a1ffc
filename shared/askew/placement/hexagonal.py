"""Results on a map: k offsets in kilometers for the hexagonal noise and the straight-line distance.

The law is that of `askew.noise.hexagonal` as its lattice becomes fine. With w_1, .., w_6 the
neighbors of zero in units of a step, N the norm whose unit ball is their hexagon and g = 1.1545 its
gauge,

    density  epsilon**2 / (5.2 g**2) exp(-epsilon N(x) / g),   5.2 = twice the hexagon's area,
    a draw   (E_1 w_m + E_2 w_(m+1)) g / epsilon,   m a fair die, E_1 and E_2 exponential
    k = 1    E |x| = 2 g / epsilon * the mean of |w| along the hexagon's edges

A device's lattice has q >= 1024, whose steps and rounding add less than .1 % to the distances; what
its rounding to a grain adds stands in docs/places.md. Lengths scale as 1 / epsilon.

Codebooks of k = 2..64 points are shipped, fitted by Lloyd's iteration to the mean distance, each
with that mean on fresh draws; `benchmarks/fit_codebooks.py` computed them from fixed seeds. No
optimum is known for k >= 2. Lower bound: k balls of radius t hold at most the mass of the likeliest
region of their area, a hexagon (see `rule`). Numpy only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.noise.hexagonal import GAUGE, NEIGHBORS, RISE
from askew.placement.codebook import Codebook, Points, assign, packaged
from askew.placement.laplace_line import place_on_laplace_line
from askew.placement.problem import (
    Certificate,
    Disutility,
    Identity,
    Increasing,
    Placement,
    check_k,
    check_positive,
    disutility_of,
    in_units_of_noise,
)
from askew.placement.rule import volume_bound

Array = NDArray[np.float64]

FILE = "hexagonal.npz"
LARGEST = 64  # shipped
_SEED = 20261122
_FRESH = 60_000
_KEPT = 64
_GAUGE = float(GAUGE)
_AREA = 3 * float(RISE)  # of the hexagon: six triangles of base 1
_CLAIM = "a volume bound: k balls hold at most the likeliest region of their area, a hexagon"


def place_on_map(
    epsilon: float, k: int, h: Disutility | Callable[..., Any] | None = None
) -> Placement:
    """Place at most k offsets (k, 2) in kilometers of the device's plane, nearest first.

    epsilon: per straight-line kilometer. h: of the straight-line distance, default h(t) = t; for
    another, the cost of the same offsets is measured. For k > 64 there are 64 offsets. Raises
    InfiniteCost for an h of infinite cost, ParameterError for an epsilon or a k that is not
    positive.
    """
    check_k(k)
    check_positive("epsilon", epsilon)
    h = Identity() if h is None else disutility_of(h)
    factor, unit = in_units_of_noise(h, epsilon)
    corner = float(np.hypot(*_corners().T).max())  # along it the tail is the heaviest
    place_on_laplace_line(1 / (_GAUGE * corner), unit, 1)  # raises where it is too heavy
    size = min(int(k), LARGEST)
    book = _shipped(size) if isinstance(unit, Identity) else _measured(size, unit)
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    bound = factor * min(lower_bound(int(k), unit), book.cost) + fixed
    return Placement(
        book.points / epsilon,
        factor * book.cost + fixed,
        f"Lloyd codebook of {len(book.points)} points for hexagonal noise, {book.origin}",
        Certificate(bound, math.nan, _CLAIM),
        factor * book.standard_error,
    )


def sample(count: int, generator: np.random.Generator) -> Points:
    """Draw `count` of hexagonal noise at epsilon 1, float32 (count, 2), for simulation only."""
    corners = _corners()
    side = generator.integers(6, size=count)
    along, across = generator.exponential(_GAUGE, size=(2, count, 1))
    drawn: Array = along * corners[side] + across * corners[(side + 1) % 6]
    return drawn.astype(np.float32)


def mean_distance() -> float:
    """Return E |x| at unit epsilon: the mean distance from the signal to the person."""
    corners = _corners()
    edges = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    return 2 * _GAUGE * float(np.mean([_mean_length(a, b) for a, b in edges]))


def lower_bound(k: int, h: Disutility) -> float:
    """Return a cost under h at unit epsilon that no k points go below."""
    return volume_bound(2, math.log(k * math.pi / (_AREA * _GAUGE**2)) / 2, h)


def expected_cost(points: Array, h: Disutility, draws: Points) -> tuple[float, float]:
    """Return the mean of h(min_i |x - a_i|) over draws x of points a_i, and its standard error."""
    far = assign(draws, points.astype(np.float32), "l2")[1]
    costs = h(far.astype(np.float64))
    return float(costs.mean()), float(costs.std() / math.sqrt(len(costs)))


def _shipped(k: int) -> Codebook:
    if k == 1:
        return Codebook(np.zeros((1, 2)), mean_distance(), 0.0, "shipped")
    return _library()[k]


@lru_cache(maxsize=_KEPT)
def _measured(k: int, h: Disutility) -> Codebook:
    points = _shipped(k).points
    return Codebook(points, *expected_cost(points, h, _fresh()), "shipped for h(t) = t")


@lru_cache(maxsize=1)
def _fresh() -> Points:
    return sample(_FRESH, np.random.default_rng([_SEED, 0]))


@lru_cache(maxsize=1)
def _library() -> Mapping[int, Codebook]:
    return MappingProxyType({k: book for (_, _, k), book in packaged(FILE).items()})


def _corners() -> Array:
    # The six neighbors of zero, (6, 2), in steps: (1, 0), (1/2, 13/15) and so on.
    lattice = np.array(NEIGHBORS, dtype=np.float64)
    return np.column_stack([lattice[:, 0] - lattice[:, 1] / 2, float(RISE) * lattice[:, 1]])


def _mean_length(a: Array, b: Array) -> float:
    # Of |w| along the segment from a to b, on a line that misses zero.
    along = (b - a) / np.hypot(*(b - a))
    off = abs(float(a[0] * along[1] - a[1] * along[0]))
    ends = np.array([a @ along, b @ along])
    integral = (ends * np.hypot(ends, off) + off**2 * np.arcsinh(ends / off)) / 2
    return float((integral[1] - integral[0]) / (ends[1] - ends[0]))
