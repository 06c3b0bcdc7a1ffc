"""The mechanisms' noise, simulated for many people at once. It protects nobody.

The laws are those of `askew.lattice` and `askew.randomized_response`; a test compares them cell by
cell. Devices draw theirs from the kernel, exactly; see those modules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.randomized_response import RandomizedResponse


def lattice_signals(
    lattice: Lattice, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy coordinates of points (n, d), in lattice steps, (n, d)."""
    place = points / lattice.step
    below = np.floor(place)
    rounded = below.astype(np.int64) + (rng.random(points.shape) < place - below)
    stop = 1.0 / (lattice.inverse_rate + 1)  # P(G >= n) = r**n; numpy counts trials, from 1
    return rounded + rng.geometric(stop, points.shape) - rng.geometric(stop, points.shape)


def response_signals(
    response: RandomizedResponse, buckets: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy buckets of people in these buckets (n,), (n,)."""
    lies = rng.random(len(buckets)) >= float(response.odds / (response.odds + response.buckets - 1))
    moved = lies * rng.integers(1, response.buckets, len(buckets))
    return (buckets + moved) % response.buckets
