"""The rule with a prior: weigh people by how likely they make the signal, serve them best together.

    posterior weight of person p    w_p  proportional to  prior_p P(signal | point_p)
    answer                          the better of: greedy choice of k items for these weights,
                                    the zero-information slate of k items
    for the objective               sum_p w_p max_{i in answer} s_ip

Where people have some items already, a score is what an item would add to the best of those
(`gains`), so that the k items complement what is held.

Guarantee: depends on the signal and on the prior alone, so it is post-processing: free of charge,
for whoever asks. The people of the prior are not covered; the prior must be public, or released
with a guarantee of its own. By construction, and in the same arithmetic, the objective is never
below that of the zero-information slate. Scores of what a prior person has seen are 0, which is how
the answer hedges against what the asking person has seen.

Shapes: m prior points (m, d), p pool items. Complexity: O(m d) for the weights, then `cover`. A
prior of more than `limit` points is sampled for each signal: `limit` points by systematic
resampling of the posterior, at the fixed fractions (i + 1/2) / limit, so without chance.
Source: posterior and greedy choice, Sarmasarkar, Jiang, Goel, Korolova, Munagala 2025 (arXiv
2504.07403); lazy choice, Minoux 1978.

**How likely a signal is**, given each of m people: the exact law of the noise, in logarithms. For
the lattice, with q = inverse_rate, r = q / (q + 1) and a coordinate at u / step = j + t:

    P(Z = z) = ((1 - t) r**|z - j| + t r**|z - j - 1|) / (2 q + 1)
             = r**(j - z)     ((1 - t) + t r) / (2 q + 1)     for z <= j
             = r**(z - j - 1) ((1 - t) r + t) / (2 q + 1)     for z > j

where nothing cancels and nothing underflows. Coordinates are independent, so logarithms add; at the
end of the wire's width a coordinate stands for the whole tail, 1 / (1 - r) = q + 1 times as likely.

For randomized response: odds / (odds + M - 1) for one's own bucket, 1 / (odds + M - 1) for another.

**Cover**: k items that serve weighted people best, each person by their best item.

    covered(S) = sum_p w_p max_{i in S} s_ip,    w_p >= 0, s_ip >= 0

Monotone and submodular, so greedy choice is within 1 - 1/e of the best k items, and a gain that was
computed for fewer chosen items is an upper bound: rows whose bound is below the best fresh gain are
never looked at (lazy greedy, Minoux 1978). Prefixes of the choice are the choices for smaller k.

Ties are exact: the gain of a row depends on that row alone and on what is chosen, by the same
operations in the same order for every row, so equal rows have equal gains, and the lower row wins.

What people have already is subtracted beforehand (`gains`), which makes it the same problem:

    max(held_p, max_{i in S} s_ip) = held_p + max_{i in S} max(0, s_ip - held_p)

Shapes: p pool items (rows), m people; scores are item by item, (p, m) float32, C-contiguous.
Complexity: O(p m) for the first item; then a few blocks of rows for each, at worst O(k p m).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange, ParameterError
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace
from askew.noise.randomized_response import RandomizedResponse
from askew.protocol.signal import Signal


def lattice_log_likelihood(
    lattice: LatticeLaplace, coordinates: Sequence[int], points: NDArray[np.float64]
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


LIMIT = 4096


@dataclass(frozen=True, eq=False)
class Prior:
    """Weighted people whom the server may know, with what they would like of a pool of items.

    points: (m, d), where their signals would come from without noise. scores: (p, m) float32, row i
    for items[i]: what the item adds to what they have, zero for what they have seen and where they
    expect nothing better. items: (p,), ascending item ids. weights: (m,), above 0; kept summing
    to 1. Raises OutOfRange otherwise.
    """

    points: NDArray[np.float64] = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
    items: NDArray[np.int64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        m, p = len(self.points), len(self.items)
        if self.points.ndim != 2 or not np.isfinite(self.points).all():
            raise OutOfRange("the points of a prior", "finite, (m, d)")
        if self.scores.shape != (p, m) or self.scores.dtype != np.float32:
            raise OutOfRange("the scores of a prior", f"float32, {p} items by {m} people")
        if not self.scores.size or not ((self.scores >= 0) & (self.scores < np.inf)).all():
            raise OutOfRange("the scores of a prior", "finite and at least 0")
        if (np.diff(self.items) <= 0).any() or self.items[0] < 0:
            raise OutOfRange("the items of a prior", "distinct and ascending")
        if self.weights.shape != (m,) or not ((self.weights > 0) & (self.weights < np.inf)).all():
            raise OutOfRange("the weights of a prior", "finite and above 0, one a point")
        object.__setattr__(self, "scores", np.ascontiguousarray(self.scores))
        object.__setattr__(self, "weights", self.weights / self.weights.sum())

    def __len__(self) -> int:
        """The number m of points."""
        return len(self.points)

    def posterior(self, log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights after a signal of this log-likelihood (m,), summing to 1."""
        weights: NDArray[np.float64] = self.weights * np.exp(log_likelihood - log_likelihood.max())
        weights /= weights.sum()
        return weights


class PosteriorRule:
    """The rule `posterior`. Everything in it is public.

    shared: item ids of the pool, best first: its first k are the zero-information slate. limit: how
    many points a signal looks at. Raises OutOfRange for a shared slate beyond the pool.
    """

    def __init__(self, prior: Prior, shared: Sequence[int], limit: int = LIMIT) -> None:
        self._prior, self._limit = prior, limit
        self._shared = pool_rows(prior, shared)

    def answer(self, signal: Signal, k: int) -> tuple[int, ...]:
        """Exactly k distinct item ids, ascending.

        Raises OutOfRange for a signal without a lattice, DimensionMismatch for one of another
        dimension, ParameterError unless 1 <= k <= the size of the shared slate.
        """
        if not 1 <= k <= len(self._shared):
            raise ParameterError("k", k, f"from 1 to the shared slate's size, {len(self._shared)}")
        logs = lattice_log_likelihood(signal.lattice, signal.values, self._prior.points)
        (rows,) = self.choose(self._prior.posterior(logs), k)
        return tuple(sorted(self._prior.items[rows].tolist()))

    def choose(self, weights: NDArray[np.float64], *sizes: int) -> list[list[int]]:
        """For each size k: k rows of the pool for people of these weights (m,)."""
        scores = self._prior.scores
        if len(weights) > self._limit:
            people, weights = systematic(weights, self._limit)
            scores = scores[:, people]
        light = weights.astype(np.float32)
        order = cover(scores, light, max(sizes))
        return [
            max(order[:k], self._shared[:k].tolist(), key=lambda rows: covered(scores, light, rows))
            for k in sizes
        ]


def pool_rows(prior: Prior, shared: Sequence[int]) -> NDArray[np.int64]:
    """The pool rows of a shared slate. Raises OutOfRange for items that are not of the pool."""
    rows: NDArray[np.int64] = np.searchsorted(prior.items, shared)
    inside = rows < len(prior.items)
    if not inside.all() or (prior.items[rows] != shared).any():
        raise OutOfRange("the shared slate of a prior", "items of its pool")
    return rows


def systematic(
    weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Some rows and their new weights: `size` equal shares, dealt at the fractions (i + 1/2) / size
    of the running sum of the weights, so each row's weight changes by less than 1 / size.
    """
    reached = np.cumsum(weights)
    fractions = (np.arange(size) + 0.5) * (reached[-1] / size)
    dealt = np.minimum(np.searchsorted(reached, fractions, side="right"), len(weights) - 1)
    rows, shares = np.unique(dealt, return_counts=True)
    return rows, shares / size


Scores = NDArray[np.float32]
_AT_ONCE = 1 << 15  # scores, which stay in a core's own cache


def cover(scores: Scores, weights: NDArray[np.float32], k: int) -> list[int]:
    """k distinct rows in the order of their choice. Raises ParameterError unless 1 <= k <= p."""
    n_rows, n_people = scores.shape
    if not 1 <= k <= n_rows:
        raise ParameterError("k", k, f"from 1 to the number of items, {n_rows}")
    bounds = np.vecdot(scores, weights).astype(np.float32)  # exact gains of a first item
    chosen = [int(bounds.argmax())]
    best = scores[chosen[0]].copy()
    block = np.empty((max(_AT_ONCE // n_people, 16), n_people), np.float32)
    while len(chosen) < k:
        bounds[chosen[-1]] = -np.inf
        row = _next(scores, weights, best, bounds, block)
        chosen.append(row)
        np.maximum(best, scores[row], out=best)
    return chosen


def covered(scores: Scores, weights: NDArray[np.float32], rows: Sequence[int]) -> float:
    """What these rows achieve: the weighted sum of people's best scores among them."""
    return float(covered_by_each(scores, weights, rows)[-1])


def covered_by_each(
    scores: Scores, weights: NDArray[np.float32], rows: Sequence[int]
) -> NDArray[np.float32]:
    """What the first row, the first two, and so on, achieve, (len(rows),)."""
    reached = np.maximum.accumulate(scores[list(rows)], axis=0)
    worth: NDArray[np.float32] = np.vecdot(reached, weights).astype(np.float32)
    return worth


def gains(scores: Scores, held: NDArray[np.float32]) -> Scores:
    """What each row would add for people who have something as good as `held` (m,), (p, m)."""
    found: Scores = np.maximum(scores - held, 0)
    return found


def _next(
    scores: Scores,
    weights: NDArray[np.float32],
    best: NDArray[np.float32],
    bounds: NDArray[np.float32],
    block: NDArray[np.float32],
) -> int:
    """The row of the largest gain, ties to the lower; tightens the bounds that it looks at.

    A block of rows of the largest bounds comes first: what it gains leaves few others.
    """
    base = np.vecdot(best, weights)
    slack = 1e-6 * base  # a bound is off by the rounding of one sum: rows that close are looked at
    winner, gain = -1, np.float32(-np.inf)
    stale, rows, others = bounds.copy(), _largest(bounds, len(block)), None
    while len(rows) and stale[rows].max() >= gain - slack:
        improved = np.maximum(scores[rows], best, out=block[: len(rows)])
        gains = np.vecdot(improved, weights) - base
        bounds[rows] = gains
        top = gains.max()
        lowest = int(rows[gains == top].min())
        if top > gain or (top == gain and lowest < winner):
            winner, gain = lowest, top
        if others is None:
            others = _from_the_largest(stale, rows, gain - slack)
        rows, others = others[: len(block)], others[len(block) :]
    return winner


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the largest values, those that are finite."""
    rows = np.argpartition(values, -min(count, len(values)))[-count:]
    return rows[np.isfinite(values[rows])]


def _from_the_largest(
    values: NDArray[np.float32], but: NDArray[np.int64], least: float
) -> NDArray[np.int64]:
    """The places of values from `least` on but for some, the largest first."""
    near = values >= least
    near[but] = False
    rows = np.flatnonzero(near)
    return rows[np.argsort(-values[rows], kind="stable")]
