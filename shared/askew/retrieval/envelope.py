"""The items that can be among the best k anywhere: the upper layers of their linear scores.

Shifts w lie in a box (`Encoder.shift_limits`), which is halved again and again. In each part an
item i is dropped where k others J are better throughout it:

    F_i(w) < min_{j in J} F_j(w) - 4 margin    at every corner w of the part

Proof that no answer changes. At the corners f_i < f_j - 2 margin for each j in J, since F is off by
less than margin (`linear_scores`); f_j - f_i is linear, so that holds in the whole part; so does
s_i < s_j of the exact scores. So i is not among the best k there, whatever ties are decided by, and
an item that is anywhere among them is kept. Which J are tried decides how many are dropped, never
which may be: those that fall least behind the best one of any corner, in units of how far the usual
item does. Items are read in pieces; the k that make one be dropped need not be kept.

Complexity: O(n 2**d) for n items and then little, where few are kept; numpy only.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from askew.retrieval.linear_scores import LinearScores

MOST_DIMENSIONS = 4  # a part of the box has 2**d corners
_MOST = 1 << 15  # items kept: beyond, nothing is gained
_SHALLOW, _DEEP = 6, 8  # how often the box is halved: for each piece, and in the end


def upper_layers(
    pieces: Iterable[LinearScores], box: NDArray[np.float64], k: int
) -> LinearScores | None:
    """Of all the items of these pieces, in the order of their ids, those that may be among the best
    k at some shift within the box (2, d). None where they are too many to gain by.
    """
    kept: LinearScores | None = None
    for piece in pieces:
        kept = _within(piece if kept is None else _joined(kept, piece), box, k, _SHALLOW)
        if len(kept) > _MOST:
            return None
    return None if kept is None else _within(kept, box, k, _DEEP)


def _within(scores: LinearScores, box: NDArray[np.float64], k: int, depth: int) -> LinearScores:
    """Those of the items that survive in any part of the box, halved `depth` times."""
    alive = np.zeros(len(scores), dtype=np.bool_)
    parts = [(box, np.arange(len(scores)), depth)]
    while parts:
        part, rows, left = parts.pop()
        rows = rows[_survive(scores, rows, part, k)]
        if left and len(rows) > k:
            parts += [(half, rows, left - 1) for half in _halves(scores.numbers[1:, rows], part)]
        else:
            alive[rows] = True
    return scores.only(np.flatnonzero(alive))


def _survive(
    scores: LinearScores, rows: NDArray[np.int64], part: NDArray[np.float64], k: int
) -> NDArray[np.bool_]:
    """Which of these items may be among the best k somewhere in this part of the box."""
    if len(rows) <= k:
        return np.ones(len(rows), dtype=np.bool_)
    found = scores.at(_corners(part), rows)  # (2**d, items)
    top, usual = found.max(axis=1, keepdims=True), found.mean(axis=1, keepdims=True)
    behind = ((found - top) / np.maximum(top - usual, np.finfo(found.dtype).tiny)).min(axis=0)
    better = np.argpartition(behind, -k)[-k:]
    least = found[:, better].min(axis=1, keepdims=True)
    kept: NDArray[np.bool_] = (found >= least - 4 * scores.margin).any(axis=0)
    return kept


def _corners(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners of a box (2, d), (2**d, d)."""
    d = part.shape[1]
    ends = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    corners: NDArray[np.float64] = part[ends, np.arange(d)]
    return corners


def _halves(slopes: NDArray[np.float64], part: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """A box in two, across the axis along which these items (d, m) differ the most."""
    axis = int((np.ptp(slopes, axis=1) * (part[1] - part[0])).argmax())
    low, high = part.copy(), part.copy()
    low[1, axis] = high[0, axis] = part[:, axis].mean()
    return [low, high]


def _joined(first: LinearScores, second: LinearScores) -> LinearScores:
    numbers = np.concatenate([first.numbers, second.numbers], axis=1)
    return LinearScores(numbers, np.concatenate([first.items, second.items]), first.margin)
