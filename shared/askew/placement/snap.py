"""From probes to items: results must be things that exist."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError


def snap(
    signal: NDArray[np.float64],
    offsets: NDArray[np.float64],
    positions: NDArray[np.float32],
    k: int,
) -> tuple[int, ...]:
    """Exactly k distinct items for a signal (d,), offsets (n, d), item positions (n_items, d).

    Each probe signal + offset takes its nearest item; duplicates leave places free, which go to the
    items nearest the signal. Ascending ids. Depends on the signal alone, so it is post-processing.
    Raises ParameterError unless 1 <= k <= n_items. O(n * n_items * d).
    """
    if not 1 <= k <= len(positions):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(positions)}")
    # On the line, offsets come as (n,) and the space has one coordinate.
    probes = signal + offsets.reshape(-1, len(signal))
    chosen = {int(distances(probe, positions).argmin()) for probe in probes}
    if len(chosen) < k:
        nearby = nearest(distances(signal, positions), k).tolist()
        free = [item for item in nearby if item not in chosen]
        chosen.update(free[: k - len(chosen)])
    return tuple(sorted(chosen))


def distances(point: NDArray[np.float64], positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """The l1 distance from a point (d,) to each position (n, d), shape (n,)."""
    far: NDArray[np.float64] = np.abs(positions - point).sum(axis=1, dtype=np.float64)
    return far


def nearest(far: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The indices of the `count` smallest distances, nearest first, ties to the lower index."""
    return np.argsort(far, kind="stable")[:count]
