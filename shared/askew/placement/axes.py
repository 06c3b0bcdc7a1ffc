"""Results in a space of one to three axes: k offsets in units of distance, and where they land.

| axes | offsets |
|---|---|
| one line | the optimum of the paper, exact for any increasing h |
| one ring | the best for wrapped noise: a dynamic program around the ring (see `wrapped`) |
| two or three | the codebook for product noise and l1 distance, taken around the rings |

A device draws on a lattice, with a geometric law of ratio q / (q + 1) and q >= 1024, where these
laws are continuous: its rate falls short of epsilon by a factor of 1 - 1 / (2 q), less than .05 %,
and rounding onto the lattice adds at most step / 2 = 1 / (2 epsilon q). In two or three dimensions
a ring shorter than 4 / epsilon is better served by a product grid, by about a tenth of the cost.

Ends of a line: the signal is clamped first. Beyond an end every place inside is as likely as from
the end itself, up to a factor that they share, so this loses nothing; probes are clamped after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.lattice import Lattice
from askew.metric.axes import AxisSpace
from askew.placement.answer import Certificate, Placement
from askew.placement.disutility import Disutility, Identity
from askew.placement.increasing import disutility_of
from askew.placement.lloyd import sample
from askew.placement.noise import Laplace
from askew.placement.rule import place
from askew.placement.wrapped import place_on_wrapped_line

Array = NDArray[np.float64]
Rings = tuple[float, ...]

_KEPT = 256
_DRAWS = 60_000
_SEED = 20261122
_NO_BOUND = "none is known where axes wrap"


def place_on_axes(
    space: AxisSpace,
    lattice: Lattice,
    k: int,
    h: Disutility | Callable[..., Any] | None = None,
) -> Placement:
    """At most k offsets (k, d) from the signal, nearest first, at most half a ring either way.

    h: of the l1 distance, default h(t) = t. Kept for the last 256 questions; a new one takes
    milliseconds, with a ring 10 to 150 ms. Raises InfiniteCost for an h of infinite cost,
    ParameterError for k < 1.
    """
    rings = tuple(float(axis.size) if axis.wraps else math.inf for axis in space.axes)
    return _placed(rings, float(lattice.epsilon), k, disutility_of(h or Identity()))


def probes(space: AxisSpace, signal: Array, offsets: Array) -> Array:
    """Where the k results go, (k, d) within the space, for a signal (d,) in units of distance."""
    sizes = np.array([float(axis.size) for axis in space.axes])
    wraps = np.array([axis.wraps for axis in space.axes])
    start = np.where(wraps, signal, np.clip(signal, 0, sizes))
    there = start + offsets
    return np.where(wraps, there % sizes, np.clip(there, 0, sizes))


@lru_cache(maxsize=_KEPT)
def _placed(rings: Rings, epsilon: float, k: int, h: Disutility) -> Placement:
    if len(rings) > 1:
        return _in_space(rings, epsilon, k, h)
    if math.isinf(rings[0]):
        return _nearest_first(place(Laplace(epsilon), h, k))
    return _nearest_first(place_on_wrapped_line(epsilon, rings[0], h, k))


def _nearest_first(found: Placement) -> Placement:
    offsets = found.offsets.reshape(len(found.offsets), -1)
    order = np.argsort(np.abs(offsets).sum(axis=1), kind="stable")
    return Placement(
        offsets[order], found.cost, found.method, found.certificate, found.standard_error
    )


def _in_space(rings: Rings, epsilon: float, k: int, h: Disutility) -> Placement:
    found = place(Laplace(epsilon, len(rings)), h, k, on_demand=False)
    if all(map(math.isinf, rings)):
        return _nearest_first(found)
    columns = zip(found.offsets.T, rings, strict=True)
    offsets = np.column_stack([_around(column, ring) for column, ring in columns])
    costs = h(_distances(offsets * epsilon, tuple(ring * epsilon for ring in rings)) / epsilon)
    cost, error = float(costs.mean()), float(costs.std() / math.sqrt(_DRAWS))
    certificate = Certificate(0.0, math.nan, _NO_BOUND)
    method = f"{found.method}, taken around the rings"
    return _nearest_first(Placement(offsets, cost, method, certificate, error))


def _distances(offsets: Array, rings: Rings) -> Array:
    """From draws of product noise at unit epsilon to the nearest offset, around the rings."""
    noise = Laplace(1.0, len(rings))
    draws = sample(noise, _DRAWS, np.random.default_rng(_SEED)).astype(np.float64)
    far = np.zeros((_DRAWS, len(offsets)))
    for axis, ring in enumerate(rings):
        far += np.abs(_around(draws[:, axis, None] - offsets[:, axis], ring))
    return np.asarray(far.min(axis=1))


def _around(gaps: Array, ring: float) -> Array:
    """The short way around, where there is one; any shape."""
    return gaps - ring * np.round(gaps / ring) if math.isfinite(ring) else gaps
