"""Fits the feature space: which ratings are likes, directions, ranks, the clip and the unit.

- A rating is a like by the scale that it was read on, or by the ratings' own range.
- Directions are the principal axes of people's tastes. Rotations learned for what answers add gave
  at most .003 +- .001 of NDCG@10 more, at 1 a rating on MovieLens 1M.
- F_j is the normal distribution of people's coordinate j, cut at 0.5 % and 99.5 %: of the smooth
  ranks tried it has the smallest slopes for its spread, and it tells no more of the people than
  their mean and spread.
- The clip spares all but the few largest contributions of likes: the bound of one rating is
  proportional to it, and on the ratings tried a profile loses next to nothing.
- The unit is the largest with which one rating moves a point by at most 1, as devices count it, and
  no two people are farther apart than devices accept. Where the second binds, one rating moves a
  point by less, and an epsilon of one rating hides it better than it says.

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
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from askew.dp.privacy import DEVICE_DIAMETER
from askew.errors import DataError
from askew.spaces.item_codes import rounded, scales_of
from askew.spaces.vectors import KNOTS, Encoder, FeatureSpace, RatingScale
from askew_server.ratings import RatingTable
from askew_server.taste.people import Tastes, divisors

_REACH = 0.85  # of the largest number in each dimension
_RIDGE = 0.1  # of the mean of C's diagonal: tastes of others than these people
Vectors = NDArray[np.float32]


def round_vectors(tastes: NDArray[np.float64], vectors: Vectors) -> tuple[Vectors, Vectors]:
    """Return vectors (n, D) rounded to what 4-bit codes can say, so that scores stay for people
    with tastes (m, D) like these, and the scales (D,) of the codes.
    """
    scales = scales_of(np.float32(_REACH) * vectors)
    moment = tastes.T @ tastes / len(tastes)
    mean = float(np.trace(moment)) / len(moment)
    moment += (_RIDGE * mean or 1.0) * np.eye(len(moment))
    order = np.argsort(-np.diag(moment) * scales.astype(np.float64) ** 2, kind="stable")
    factor = np.linalg.cholesky(np.linalg.inv(moment[np.ix_(order, order)])).T
    left = vectors[:, order].astype(np.float64)
    coded = np.empty_like(vectors)
    for j, place in enumerate(order):
        coded[:, place] = rounded(left[:, [j]].astype(np.float32), scales[[place]])[:, 0]
        error = (left[:, j] - coded[:, place]) / factor[j, j]
        left[:, j + 1 :] -= error[:, None] * factor[j, j + 1 :]
    return coded, scales


_FEWEST_LIKES = 0.02  # of ratings; of those that people give, a third to a half are likes


def rating_scale_of(table: RatingTable, like_from: float | None = None) -> RatingScale:
    """Return the rating scale of a table: the one that it was read on, or from its lowest to its
    highest rating, where likes begin at `like_from`, by default at the upper quarter: 4 of 1 to 5.

    Raises DataError where there is no rating, all are one, or fewer than 2 % are likes by default:
    then they are no ratings as people give them, and what is a like must be said. Raises OutOfRange
    for a like_from that is not above the lowest, or is above the highest.
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


def fit_space(  # noqa: PLR0913
    tastes: Tastes,
    vectors: NDArray[np.float32],
    scale: RatingScale,
    dimension: int,
    rng: np.random.Generator,
    *,
    scales: NDArray[np.float32],
) -> tuple[FeatureSpace, float]:
    """Return a space of d dimensions, along the principal axes of tastes, that devices enter, and
    the median distance between two of its people, rounded to .1 since a model tells it, at least .1
    and at most the diameter of the space.

    scales: of the codes that these vectors are rounded to. Raises DataError where people are too
    much alike to have such a space.
    """
    origin = tastes.vectors.mean(axis=0)
    centered = tastes.vectors - origin
    _, axes = np.linalg.eigh(centered.T @ centered)
    directions = axes[:, ::-1][:, :dimension]  # of the largest variance
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    directions = directions * np.sign(largest)  # the largest number of each is positive
    projected = tastes.vectors @ directions  # (n_people, d)
    spread = projected.std(axis=0)
    if not spread.min() > 1e-6:
        raise DataError(
            "people are too much alike in these ratings for this many dimensions: train on more "
            "of them"
        )
    quantiles = ndtri(_CUT + (1 - 2 * _CUT) * np.linspace(0, 1, KNOTS))
    encoder = Encoder(
        directions=directions.astype(np.float32),
        origin=origin.astype(np.float32),
        knots=projected.mean(axis=0)[:, None] + spread[:, None] * quantiles,
        clip=1.0,
        least_likes=tastes.least_likes,
        unit=1.0,
    )
    likes = tastes.people.likes
    sizes = np.abs(vectors @ encoder.directions) @ encoder.slopes
    order = np.argsort(sizes, kind="stable")
    reached = np.cumsum(likes.sum(axis=0)[order])
    within = order[np.searchsorted(reached, (1 - _CLIPPED) * reached[-1])]
    encoder = replace(encoder, clip=float(sizes[within]))
    z = (likes @ encoder.contributions(vectors)) / divisors(likes, tastes.least_likes)
    median = _median_distance(encoder.ranks(z), rng)
    encoder = replace(encoder, unit=float(encoder.unit_within(DEVICE_DIAMETER)))
    space = FeatureSpace(scale, encoder, scales)
    return space, min(max(round(encoder.unit * median, 1), 0.1), float(space.diameter))


def _median_distance(ranks: NDArray[np.float64], rng: np.random.Generator) -> float:
    left, right = rng.integers(len(ranks), size=(2, _MEASURED_PAIRS))
    apart = np.abs(ranks[left] - ranks[right]).sum(axis=1)[left != right]
    median = float(np.median(apart)) if apart.size else 0.0
    if not median > 1e-3:
        raise DataError(
            "most people are alike in these ratings, so there is no unit of distance: train on "
            "more of them"
        )
    return median
