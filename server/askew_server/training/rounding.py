"""Vectors rounded to 4-bit codes so that the scores of people stay, not the numbers.

    t the tastes of people, C = mean of t t^T; item v becomes w, what codes can say, with a small
    (v - w)^T C (v - w), the mean square error of its score

Coordinates are rounded one after the other, the dearest first, and the error of each is made good
by those still to come, by the least squares that C gives: for the upper Cholesky factor U of C^-1
in that order, coordinate j's error over U_jj, times U_jk, is taken off each later k. Tastes lean
much the same way, so this makes good most of what nearest rounding loses. Scales end at .85 of the
largest number: cutting the few beyond costs less than coarser steps, once errors are made good.

Source: Frantar, Ashkboos, Hoefler, Alistarh 2022 (GPTQ), after Hassibi and Stork 1993.
Complexity: O(n D^2) for n items in D dimensions. Deterministic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.item_codes import rounded, scales_of

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
