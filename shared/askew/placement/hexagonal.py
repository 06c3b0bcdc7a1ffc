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
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from askew.noise.hexagonal import GAUGE, NEIGHBORS, RISE
from askew.placement.problem import (
    Certificate,
    Identity,
    Placement,
    check_k,
    check_positive,
)
from askew.placement.rule import Codebook, packaged, volume_bound

Array = NDArray[np.float64]

FILE = "hexagonal.npz"
LARGEST = 64  # shipped
_GAUGE = float(GAUGE)
_AREA = 3 * float(RISE)  # of the hexagon: six triangles of base 1
_CLAIM = "a volume bound: k balls hold at most the likeliest region of their area, a hexagon"


def place_on_map(epsilon: float, k: int) -> Placement:
    """Return the Placement of k offsets, 64 for k > 64: `offsets` (k, 2) in kilometers of the
    device's plane, nearest to 0 first, `cost` the mean straight-line distance left, `method` how
    they were found in words.

    epsilon: per straight-line kilometer. Raises ParameterError as `check_k` and `check_positive`.
    """
    check_k(k)
    check_positive("epsilon", epsilon)
    book = _shipped(min(int(k), LARGEST))
    bound = volume_bound(2, math.log(k * math.pi / (_AREA * _GAUGE**2)) / 2, Identity())
    return Placement(
        book.points / epsilon,
        book.cost / epsilon,
        f"Lloyd codebook of {len(book.points)} points for hexagonal noise, {book.origin}",
        Certificate(min(bound, book.cost) / epsilon, math.nan, _CLAIM),
        book.standard_error / epsilon,
    )


def mean_distance() -> float:
    """Return E |x| at unit epsilon, 2.1065...: the mean distance from the signal to the person."""
    ends = corners()
    edges = zip(ends, np.roll(ends, -1, axis=0), strict=True)
    return 2 * _GAUGE * float(np.mean([_mean_length(a, b) for a, b in edges]))


def _shipped(k: int) -> Codebook:
    if k == 1:
        return Codebook(np.zeros((1, 2)), mean_distance(), 0.0, "shipped")
    return _library()[k]


@lru_cache(maxsize=1)
def _library() -> Mapping[int, Codebook]:
    return MappingProxyType({k: book for (_, _, k), book in packaged(FILE).items()})


def corners() -> Array:
    """Return the six neighbors of zero, (6, 2), in steps, counterclockwise: (1, 0), (1/2, 13/15),
    (-1/2, 13/15), (-1, 0) and so on.
    """
    lattice = np.array(NEIGHBORS, dtype=np.float64)
    return np.column_stack([lattice[:, 0] - lattice[:, 1] / 2, float(RISE) * lattice[:, 1]])


def _mean_length(a: Array, b: Array) -> float:
    # Of |w| along the segment from a to b, on a line that misses zero.
    along = (b - a) / np.hypot(*(b - a))
    off = abs(float(a[0] * along[1] - a[1] * along[0]))
    ends = np.array([a @ along, b @ along])
    integral = (ends * np.hypot(ends, off) + off**2 * np.arcsinh(ends / off)) / 2
    return float((integral[1] - integral[0]) / (ends[1] - ends[0]))
