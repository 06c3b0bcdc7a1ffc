"""How likely a signal is, given each of m people: the exact law of the noise, in logarithms.

Lattice (`askew.lattice`), q = inverse_rate, r = q / (q + 1); a coordinate at u / step = j + t:

    P(Z = z) = ((1 - t) r**|z - j| + t r**|z - j - 1|) / (2 q + 1)
             = r**(j - z)     ((1 - t) + t r) / (2 q + 1)     for z <= j
             = r**(z - j - 1) ((1 - t) r + t) / (2 q + 1)     for z > j

where nothing cancels and nothing underflows. Coordinates are independent, so logarithms add; at the
end of the wire's width a coordinate stands for the whole tail, 1 / (1 - r) = q + 1 times as likely.

Randomized response: odds / (odds + M - 1) for one's own bucket, 1 / (odds + M - 1) for another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange
from askew.lattice import COORDINATE_LIMIT, Lattice
from askew.randomized_response import RandomizedResponse


def lattice_log_likelihood(
    lattice: Lattice, coordinates: Sequence[int], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """ln P(coordinates | point) for points (m, d), shape (m,). Raises DimensionMismatch. O(m d)."""
    if points.ndim != 2 or points.shape[1] != len(coordinates):
        raise DimensionMismatch(len(coordinates), points.shape[-1])
    q = lattice.inverse_rate
    z = np.array(coordinates, dtype=np.float64)  # (d,); 32-bit integers are exact
    place = points / lattice.step  # exact: the step is a power of two
    below = np.floor(place)
    fraction = place - below
    above = z > below
    steps = np.where(above, z - below - 1.0, below - z)
    # (1 - t) + t r = 1 - t / (q + 1), and (1 - t) r + t = 1 - (1 - t) / (q + 1)
    blend = np.log1p(-np.where(above, 1.0 - fraction, fraction) / (q + 1))
    logs: NDArray[np.float64] = (blend - steps * math.log1p(1 / q)).sum(axis=1)
    ends = sum(abs(each) == COORDINATE_LIMIT for each in coordinates)
    return logs - len(coordinates) * math.log(2 * q + 1) + ends * math.log(q + 1)


def response_log_likelihood(
    response: RandomizedResponse, bucket: int, buckets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """ln P(bucket | own bucket) for people in these buckets (m,), shape (m,). Raises OutOfRange."""
    if not 0 <= bucket < response.buckets:
        raise OutOfRange("a bucket", f"from 0 to {response.buckets - 1}")
    own, other = response_log_odds(response)
    return np.where(buckets == bucket, own, other)


def response_log_odds(response: RandomizedResponse) -> tuple[float, float]:
    """ln P(b | own bucket b) and ln P(b | another bucket)."""
    other = -math.log(float(response.odds + response.buckets - 1))
    return math.log(float(response.odds)) + other, other
