"""Fits the feature space: which ratings are likes, directions, ranks, the clip and the unit.

- A rating is a like by the scale that it was read on, or by the ratings' own range.
- Directions are the principal axes of people's tastes, or learned ones.
- F_j is the normal distribution of people's coordinate j, cut at 0.5 % and 99.5 %: of the smooth
  ranks tried it has the smallest slopes for its spread, and it tells no more of the people than
  their mean and spread.
- The clip spares all but the few largest contributions of likes: the bound of one rating is
  proportional to it, and on the ratings tried a profile loses next to nothing.
- The unit makes the median l1 distance between two people 1, rounded up to a short fraction, unless
  devices would refuse the space then: where a few people are far from all the others, or most have
  few likes, it is the largest one that they accept. Then the median is below 1, and an epsilon per
  unit distance hides two such people better than it says.

Vectors are rounded to 4-bit codes so that the scores of people stay, not the numbers.

    t the tastes of people, C = mean of t t^T; item v becomes w, what codes can say, with a small
    (v - w)^T C (v - w), the mean square error of its score

Coordinates are rounded one after the other, the dearest first. Those still to come make the error
of each good by the least squares that C gives: for the upper Cholesky factor U of C^-1 in that
order, coordinate j's error over U_jj, times U_jk, is taken off each later k. Tastes lean much the
same way, so this makes good most of what nearest rounding loses. Scales end at .85 of the largest
number: cutting the few beyond costs less than coarser steps, once errors are made good.
Source: Frantar, Ashkboos, Hoefler, Alistarh 2022 (GPTQ), after Hassibi and Stork 1993.
Complexity: O(n D^2) for n items in D dimensions. Deterministic.

Learned directions. Principal axes keep the variance of tastes; learned directions keep what the
answer needs. They maximize what a server that weighs people by the signal expects to achieve,

    E_y max_S sum_p P(p | y) max_{i in S} s_ip,    y a signal, S among the slates of a library

by random search among rotations of the first principal axes. Every candidate meets the same people
and the same noise, so that differences are not chance. The library holds the greedy slates of the
signals of each axis by itself and of the best directions so far, which makes a trial one matrix
product instead of as many greedy choices as there are signals. It is a public choice from public
figures: whatever comes out, the guarantee is the encoder's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtri

from askew.dp.privacy import DEVICE_REACH
from askew.errors import DataError
from askew.retrieval.cover import cover
from askew.spaces.encoder import KNOTS, UNIT_STEP, Encoder
from askew.spaces.item_codes import rounded, scales_of
from askew.spaces.vectors import FeatureSpace, RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste.training.factors import Tastes, divisors

_REACH = 0.85  # of the largest number in each dimension
_RIDGE = 0.1  # of the mean of C's diagonal: tastes of others than these people
Vectors = NDArray[np.float32]


def round_for(tastes: NDArray[np.float64], vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Vectors (n, D) that codes can say, and their scales (D,), for people (m, D) like these."""
    scales = scales_of(np.float32(_REACH) * vectors)
    moment = tastes.T @ tastes / len(tastes)
    mean = float(np.trace(moment)) / len(moment)
    moment += (_RIDGE * mean or 1.0) * np.eye(len(moment))
    order = np.argsort(-np.diag(moment) * scales.astype(np.float64) ** 2, kind="stable")
    factor = np.linalg.cholesky(np.linalg.inv(moment[np.ix_(order, order)])).T
    left = vectors[:, order].astype(np.float64)
    said = np.empty_like(vectors)
    for j, place in enumerate(order):
        said[:, place] = rounded(left[:, [j]].astype(np.float32), scales[[place]])[:, 0]
        error = (left[:, j] - said[:, place]) / factor[j, j]
        left[:, j + 1 :] -= error[:, None] * factor[j, j + 1 :]
    return said, scales


_FEWEST_LIKES = 0.02  # of ratings; of those that people give, a third to a half are likes


def scale_of(table: RatingTable, like_from: float | None = None) -> RatingScale:
    """The scale of a table; by default the upper quarter of it is a like.

    Raises DataError where the ratings have no range, or hardly any is a like by default: then they
    are no ratings as people give them, and what is a like must be said.
    """
    if table.scale is not None:
        return table.scale
    if not len(table):
        raise DataError("there are no ratings")
    lowest, highest = float(table.rating.min()), float(table.rating.max())
    if lowest == highest:
        raise DataError(
            f"every rating is {lowest:g}: there is no scale to learn from; with `train --counts` "
            "each of them is a like"
        )
    if like_from is not None:
        return RatingScale(lowest, highest, like_from)
    scale = RatingScale.between(lowest, highest)
    share = float((table.rating >= scale.like_from).mean())
    if share < _FEWEST_LIKES:
        raise DataError(
            f"of ratings from {lowest:g} to {highest:g}, {share:.2%} are {scale.like_from:g} or "
            "more, in the upper quarter: `train --counts` reads counts, such as plays, and "
            "`train --like-from` says which ratings are likes"
        )
    return scale


_MEASURED_PAIRS = 20_000
_CUT = 0.005  # of people on either side of a rank
_CLIPPED = 0.03  # of likes


@dataclass(frozen=True)
class FittedSpace:
    """A space that devices enter, and the median distance between two of its people in it.

    median_distance: in hundredths, since a model tells it; below 1 where the unit had to give way.
    """

    space: FeatureSpace
    median_distance: float


def fit_space(  # noqa: PLR0913
    tastes: Tastes,
    vectors: NDArray[np.float32],
    scale: RatingScale,
    dimension: int,
    rng: np.random.Generator,
    *,
    scales: NDArray[np.float32] | None = None,
    directions: NDArray[np.float64] | None = None,
) -> FittedSpace:
    """The space of d dimensions, along the principal axes or other directions (D, d). scales: of
    the codes that these vectors are rounded to; those that suit them where they are not.

    Raises DataError where people are too much alike to have one.
    """
    origin = tastes.vectors.mean(axis=0)
    if directions is None:
        directions = principal_axes(tastes.vectors, dimension)
    projected = tastes.vectors @ directions  # (n_people, d)
    likes = tastes.people.likes
    draft = Encoder(
        directions=directions.astype(np.float32),
        origin=origin.astype(np.float32),
        knots=_knots(projected),
        clip=1.0,
        least_likes=tastes.least_likes,
        unit=1.0,
    )
    clip = _clip(np.abs(vectors @ draft.directions) @ draft.slopes, likes)
    clipped = replace(draft, clip=clip)
    z = (likes @ clipped.contributions(vectors)) / divisors(likes, tastes.least_likes)
    median = _median_distance(clipped.ranks(z), rng)
    wanted = math.ceil(1 / (median * UNIT_STEP)) * UNIT_STEP
    unit = float(min(wanted, clipped.unit_within(DEVICE_REACH)))
    codes = scales_of(vectors) if scales is None else scales
    space = FeatureSpace(scale, replace(clipped, unit=unit), codes)
    return FittedSpace(space, 1.0 if unit == wanted else max(round(unit * median, 2), 0.01))


def principal_axes(tastes: NDArray[np.float64], dimension: int) -> NDArray[np.float64]:
    """The d directions of the largest variance, (D, d), their largest coordinate positive."""
    centered = tastes - tastes.mean(axis=0)
    _, axes = np.linalg.eigh(centered.T @ centered)
    chosen: NDArray[np.float64] = axes[:, ::-1][:, :dimension]
    largest = np.take_along_axis(chosen, np.abs(chosen).argmax(axis=0)[None], axis=0)
    signed: NDArray[np.float64] = chosen * np.sign(largest)
    return signed


def _knots(projected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normal quantiles of each coordinate of people, (d, KNOTS)."""
    spread = projected.std(axis=0)
    if not spread.min() > 1e-6:
        raise DataError("people are too much alike in these ratings for this many dimensions")
    quantiles = ndtri(_CUT + (1 - 2 * _CUT) * np.linspace(0, 1, KNOTS))
    knots: NDArray[np.float64] = projected.mean(axis=0)[:, None] + spread[:, None] * quantiles
    return knots


def _clip(sizes: NDArray[np.floating], likes: csr_array) -> float:
    """The size that all but the largest few contributions of likes stay within."""
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(likes.sum(axis=0)[order])
    return float(sizes[order[np.searchsorted(reached, (1 - _CLIPPED) * reached[-1])]])


def _median_distance(ranks: NDArray[np.float64], rng: np.random.Generator) -> float:
    left, right = rng.integers(len(ranks), size=(2, _MEASURED_PAIRS))
    apart = np.abs(ranks[left] - ranks[right]).sum(axis=1)[left != right]
    median = float(np.median(apart)) if apart.size else 0.0
    if not median > 1e-3:
        raise DataError("most people are alike in these ratings: there is no unit of distance")
    return median


POOL = 500
_BEST_OF_EACH = 10
_CHUNK = 1024


def favorites(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Count how many of these people (n, n_items) have each among their best few, (n_items,)."""
    depth = min(_BEST_OF_EACH, scores.shape[1])
    counts = np.zeros(scores.shape[1], dtype=np.int64)
    for start in range(0, len(scores), _CHUNK):
        part = scores[start : start + _CHUNK]
        best = np.argpartition(-part, depth - 1, axis=1)[:, :depth]
        counts += np.bincount(best.ravel(), minlength=len(counts))
    return counts


def pool_of(counts: NDArray[np.int64], least: int, most: int = POOL) -> NDArray[np.int64]:
    """Return the items that are most often somebody's favorite, ascending; ties to the lower item.

    As many as are anybody's favorite, but from `least` to `most` where the catalog has them.
    """
    size = min(max(int((counts > 0).sum()), least), max(most, least), len(counts))
    return np.sort(np.argsort(-counts, kind="stable")[:size])


_SPAN = 8  # principal axes that are combined
_PEOPLE = 2500
_SIGNALS = 128
_LIBRARY = 24  # signals whose slates join the library, of each axis and in each round
_ROUNDS = 4  # after each, the library grows
_TRIALS = 60
_PAIRS = 4000
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Purpose:
    """What directions are learned for: epsilon per median distance, and k."""

    epsilon: float
    k: int


def learned_directions(
    tastes: Array, scores: NDArray[np.float32], dimension: int, purpose: Purpose, *, seed: int
) -> Array:
    """(D, d) orthonormal directions for people of tastes (m, D) and scores (p, m)."""
    rng = np.random.default_rng([seed, 2])
    span = principal_axes(tastes, max(dimension, min(_SPAN, tastes.shape[1])))
    arena = _Arena.of(tastes @ span, scores, dimension, purpose, rng)
    best, step = np.eye(span.shape[1], dimension), 0.5
    axes = [np.eye(span.shape[1])[:, axis : axis + 1] for axis in range(span.shape[1])]
    library = np.concatenate([arena.slates(axis) for axis in axes])
    for _ in range(_ROUNDS):
        library = np.concatenate([library, arena.slates(best)])
        reached = arena.value(best, library)
        for _ in range(_TRIALS):
            found = _orthonormal(best + step * rng.normal(size=best.shape))
            value = arena.value(found, library)
            improved = value > reached
            best, reached = (found, value) if improved else (best, reached)
            step *= 1.2 if improved else 0.97
    return span @ best


@dataclass(frozen=True, eq=False)
class _Arena:
    """What every candidate meets: z (m, span), scores (p, m), who sends signals, their noise at
    scale 1, (signals, span), and the pairs (2, pairs) whose median distance is the unit.
    """

    z: Array = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
    senders: NDArray[np.int64] = field(repr=False)
    noise: Array = field(repr=False)
    pairs: NDArray[np.int64] = field(repr=False)
    purpose: Purpose

    @classmethod
    def of(
        cls,
        z: Array,
        scores: NDArray[np.float32],
        dimension: int,
        purpose: Purpose,
        rng: np.random.Generator,
    ) -> _Arena:
        people = np.sort(rng.permutation(len(z))[:_PEOPLE])
        count = min(_SIGNALS, len(people))
        senders = rng.integers(len(people), size=count)
        noise = _even_laplace(count, dimension, rng)
        pairs = rng.integers(len(people), size=(2, _PAIRS))
        known = np.ascontiguousarray(scores[:, people])
        return cls(z[people], known, senders, noise, pairs[:, pairs[0] != pairs[1]], purpose)

    def value(self, directions: Array, library: NDArray[np.float32]) -> float:
        """What the best slates of the library achieve, in mean over signals."""
        return float((self._posteriors(directions) @ library.T).max(axis=1).mean())

    def slates(self, directions: Array) -> NDArray[np.float32]:
        """What the greedy slates of some signals give each person, (some, m)."""
        some = self._posteriors(directions)[:_LIBRARY]
        chosen = [cover(self.scores, weights, self.purpose.k) for weights in some]
        return np.stack([self.scores[rows].max(axis=0) for rows in chosen])

    def _posteriors(self, directions: Array) -> NDArray[np.float32]:
        """(signals, m), each row summing to 1."""
        ranks = np.argsort(np.argsort(self.z @ directions, axis=0), axis=0) / len(self.z)
        left, right = self.pairs
        points = ranks / np.median(np.abs(ranks[left] - ranks[right]).sum(axis=1))
        noise = self.noise[:, : points.shape[1]] / self.purpose.epsilon
        far = np.zeros((len(self.senders), len(points)))
        for axis in range(points.shape[1]):
            signal = points[self.senders, axis] + noise[:, axis]
            far += np.abs(signal[:, None] - points[:, axis])
        weights = np.exp(-self.purpose.epsilon * (far - far.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        light: NDArray[np.float32] = weights.astype(np.float32)
        return light


def _even_laplace(count: int, dimension: int, rng: np.random.Generator) -> Array:
    """Noise at evenly spaced quantiles, dealt at random, so that a mean over it varies less."""
    quantiles = (np.arange(count) + 0.5) / count
    spread = -np.log(1 - np.abs(2 * quantiles - 1)) * np.sign(quantiles - 0.5)
    return np.column_stack([rng.permutation(spread) for _ in range(dimension)])


def _orthonormal(directions: Array) -> Array:
    factor, rest = np.linalg.qr(directions)
    oriented: Array = factor * np.sign(np.diag(rest))
    return oriented
