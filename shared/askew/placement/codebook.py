"""Codebooks: k points fitted to the noise in d = 2..16 dimensions, shipped at unit epsilon.

Shipped for product-Laplace noise with l1 and with l2 disutility and for l2-Laplace noise with l2
disutility, each with its mean distance on fresh samples and the standard error of that mean.
`benchmarks/fit_codebooks.py` computed them from fixed seeds. All lengths scale as 1 / epsilon.

The files of `data` are packaged: constants of the program like its code. Reading them is the one
place where the core opens a file; were the caller to pass one in, the answer of `place` would
depend on what its caller happened to load. They hold plain arrays only; nothing in them is ever
executed.

Other sizes, laws and disutilities are fitted on demand by the same Lloyd iteration from a public
seed: seconds to a minute, told to `progress`, and kept for as long as the process lives.

Numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.disutility import Disutility, Identity
from askew.placement.lloyd import Points, Progress, Slope, assign, fit, sample, spread_out
from askew.placement.noise import Laplace, Norm

_SEED = 20240714
_SAMPLES = 30_000
_FRESH = 60_000
_KEPT = 64
_LAWS: tuple[tuple[Norm, Norm], ...] = (("l1", "l1"), ("l1", "l2"), ("l2", "l2"))


class Law(NamedTuple):
    """What a codebook is fitted to: the norm of the noise, that of the disutility, d and k."""

    noise: Norm
    disutility: Norm
    dimension: int
    k: int


@dataclass(frozen=True, eq=False)
class Codebook:
    """Points (k, d) at unit epsilon, and E min_i ||X - a_i|| with its standard error."""

    points: NDArray[np.float64]
    cost: float
    standard_error: float
    origin: str


def shipped(law: Law) -> Codebook | None:
    """The codebook that came with this package, if there is one."""
    return _library().get(law)


def shipped_sizes(noise: Norm, disutility: Norm, dimension: int) -> tuple[int, ...]:
    """The sizes k that are shipped for a law, ascending."""
    laws = _library()
    return tuple(sorted(law.k for law in laws if law[:3] == (noise, disutility, dimension)))


def fitted(law: Law, h: Disutility, progress: Progress | None = None) -> Codebook:
    """A codebook computed now, for any sizes and disutility at unit epsilon; kept afterwards.

    progress is called with the part that is done, from 0 to 1, and not at all for one that is
    kept. Raises ParameterError for k < 1. O(rounds n k d).
    """
    if law.k < 1:
        raise ParameterError("k", law.k, "at least 1")
    key = _Request(law, h, progress)
    return _fitted(key)


class _Request(NamedTuple):
    """Equal for equal codebooks, whoever watches the progress."""

    law: Law
    h: Disutility
    progress: Progress | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Request) and self[:2] == other[:2]

    def __hash__(self) -> int:
        return hash(self[:2])


@lru_cache(maxsize=_KEPT)
def _fitted(request: _Request) -> Codebook:
    law, h, progress = request
    noise = Laplace(1.0, law.dimension, law.noise)
    generator = np.random.default_rng([_SEED, *map(len, law[:2]), law.dimension, law.k])
    samples = sample(noise, max(_SAMPLES, 100 * law.k), generator)
    nearby = _nearest_shipped(law)
    starts = [spread_out(samples, law.k, law.disutility, generator, nearby)]
    starts.append(spread_out(samples, law.k, law.disutility, generator))
    slope = None if isinstance(h, Identity) else slope_of(h)
    points = fit(
        samples, starts, law.disutility, generator=generator, slope=slope, progress=progress
    )
    found = points.astype(np.float64)
    return Codebook(found, *expected_cost(law, found, h), "fitted on demand")


def expected_cost(
    law: Law, points: NDArray[np.float64], h: Disutility, samples: int = _FRESH
) -> tuple[float, float]:
    """E h(min_i ||X - a_i||) at unit epsilon and its standard error, on fresh draws."""
    noise = Laplace(1.0, law.dimension, law.noise)
    fresh = sample(noise, samples, np.random.default_rng([_SEED + 1, law.dimension]))
    costs = h(assign(fresh, points.astype(np.float32), law.disutility)[1].astype(np.float64))
    return float(costs.mean()), float(costs.std() / np.sqrt(len(costs)))


def slope_of(h: Disutility) -> Slope:
    """The slope h' of float32 distances, as `lloyd.fit` takes it."""

    def of(far: Points) -> Points:
        # Some h are infinitely steep at 0, where a sample already sits on its point.
        return h.slope(np.maximum(far.astype(np.float64), 1e-6)).astype(np.float32)

    return of


def _nearest_shipped(law: Law) -> Points | None:
    """The largest shipped codebook of at most k points for the same law, to start from."""
    sizes = [k for k in shipped_sizes(*law[:3]) if k <= law.k]
    if not sizes:
        return None
    return _library()[law._replace(k=sizes[-1])].points.astype(np.float32)


@lru_cache(maxsize=1)
def _library() -> Mapping[Law, Codebook]:
    found = packaged("codebooks.npz")
    return MappingProxyType({Law(*_LAWS[law], d, k): book for (law, d, k), book in found.items()})


def packaged(name: str) -> dict[tuple[int, int, int], Codebook]:
    """The codebooks of a file of `data`, by the number of their law, d and k."""
    found: dict[tuple[int, int, int], Codebook] = {}
    resource = files("askew.placement") / "data" / name
    with as_file(resource) as path, np.load(path, allow_pickle=False) as data:
        points = data["points"]
        rows = zip(data["table"].tolist(), data["cost"], data["standard_error"], strict=True)
        for (law, d, k, first), cost, error in rows:
            book = points[first : first + k * d].reshape(k, d).astype(np.float64)
            book.setflags(write=False)
            found[law, d, k] = Codebook(book, float(cost), float(error), "shipped")
    return found
