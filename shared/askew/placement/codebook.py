"""Codebooks: k points fitted to the noise in d = 2..16 dimensions, shipped at unit epsilon.

Shipped for product-Laplace noise with l1 and with l2 disutility and for l2-Laplace noise with l2
disutility, each with its mean distance on fresh samples and the standard error of that mean.
`benchmarks/fit_codebooks.py` computed them from fixed seeds. All lengths scale as 1 / epsilon.

The files of `data` are packaged: constants of the program like its code. Reading them is the one
place where the core opens a file; were the caller to pass one in, the answer of `place` would
depend on what its caller happened to load. They hold plain arrays only; nothing in them is ever
executed. Numpy only.
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

from askew.placement.problem import Disutility, Laplace, Norm

Points = NDArray[np.float32]

_CHUNK = 1024  # samples at once, so that distances to 256 points stay in the cache


def sample(noise: Laplace, count: int, generator: np.random.Generator) -> Points:
    """Draw `count` values of the noise at unit epsilon, float32 (count, d).

    For simulation only: a device draws its noise from exact integers instead.
    """
    d = noise.dimension
    if noise.metric == "l1":
        return generator.laplace(size=(count, d)).astype(np.float32)
    direction = generator.standard_normal((count, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return (direction * generator.gamma(d, size=(count, 1))).astype(np.float32)


def assign(
    samples: Points, points: Points, norm: Norm
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the row of every sample's nearest point, and the distance to it; (n,). O(n k d)."""
    labels = np.empty(len(samples), dtype=np.int64)
    # Buffers are reused: fresh pages for every chunk cost four times the arithmetic.
    total, gap = np.empty((2, _CHUNK, len(points)), dtype=np.float32)
    columns = np.ascontiguousarray(points.T)
    for start in range(0, len(samples), _CHUNK):
        part = samples[start : start + _CHUNK]
        n = len(part)
        _closeness(part, columns, norm, total[:n], gap[:n])
        labels[start : start + n] = total[:n].argmin(axis=1)
    return labels, length(samples - points[labels], norm)


def _closeness(part: Points, columns: Points, norm: Norm, total: Points, gap: Points) -> None:
    # total: (rows, k), filled with what orders the points, given as columns (d, k), by distance.
    if norm == "l2":
        np.matmul(part, columns, out=total)
        np.multiply(total, -2, out=total)
        np.add(total, np.einsum("dk,dk->k", columns, columns), out=total)
        return
    total[:] = 0
    for axis, column in enumerate(columns):
        np.subtract(part[:, axis : axis + 1], column, out=gap)
        np.add(total, np.abs(gap, out=gap), out=total)


def length(vectors: Points, norm: Norm) -> NDArray[np.float32]:
    """Return the length of each row of (n, d) vectors by this norm, (n,)."""
    if norm == "l1":
        return np.asarray(np.abs(vectors).sum(axis=1))
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors)))


_SEED = 20240714
_FRESH = 60_000
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
    """Return the codebook of a law that came with this package, or None."""
    return _library().get(law)


def shipped_sizes(noise: Norm, disutility: Norm, dimension: int) -> tuple[int, ...]:
    """Return the sizes k that are shipped for a law, ascending."""
    laws = _library()
    return tuple(sorted(law.k for law in laws if law[:3] == (noise, disutility, dimension)))


def expected_cost(
    law: Law, points: NDArray[np.float64], h: Disutility, samples: int = _FRESH
) -> tuple[float, float]:
    """Return E h(min_i ||X - a_i||) at unit epsilon and its standard error, on fresh draws."""
    noise = Laplace(1.0, law.dimension, law.noise)
    fresh = sample(noise, samples, np.random.default_rng([_SEED + 1, law.dimension]))
    costs = h(assign(fresh, points.astype(np.float32), law.disutility)[1].astype(np.float64))
    with np.errstate(over="ignore"):  # no placement has an infinite error
        return float(costs.mean()), float(costs.std() / np.sqrt(len(costs)))


@lru_cache(maxsize=1)
def _library() -> Mapping[Law, Codebook]:
    books = packaged("codebooks.npz").items()
    return MappingProxyType({Law(*_LAWS[law], d, k): book for (law, d, k), book in books})


def packaged(name: str) -> dict[tuple[int, int, int], Codebook]:
    """Return the codebooks of a file of `data`, by (the number of their law in it, d, k)."""
    books: dict[tuple[int, int, int], Codebook] = {}
    resource = files("askew.placement") / "data" / name
    with as_file(resource) as path, np.load(path, allow_pickle=False) as data:
        points = data["points"]
        rows = zip(data["table"].tolist(), data["cost"], data["standard_error"], strict=True)
        for (law, d, k, first), cost, error in rows:
            book = points[first : first + k * d].reshape(k, d).astype(np.float64)
            book.setflags(write=False)
            books[law, d, k] = Codebook(book, float(cost), float(error), "shipped")
    return books
