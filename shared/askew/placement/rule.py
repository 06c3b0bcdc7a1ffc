"""`place`: the best placement known here for a noise law, a disutility and k.

On the line it hands over to `laplace_line`. In d >= 2 dimensions it takes the best of three and
says which it was:

- a codebook, which costs 10 to 20 % less than a grid from k = 16 on;
- a product grid, for product noise and l1 disutility. Its cost separates, sum_j C(k_j) / epsilon
  with C the cost on the line, so the best grid is the best way to spend prod_j k_j <= k. C is
  convex and falling, and every factorization is tried;
- the cross {0, +-s e_1, +-s e_2, ..}, good for product noise and k <= 2 d + 1.

No optimum is known for k >= 2 there. The lower bound: k balls of radius t hold at most the mass of
the likeliest region of their volume, a ball of the noise's own norm, whose radius is Gamma(d). So

    E h(min_i ||X - a_i||) >= E h(G / c),   c = (k V / V')**(1 / d),   G of law Gamma(d, 1)

with V, V' the volumes of the unit balls of the disutility's norm and the noise's: d / k**(1 / d)
for h(t) = t and equal norms.

Codebooks are k points fitted to the noise in d = 2..16 dimensions, shipped at unit epsilon for
product-Laplace noise with l1 and with l2 disutility and for l2-Laplace noise with l2 disutility,
each with its mean distance on fresh samples and the standard error of that mean.
`benchmarks/fit_codebooks.py` computed them from fixed seeds. All lengths scale as 1 / epsilon.

The files of `data` are packaged: constants of the program like its code. Reading them is the one
place where the core opens a file; were the caller to pass one in, the answer of `place` would
depend on what its caller happened to load. They hold plain arrays only; nothing in them is ever
executed. Numpy only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.limits import MAX_PLACED
from askew.placement.laplace_line import legendre, line_cost, line_offsets, place_on_laplace_line
from askew.placement.problem import (
    Certificate,
    Disutility,
    Identity,
    Increasing,
    Laplace,
    Norm,
    Placement,
    check_count,
    check_k,
    in_units_of_noise,
)

Points = NDArray[np.float32]

_CHUNK = 1024  # samples at once, so that distances to 256 points stay in the cache


def sample(noise: Laplace, count: int, generator: np.random.Generator) -> Points:
    """Draw `count` values of the noise at unit epsilon, whatever its own, float32 (count, d).

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
    """Return for every sample (n, d) the row of the nearest point (k, d), of a tie the lower, and
    the distance to it, both (n,). O(n k d).
    """
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
    """Return the codebook that came with this package for a law: its sizes are `shipped_sizes`;
    None for others, also of k = 1.
    """
    return _library().get(law)


def shipped_sizes(noise: Norm, disutility: Norm, dimension: int) -> tuple[int, ...]:
    """Return the sizes k that are shipped, ascending: 2 to 8, 10, 12, 16, 20, 24, 32, 48, 64, 96,
    128, 192 and 256 for l1 and l1, l1 and l2, or l2 and l2, of 2 to 16 dimensions; () for others.
    """
    laws = _library()
    return tuple(sorted(law.k for law in laws if law[:3] == (noise, disutility, dimension)))


def expected_cost(
    law: Law, points: NDArray[np.float64], h: Disutility, samples: int = _FRESH
) -> tuple[float, float]:
    """Return E h(min_i ||X - a_i||) at unit epsilon and its standard error, on `samples` draws of a
    fixed seed, other ones than codebooks were fitted to: the same at every call.
    """
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
    """Return the codebooks of a file of `data`, by (the number of their law in it, d, k); in
    "codebooks.npz" 0 is l1 and l1, 1 is l1 and l2, 2 is l2 and l2.
    """
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


def best_factors(k: int, dimension: int) -> tuple[int, ...]:
    """Return how many grid points each axis gets for the least expected l1 distance, in falling
    order; their product is at most k: (4, 2, 2) for k = 16 and 3 dimensions.
    """
    return min(_factorizations(k, dimension, k), key=lambda factors: cost(1.0, factors))


def cost(epsilon: float, factors: tuple[int, ...]) -> float:
    """Return the expected l1 distance from the person to the nearest point of the grid that has
    these numbers of points on its axes: the sum of their `line_cost`.
    """
    return sum(line_cost(epsilon, count) for count in factors)


def offsets(epsilon: float, factors: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the grid's points, shape (prod factors, d): all combinations of `line_offsets`,
    ascending; the last coordinate changes fastest.
    """
    axes = [line_offsets(epsilon, count) for count in factors]
    return np.array(list(itertools.product(*axes)))


def _factorizations(k: int, dimension: int, largest: int) -> Iterator[tuple[int, ...]]:
    # Falling tuples of a product of at most k. The last count is as large as it can be, since one
    # more point never costs more.
    if dimension == 1:
        yield (min(k, largest),)
        return
    for first in range(1, min(k, largest) + 1):
        for rest in _factorizations(k // first, dimension - 1, first):
            yield (first, *rest)


def arms(dimension: int, k: int) -> NDArray[np.float64]:
    """Return the first k points of the cross with arms of length one, (k, d): 0 where k is odd,
    then e_1, -e_1, e_2, -e_2 and so on.

    Raises ParameterError for a k that is not from 1 to 2 d + 1.
    """
    if not 1 <= k <= 2 * dimension + 1:
        raise ParameterError("k", k, "from 1 to 2 d + 1")
    axes = np.repeat(np.eye(dimension), 2, axis=0)
    axes[1::2] *= -1
    points = np.concatenate([np.zeros((1, dimension)), axes]) if k % 2 else axes
    return points[:k]


Array = NDArray[np.float64]

_ARMS = np.linspace(0.5, 4.0, 15)  # lengths tried for a cross, in units of 1 / epsilon
_KEPT = 64
_ROUGH = 8_000  # samples that choose among them


def lower_bound(law: Law, h: Disutility) -> float:
    """Return a cost under h at unit epsilon that no law.k points go below: d / k**(1 / d) for h(t)
    = t and equal norms.
    """
    d = law.dimension
    volumes = _ball(law.disutility, d) - _ball(law.noise, d) + math.log(law.k)
    return volume_bound(d, volumes / d, h)


def volume_bound(d: int, shrink: float, h: Disutility) -> float:
    """Return E h(G exp(-shrink)), G of law Gamma(d, 1): d exp(-shrink) for h(t) = t."""
    if isinstance(h, Identity):
        return d * math.exp(-shrink)
    nodes, weights = legendre(48)
    end = d + 12 * math.sqrt(d) + 40
    edges = np.concatenate([[0.0], end * 2.0 ** np.arange(-30, -4), end * np.arange(1, 33) / 32])
    edges = np.unique(edges)
    radius = (edges[:-1, None] + np.diff(edges)[:, None] * nodes).ravel()
    mass = (np.diff(edges)[:, None] * weights).ravel()
    mass *= np.exp((d - 1) * np.log(radius) - radius - math.lgamma(d))
    return float(mass @ h(radius * math.exp(-shrink)))


Option = tuple[float, float, str, Array]
"""The cost of points and its standard error, how they were found, and the points."""


def _options(law: Law, h: Disutility) -> Iterator[Option]:
    if law.k == 1:
        yield _measured(law, np.zeros((1, law.dimension)), h, "one point at 0")
        return
    plain = isinstance(h, Identity)
    book = shipped(law) if plain else None
    if book is not None:
        method = f"Lloyd codebook of {law.k} points, {book.origin}"
        yield book.cost, book.standard_error, method, book.points
    if plain and law.noise == law.disutility == "l1":
        factors = best_factors(law.k, law.dimension)
        yield cost(1.0, factors), 0.0, _named(factors), offsets(1.0, factors)
    if book is None:
        yield from _stand_ins(law, h)


@lru_cache(maxsize=_KEPT)
def _stand_ins(law: Law, h: Disutility) -> tuple[Option, ...]:
    # Measured in a second or two, then kept: the same for every epsilon.
    options = []
    sizes = [k for k in shipped_sizes(*law[:3]) if k <= law.k]
    smaller = shipped(law._replace(k=sizes[-1])) if sizes else None
    if smaller is not None:
        method = f"Lloyd codebook of {sizes[-1]} points, {smaller.origin}"
        options.append(_measured(law, smaller.points, h, method))
    if not (isinstance(h, Identity) and law.noise == law.disutility == "l1"):
        factors = best_factors(law.k, law.dimension)
        options.append(_measured(law, offsets(1.0, factors), h, _named(factors)))
    if law.k <= 2 * law.dimension + 1:
        unit = arms(law.dimension, law.k)
        arm = min(_ARMS, key=lambda s: expected_cost(law, s * unit, h, _ROUGH)[0])
        options.append(_measured(law, arm * unit, h, f"cross with arms of {arm:g}"))
    return tuple(options)


def _named(factors: tuple[int, ...]) -> str:
    shape = " x ".join(str(count) for count in factors if count > 1) or "1"
    return f"product grid {shape}"


def _measured(law: Law, points: Array, h: Disutility, method: str) -> Option:
    if law.k == 1 and law.noise == law.disutility:
        return lower_bound(law, h), 0.0, method, points
    return *expected_cost(law, points, h), method, points


def _ball(norm: Norm, d: int) -> float:
    # The logarithm of the volume of a unit ball.
    if norm == "l1":
        return d * math.log(2) - math.lgamma(d + 1)
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


def place(
    noise: Laplace,
    disutility: Disutility | Callable[..., Any] | None = None,
    k: int = 1,
    *,
    disutility_metric: Norm | None = None,
) -> Placement:
    """Return the Placement of the best k offsets known here: `offsets`, their least expected
    disutility as `cost`, and in `method` how they were found, in words.

    On the line: (k,) ascending, by closed forms and a recurrence, exact for any increasing h. In d
    >= 2 dimensions: (at most k, d), the best of codebook, product grid and cross.

    disutility: h, default h(t) = t; any increasing callable will do. disutility_metric: the norm of
    the distance t in d >= 2, default that of the noise. Where no codebook of k points is shipped, a
    shipped one of fewer points, a grid or a cross stands in. Raises InfiniteCost where no offsets
    have a finite cost, ParameterError for other arguments.
    """
    check_k(k)
    if disutility_metric not in {None, "l1", "l2"}:
        raise ParameterError("disutility_metric", disutility_metric, '"l1" or "l2"')
    if disutility is not None and not callable(disutility):
        raise ParameterError("disutility", disutility, "a disutility or an increasing callable")
    h = Identity() if disutility is None else disutility
    h = h if isinstance(h, Disutility) else Increasing(h)
    if not isinstance(noise, Laplace):
        raise ParameterError("noise", noise, "Laplace noise of askew.placement")
    if noise.dimension == 1:
        return place_on_laplace_line(noise.epsilon, h, k)
    check_count("k", k, MAX_PLACED // noise.dimension)
    factor, unit = in_units_of_noise(h, noise.epsilon)
    law = Law(noise.metric, disutility_metric or noise.metric, int(noise.dimension), int(k))
    # The tail of the distance falls like exp(-r / stretch), which decides on the line as well.
    stretch = math.sqrt(law.dimension) if (law.noise, law.disutility) == ("l2", "l1") else 1.0
    place_on_laplace_line(1 / stretch, unit, 1)  # raises where it is too heavy
    options = list(_options(law, unit))
    best = min(options, key=lambda option: option[0])
    least, error, method, points = best
    others = ", ".join(sorted(f"{o[2]} {o[0]:.4g}" for o in options if o is not best))
    fixed = h.at_zero if isinstance(h, Increasing) else 0.0
    claim = "a volume bound: k balls hold at most the likeliest region of their volume"
    return Placement(
        points / noise.epsilon,
        factor * least + fixed,
        f"{method}; cheaper than {others} (at unit epsilon)" if others else method,
        Certificate(factor * min(lower_bound(law, unit), least) + fixed, math.nan, claim),
        factor * error,
    )
