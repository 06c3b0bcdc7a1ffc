"""Results in a space of one to three axes: k offsets in units of distance, and where they land.

| axes | offsets |
|---|---|
| one line | the optimum of the paper, exact for any increasing h |
| one ring | the best for wrapped noise: a dynamic program around the ring (see `wrapped`) |
| two or three | the codebook for product noise and l1 distance, taken around the rings |

A device draws on a lattice, with a geometric law of ratio q / (q + 1) and q >= 1024, where these
laws are continuous: its rate falls short of epsilon by a factor of 1 - 1 / (2 q), less than .05 %,
and rounding moves a point by less than a step, 1 / (epsilon q). In two or three dimensions a
product grid would serve rings shorter than 4 / epsilon better from k = 20 on, by about a tenth.

Ends of a line: clamp the signal, add the offsets, and clamp again; all of it is post-processing.
Beyond an end every place inside is as likely as from the end itself, up to one factor for all, so
the first clamping loses nothing; without it a signal far beyond would have all results at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.noise.lattice import LatticeLaplace
from askew.placement.noise import Laplace
from askew.placement.problem import Certificate, Disutility, Identity, Placement, disutility_of
from askew.placement.ring import place_on_wrapped_line
from askew.placement.rule import place
from askew.spaces.axes import AxisSpace

Array = NDArray[np.float64]
Rings = tuple[float, ...]

_KEPT = 256
_POINTS = 2**15
# Steps of a sequence that fills the square and the cube evenly, without a generator: powers of the
# root of x**(d + 1) = x + 1 (Roberts 2018).
_EVEN = {
    2: (0.7548776662466927, 0.5698402909980532),
    3: (0.8191725133961645, 0.6710436067037893, 0.5497004779019703),
}
_NO_BOUND = "none is known where axes wrap"


def place_on_axes(
    space: AxisSpace,
    lattice: LatticeLaplace,
    k: int,
    h: Disutility | Callable[..., Any] | None = None,
) -> Placement:
    """At most k offsets (k, d) from the signal, nearest first, at most half a ring either way.

    h: of the l1 distance, default h(t) = t. Kept for the last 256 questions; a new one takes
    milliseconds, with a ring 10 to 150 ms. Raises InfiniteCost for an h of infinite cost,
    ParameterError for k < 1.
    """
    return _placed(_rings_of(space), float(lattice.epsilon), k, disutility_of(h or Identity()))


def offsets_on_axes(space: AxisSpace, lattice: LatticeLaplace, k: int, h: Disutility) -> Array:
    """The offsets (k', d) of `place_on_axes` and nothing more, not kept: where several axes have a
    ring among them, what they cost takes a hundred times as long to tell. One ring takes as long.
    """
    rings = _rings_of(space)
    if len(rings) == 1:
        return place_on_axes(space, lattice, k, h).offsets
    found = place(Laplace(float(lattice.epsilon), len(rings)), h, k, on_demand=False)
    offsets = _around_rings(found.offsets, rings)
    return np.asarray(offsets[_order(offsets)])


def _rings_of(space: AxisSpace) -> Rings:
    return tuple(float(axis.size) if axis.wraps else math.inf for axis in space.axes)


@lru_cache(maxsize=_KEPT)
def _placed(rings: Rings, epsilon: float, k: int, h: Disutility) -> Placement:
    if len(rings) > 1:
        return _in_space(rings, epsilon, k, h)
    if math.isinf(rings[0]):
        return _nearest_first(place(Laplace(epsilon), h, k))
    return _nearest_first(place_on_wrapped_line(epsilon, rings[0], h, k))


def _nearest_first(found: Placement) -> Placement:
    offsets = found.offsets.reshape(len(found.offsets), -1)
    offsets = offsets[_order(offsets)]
    return Placement(offsets, found.cost, found.method, found.certificate, found.standard_error)


def _order(offsets: Array) -> NDArray[np.int64]:
    return np.argsort(np.abs(offsets).sum(axis=1), kind="stable")


def _in_space(rings: Rings, epsilon: float, k: int, h: Disutility) -> Placement:
    found = place(Laplace(epsilon, len(rings)), h, k, on_demand=False)
    if all(map(math.isinf, rings)):
        return _nearest_first(found)
    offsets = _around_rings(found.offsets, rings)
    costs = h(_distances(offsets * epsilon, tuple(ring * epsilon for ring in rings)) / epsilon)
    cost, error = float(costs.mean()), float(costs.std() / math.sqrt(_POINTS))
    certificate = Certificate(0.0, math.nan, _NO_BOUND)
    method = f"{found.method}, taken around the rings"
    return _nearest_first(Placement(offsets, cost, method, certificate, error))


def _distances(offsets: Array, rings: Rings) -> Array:
    """From product noise at unit epsilon, at evenly spread quantiles, to the nearest offset."""
    even = (0.5 + np.arange(_POINTS)[:, None] * np.array(_EVEN[len(rings)])) % 1 - 0.5
    noise = -np.sign(even) * np.log1p(-2 * np.abs(even))
    far = np.zeros((_POINTS, len(offsets)))
    for axis, ring in enumerate(rings):
        far += np.abs(_around(noise[:, axis, None] - offsets[:, axis], ring))
    return np.asarray(far.min(axis=1))


def _around_rings(offsets: Array, rings: Rings) -> Array:
    columns = zip(offsets.T, rings, strict=True)
    return np.column_stack([_around(column, ring) for column, ring in columns])


def _around(gaps: Array, ring: float) -> Array:
    """The short way around, where there is one; any shape."""
    return gaps - ring * np.round(gaps / ring) if math.isfinite(ring) else gaps
