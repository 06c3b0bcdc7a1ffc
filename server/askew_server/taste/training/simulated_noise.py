"""The mechanisms' noise, simulated for many people at once. It protects nobody.

The laws are those of `askew.noise.lattice`, `askew.noise.hexagonal` and
`askew.noise.randomized_response`; a test compares them cell by cell. Devices draw theirs from the
kernel, exactly; see those modules.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.noise.hexagonal import NEIGHBORS, RISE, HexagonalLattice
from askew.noise.lattice import LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.spaces.map import (
    COSINE_PARTS,
    KM_OF_LATITUDE,
    KM_OF_LONGITUDE,
    MICRODEGREES,
    MapNoise,
    Region,
)


def lattice_signals(
    lattice: LatticeLaplace, points: NDArray[np.float64], rng: np.random.Generator
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


def hexagonal_signals(
    lattice: HexagonalLattice, points: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy lattice coordinates of points (n, 2) in kilometers, rounded to the grain, (n, 2)."""
    step, n = float(lattice.step), len(points)
    j = points[:, 1] / (float(RISE) * step)
    place = np.column_stack([points[:, 0] / step + j / 2, j])
    below = np.floor(place)
    shared = rng.random((n, 1))  # one for both coordinates
    near = below.astype(np.int64) + (shared < place - below)
    noisy = near + _hexagonal_moves(lattice.inverse_rate, n, rng)
    grain = lattice.grain
    coarse: NDArray[np.int64] = (noisy + grain // 2) // grain * grain
    return coarse


def map_signals(
    noise: MapNoise, region: Region, positions: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Noisy latitudes and longitudes in microdegrees of positions (n, 2) in degrees, (n, 2)."""
    east = float(KM_OF_LONGITUDE) * noise.cosine / COSINE_PARTS
    north = float(KM_OF_LATITUDE)
    x = east * ((positions[:, 1] - region.west) % 360)
    y = north * (positions[:, 0] - region.south)
    coordinates = hexagonal_signals(noise.lattice, np.column_stack([x, y]), rng)
    step = float(noise.lattice.step)
    latitude = region.south + float(RISE) * step * coordinates[:, 1] / north
    longitude = region.west + step * (coordinates[:, 0] - coordinates[:, 1] / 2) / east
    turn = 360 * MICRODEGREES
    up = np.rint(np.clip(latitude, -90, 90) * MICRODEGREES).astype(np.int64)
    right = np.rint(longitude * MICRODEGREES).astype(np.int64)
    return np.column_stack([up, (right + turn // 2) % turn - turn // 2])


def _hexagonal_moves(inverse_rate: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws of the hexagon's law in lattice coordinates, (n, 2)."""
    stays = rng.random(n) < 1 / (1 + 6 * inverse_rate * (inverse_rate + 1))
    side = rng.integers(6, size=n)
    steps = rng.geometric(1.0 / (inverse_rate + 1), (n, 2))
    around = np.array(NEIGHBORS)
    moves = steps[:, :1] * around[side] + (steps[:, 1:] - 1) * around[(side + 1) % 6]
    found: NDArray[np.int64] = np.where(stays[:, None], 0, moves)
    return found
