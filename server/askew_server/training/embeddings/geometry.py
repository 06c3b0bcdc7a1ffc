"""From anybody's item vectors to vectors that a device can fold likes in with.

A device knows item vectors w_i and its person's likes S, and nothing else of the model that made
them. It ranks item j by <sum of w_i over S, w_j>, up to a factor. Two things that fit most models:

    sum      w_i = v_i: a person is the sum of what they like.
    ridge    w_i = (V^T V + m I)^(-1/2) v_i, with m the mean eigenvalue of V^T V. Then
             <sum w_i, w_j> = <u, v_j>,  u = (V^T V + m I)^-1 sum of v_i over S,
             so a person is folded into the given vectors by ridge regression on what they like,
             as models that factorize a table fold people in, and popular directions count less.

Ranks do not depend on the length unit of V: vectors are divided by their largest coordinate first,
so that any geometry of dot products is within a device's limits. A rotation would change no score,
and was tried before rounding to 4 bits: along principal axes the ratio was lower or the same
(docs/training.md), so coordinates stay where they are: the square root is the symmetric one.
Complexity: O(n D^2). Source: fold-in, Hu, Koren, Volinsky 2008, with all weights equal.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class FoldIn(StrEnum):
    """How a person's likes become a taste."""

    RIDGE = "ridge"
    SUM = "sum"


def for_devices(vectors: NDArray[np.float64], fold_in: FoldIn) -> NDArray[np.float32]:
    """The vectors (n, D) that devices get, at most 1 in size."""
    scaled = vectors / np.abs(vectors).max()
    if fold_in is FoldIn.SUM:
        narrow: NDArray[np.float32] = scaled.astype(np.float32)
        return narrow
    values, axes = np.linalg.eigh(scaled.T @ scaled)
    kept = np.maximum(values, 0.0)
    whitened: NDArray[np.float64] = scaled @ (axes / np.sqrt(kept + kept.mean())) @ axes.T
    return whitened.astype(np.float32)
