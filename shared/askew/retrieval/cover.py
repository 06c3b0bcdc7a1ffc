"""k items that serve weighted people best, each person by their best item.

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
Source: greedy choice, Sarmasarkar, Jiang, Goel, Korolova, Munagala 2025 (arXiv 2504.07403); lazy
choice, Minoux 1978.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError

Scores = NDArray[np.float32]
_AT_ONCE = 1 << 15  # scores, which stay in a core's own cache


def cover(scores: Scores, weights: NDArray[np.float32], k: int) -> list[int]:
    """Return k distinct rows in the order of greedy choice: each the one that adds most to the sum
    over people of weight (m,) times the best score (p, m) so far; of a tie the lower. Raises
    ParameterError unless 1 <= k <= p.
    """
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


def gains(scores: Scores, held: NDArray[np.float32]) -> Scores:
    """Return max(scores - held, 0), (p, m): what every row would add to a best so far of `held`
    (m,).
    """
    return np.asarray(np.maximum(scores - held, 0))


def _next(
    scores: Scores,
    weights: NDArray[np.float32],
    best: NDArray[np.float32],
    bounds: NDArray[np.float32],
    block: NDArray[np.float32],
) -> int:
    # Ties go to the lower row. Bounds that are looked at get tighter. A block of rows of the
    # largest bounds comes first: what it gains leaves few others.
    base = np.vecdot(best, weights)
    slack = 1e-6 * base  # a bound is off by the rounding of one sum: rows that close are looked at
    winner, gain = -1, np.float32(-np.inf)
    rows = np.argpartition(bounds, -min(len(block), len(bounds)))[-len(block) :]
    stale, rows, others = bounds.copy(), rows[np.isfinite(bounds[rows])], None
    while len(rows) and stale[rows].max() >= gain - slack:
        improved = np.maximum(scores[rows], best, out=block[: len(rows)])
        gains = np.vecdot(improved, weights) - base
        bounds[rows] = gains
        top = gains.max()
        lowest = int(rows[gains == top].min())
        if top > gain or (top == gain and lowest < winner):
            winner, gain = lowest, top
        if others is None:
            near = stale >= gain - slack
            near[rows] = False
            others = np.flatnonzero(near)
            others = others[np.argsort(-stale[others], kind="stable")]
        rows, others = others[: len(block)], others[len(block) :]
    return winner
