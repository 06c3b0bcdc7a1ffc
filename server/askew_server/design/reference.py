"""The encoder of a reference population: ranks of their tastes along given directions.

knots    quantiles of z = P^T taste, with steps no narrower than a share of the usual one, since
         the largest slope L is what one rating is charged by
clip     a quantile of sum_j L_j |(P^T v_i)_j| over the likes of the population
unit     makes the median l1 distance between two of them 1

All of it is public, and says something of the population: it must be one that may be known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.encoder import KNOTS, Encoder

CLIPPED_LIKES = 0.97  # share of likes whose contribution stays as it is
_EDGE = 0.005  # of the population beyond the first knot, and beyond the last
_LEAST_STEP = 0.4  # of the mean distance between the inner knots
_PAIRS = 40_000


def fit_encoder(
    directions: NDArray[np.floating],
    vectors: NDArray[np.float32],
    tastes: NDArray[np.float64],
    like_counts: NDArray[np.int64],
    least_likes: int,
) -> Encoder:
    """The encoder for directions (D, d), from tastes (m, D); like_counts: likes of each item.

    Its unit is provisional until `with_unit` has seen the population's points.
    """
    knots = np.stack([_knots(z) for z in (tastes @ directions).T])
    slopes = 1 / ((KNOTS - 1) * np.diff(knots, axis=1).min(axis=1))
    sizes = np.abs(vectors @ directions) @ slopes
    order = np.argsort(sizes)
    reached = np.cumsum(like_counts[order])
    clip = sizes[order][np.searchsorted(reached, CLIPPED_LIKES * reached[-1])]
    return Encoder(
        directions=directions.astype(np.float32),
        origin=tastes.mean(axis=0).astype(np.float32),
        knots=knots,
        clip=float(clip),
        least_likes=least_likes,
        unit=1.0,
    )


def points_of(encoder: Encoder, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """`encoder.encode` for many people at once, from their z (m, d)."""
    ranks = np.linspace(0.0, 1.0, KNOTS)
    columns = [np.interp(z, row, ranks) for z, row in zip(sums.T, encoder.knots, strict=True)]
    return encoder.unit * np.column_stack(columns)


def median_distance(points: NDArray[np.float64]) -> float:
    """The median l1 distance between two different rows of points (m, d), from seeded pairs."""
    left, right = np.random.default_rng(0).integers(len(points), size=(2, _PAIRS))
    apart = np.abs(points[left] - points[right]).sum(axis=1)[left != right]
    return float(np.median(apart))


def _knots(z: NDArray[np.float64]) -> NDArray[np.float64]:
    knots = np.quantile(z, np.linspace(_EDGE, 1 - _EDGE, KNOTS))
    inner = np.quantile(z, [0.1, 0.9])
    least = _LEAST_STEP * (inner[1] - inner[0]) / (0.8 * (KNOTS - 1))
    steps = np.maximum(np.diff(knots), max(least, 1e-6))
    widened = np.concatenate([[0.0], np.cumsum(steps)])
    middle = (KNOTS - 1) // 2
    return widened + knots[middle] - widened[middle]
