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

Lloyd quantizers: k points in d dimensions, fitted to samples of the noise.

Each round sends every sample to its nearest point and moves every point to the center of its cell:
the median of each coordinate for the l1 distance, Weiszfeld steps toward the geometric median for
the l2 distance. A disutility other than the distance itself enters as the weights h'(t) of the
samples, which majorize a concave h, so that no round raises its cost.

Everything is a function of the seed. Source: Lloyd 1982; Weiszfeld 1937; the first points follow
k-means++ (Arthur and Vassilvitskii 2007) with probabilities proportional to the distance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.problem import Disutility, Identity, Laplace, Norm

Points = NDArray[np.float32]
Slope = Callable[[NDArray[np.float32]], NDArray[np.float32]]
Progress = Callable[[float], None]

_CHUNK = 1024  # samples at once, so that distances to 256 points stay in the cache
_WEISZFELD_STEPS = 3
_ENOUGH = 2e-5  # relative fall of the cost in a round below which a run ends


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
    return labels, _length(samples - points[labels], norm)


def fit(  # noqa: PLR0913
    samples: Points,
    starts: list[Points],
    norm: Norm,
    *,
    generator: np.random.Generator,
    slope: Slope | None = None,
    rounds: int = 60,
    progress: Progress | None = None,
) -> Points:
    """Return points (k, d), fitted to samples (n, d) from the best of several starts (k, d), which
    are tried on a part of the samples. slope: h' of distances; None for h(t) = t.

    progress is called with the part of the rounds that is done, from 0 to 1. O(rounds n k d).
    """
    trial = samples[: max(len(samples) // 4, 20 * len(starts[0]))]
    tried = [_descend(trial, start, norm, generator, slope, rounds // 3) for start in starts]
    best = min(tried, key=lambda points: _mean_cost(trial, points, norm, slope))
    return _descend(samples, best, norm, generator, slope, rounds, progress)


def spread_out(
    samples: Points, k: int, norm: Norm, generator: np.random.Generator, first: Points | None = None
) -> Points:
    """Return k points (k, d) far from each other: first `first` (n, d), of which the first k count,
    or the point 0 where it is None; then samples, each drawn with probability proportional to its
    distance from those before it.
    """
    taken = [np.zeros(samples.shape[1], np.float32)] if first is None else list(first)
    far = assign(samples, np.array(taken), norm)[1].astype(np.float64)
    while len(taken) < k:
        chance = np.cumsum(far)
        row = int(np.searchsorted(chance, generator.random() * chance[-1]))
        taken.append(samples[min(row, len(samples) - 1)])
        far = np.minimum(far, _length(samples - taken[-1], norm))
    return np.array(taken[:k], dtype=np.float32)


def _descend(  # noqa: PLR0913, PLR0917
    samples: Points,
    points: Points,
    norm: Norm,
    generator: np.random.Generator,
    slope: Slope | None,
    rounds: int,
    progress: Progress | None = None,
) -> Points:
    order = np.argsort(samples, axis=0) if norm == "l1" else None
    before = np.inf
    for turn in range(rounds):
        labels, far = assign(samples, points, norm)
        points = _revive(samples, points, labels, far, generator)
        weights = np.ones_like(far) if slope is None else slope(far)
        if order is None:
            points = _toward_geometric_medians(samples, points, labels, weights)
        else:
            points = _medians(samples, points, labels, weights, order)
        cost = float(np.mean(far, dtype=np.float64))
        if slope is None and before - cost < _ENOUGH * cost:
            break
        before = cost
        if progress is not None:
            progress((turn + 1) / rounds)
    if progress is not None:
        progress(1.0)
    return points


def _revive(
    samples: Points,
    points: Points,
    labels: NDArray[np.int64],
    far: NDArray[np.float32],
    generator: np.random.Generator,
) -> Points:
    """Points whose cell is empty move to samples that are badly served."""
    idle = np.flatnonzero(np.bincount(labels, minlength=len(points)) == 0)
    if len(idle) == 0:
        return points
    points = points.copy()
    chance = far.astype(np.float64) / far.sum(dtype=np.float64)
    points[idle] = samples[generator.choice(len(samples), len(idle), p=chance)]
    return points


def _medians(
    samples: Points,
    points: Points,
    labels: NDArray[np.int64],
    weights: NDArray[np.float32],
    order: NDArray[np.int64],
) -> Points:
    """Return the weighted median of each coordinate in each cell.

    `order` sorts each coordinate once and for all; a stable sort of 16-bit labels is then a radix
    sort, which makes a round linear in the number of samples.
    """
    moved = points.copy()
    short = labels.astype(np.uint16)
    counts = np.bincount(labels, minlength=len(points))
    used = np.flatnonzero(counts)
    last = np.cumsum(counts)[used] - 1
    for axis in range(samples.shape[1]):
        rows = order[:, axis]
        rows = rows[np.argsort(short[rows], kind="stable")]
        running = np.cumsum(weights[rows], dtype=np.float64)
        total = running[last]
        before = np.concatenate([[0.0], total[:-1]])
        middle = np.searchsorted(running, (before + total) / 2)
        moved[used, axis] = samples[rows[np.minimum(middle, last)], axis]
    return moved


def _toward_geometric_medians(
    samples: Points, points: Points, labels: NDArray[np.int64], weights: NDArray[np.float32]
) -> Points:
    """A few Weiszfeld steps: the mean of a cell with weights 1 / distance lowers its cost."""
    k, d = points.shape
    for _ in range(_WEISZFELD_STEPS):
        pull = weights / np.maximum(_length(samples - points[labels], "l2"), np.float32(1e-6))
        total = np.bincount(labels, pull, k)
        used = total > 0
        moved = points.copy()
        for axis in range(d):
            part = np.bincount(labels, pull * samples[:, axis], k)
            moved[used, axis] = part[used] / total[used]
        points = moved
    return points


def _closeness(part: Points, columns: Points, norm: Norm, total: Points, gap: Points) -> None:
    """Fills `total` (rows, k) with what orders the points, given as columns (d, k), by distance."""
    if norm == "l2":
        np.matmul(part, columns, out=total)
        np.multiply(total, -2, out=total)
        np.add(total, np.einsum("dk,dk->k", columns, columns), out=total)
        return
    total[:] = 0
    for axis, column in enumerate(columns):
        np.subtract(part[:, axis : axis + 1], column, out=gap)
        np.add(total, np.abs(gap, out=gap), out=total)


def _length(vectors: Points, norm: Norm) -> NDArray[np.float32]:
    if norm == "l1":
        return np.asarray(np.abs(vectors).sum(axis=1))
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors)))


def _mean_cost(samples: Points, points: Points, norm: Norm, slope: Slope | None) -> float:
    far = assign(samples, points, norm)[1]
    weights = 1.0 if slope is None else slope(far)
    return float(np.mean(far * weights, dtype=np.float64))


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
    """Return the codebook of a law that came with this package, or None."""
    return _library().get(law)


def shipped_sizes(noise: Norm, disutility: Norm, dimension: int) -> tuple[int, ...]:
    """Return the sizes k that are shipped for a law, ascending."""
    laws = _library()
    return tuple(sorted(law.k for law in laws if law[:3] == (noise, disutility, dimension)))


def fitted(law: Law, h: Disutility, progress: Progress | None = None) -> Codebook:
    """Return a codebook of law.k points for h at unit epsilon: computed once, then kept.

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
    exact = points.astype(np.float64)
    return Codebook(exact, *expected_cost(law, exact, h), "fitted on demand")


def expected_cost(
    law: Law, points: NDArray[np.float64], h: Disutility, samples: int = _FRESH
) -> tuple[float, float]:
    """Return E h(min_i ||X - a_i||) at unit epsilon and its standard error, on fresh draws."""
    noise = Laplace(1.0, law.dimension, law.noise)
    fresh = sample(noise, samples, np.random.default_rng([_SEED + 1, law.dimension]))
    costs = h(assign(fresh, points.astype(np.float32), law.disutility)[1].astype(np.float64))
    with np.errstate(over="ignore"):  # no placement has an infinite error
        return float(costs.mean()), float(costs.std() / np.sqrt(len(costs)))


def slope_of(h: Disutility) -> Slope:
    """Return a function from float32 distances to h' there, at 1e-6 for what is nearer; `fit` takes
    it.
    """

    def of(far: Points) -> Points:
        # Some h are infinitely steep at 0, where a sample already sits on its point.
        return h.slope(np.maximum(far.astype(np.float64), 1e-6)).astype(np.float32)

    return of


def _nearest_shipped(law: Law) -> Points | None:
    sizes = [k for k in shipped_sizes(*law[:3]) if k <= law.k]
    if not sizes:
        return None
    return _library()[law._replace(k=sizes[-1])].points.astype(np.float32)


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
