"""Items instead of offsets: the k items of a catalog that serve the noise best, without a prior.

A signal s could come from any person s - X, X of the law of the noise. The k items that minimize
E h(min_i distance(s - X, item_i)) are a facility location problem over draws of X; greedy choice
comes within a factor 1 - 1/e of the best possible saving (the saving is monotone and submodular,
Nemhauser, Wolsey, Fisher 1978). Savings only shrink as items are chosen, so most need not be
recomputed (lazy evaluation, Minoux 1978): an item is chosen when its fresh saving still leads.
Greedy regrets its first items, so each then moves to the best item for those it serves, until none
moves. The codebook snapped to items is settled in the same way, and the better of the two is taken:
for few items it is often the codebook, whose points were placed together.

Depends on the signal, the catalog and a public seed alone: post-processing, free of charge.

From probes to items: results must be things that exist.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.codebook import sample
from askew.placement.noise import Laplace, Norm
from askew.placement.problem import Disutility, Identity
from askew.placement.rule import place


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


_CHUNK = 4096
_ROUNDS = 30


def choose_items(  # noqa: PLR0913
    signal: NDArray[np.float64],
    positions: NDArray[np.float32],
    noise: Laplace,
    k: int,
    *,
    h: Disutility | None = None,
    disutility_metric: Norm | None = None,
    seed: int = 0,
    samples: int = 2000,
) -> tuple[int, ...]:
    """k distinct items for a signal (d,) among positions (n, d); ascending ids, ties to the lower.

    samples: draws of the noise. Raises ParameterError unless 1 <= k <= n and shapes agree.
    O(samples * n * d) for the distances and far less for the choice; memory samples * n floats.
    """
    if not 1 <= k <= len(positions):
        raise ParameterError("k", k, f"from 1 to the number of items, {len(positions)}")
    if signal.shape != (noise.dimension,) or positions.shape[1:] != signal.shape:
        raise ParameterError("signal", signal.shape, f"of dimension {noise.dimension}")
    draws = sample(noise, samples, np.random.default_rng(seed)) / np.float32(noise.epsilon)
    people = (signal - draws).astype(np.float32)
    costs = cost_table(people, positions, h or Identity(), disutility_metric or noise.metric)
    offsets = place(noise, Identity(), k, on_demand=False).offsets
    starts: list[list[int]] = [greedy(costs, k), list(snap(signal, offsets, positions, k))]
    settled = [settle(costs, start) for start in starts]
    best = min(range(len(settled)), key=lambda i: _total(costs, settled[i]))
    return tuple(sorted(settled[best]))


def cost_table(
    people: NDArray[np.float32], positions: NDArray[np.float32], h: Disutility, norm: Norm
) -> NDArray[np.float32]:
    """h(distance) for every item (rows) and person, (n, samples)."""
    table = np.empty((len(positions), len(people)), dtype=np.float32)
    for start in range(0, len(positions), _CHUNK):
        part = positions[start : start + _CHUNK]
        far = np.zeros((len(part), len(people)), dtype=np.float32)
        for axis in range(people.shape[1]):
            gap = part[:, axis : axis + 1] - people[:, axis]
            far += np.abs(gap) if norm == "l1" else gap * gap
        far = far if norm == "l1" else np.sqrt(far)
        table[start : start + _CHUNK] = h(far.astype(np.float64))
    return table


def greedy(costs: NDArray[np.float32], k: int) -> list[int]:
    """k rows of a cost table (n, samples), each the one that then saves most; ties to the lower."""
    first = int(np.argmin(costs.mean(axis=1, dtype=np.float64)))
    chosen, served = [first], costs[first].copy()
    # One pass for fresh savings; from then on each is an upper bound until recomputed.
    savings = np.maximum(served - costs, 0).sum(axis=1, dtype=np.float64)
    queue = [(-saving, row, 1) for row, saving in enumerate(savings) if row != first]
    heapq.heapify(queue)
    while len(chosen) < k:
        saving, row, known = heapq.heappop(queue)
        if known == len(chosen):
            chosen.append(row)
            served = np.minimum(served, costs[row])
            continue
        saving = -float(np.maximum(served - costs[row], 0).sum(dtype=np.float64))
        heapq.heappush(queue, (saving, row, len(chosen)))
    return chosen


def settle(costs: NDArray[np.float32], chosen: list[int]) -> list[int]:
    """The chosen rows, each moved to the best free row for the samples that it serves, while that
    lowers the total cost. O(n * samples) a round.
    """
    chosen = list(chosen)
    total = _total(costs, chosen)
    for _ in range(_ROUNDS):
        serves = costs[chosen].argmin(axis=0)
        moved = list(chosen)
        for slot in range(len(chosen)):
            its_own = costs[:, serves == slot].sum(axis=1, dtype=np.float64)
            its_own[[row for other, row in enumerate(moved) if other != slot]] = np.inf
            moved[slot] = int(np.argmin(its_own))
        reached = _total(costs, moved)
        if reached >= total:
            break
        chosen, total = moved, reached
    return chosen


def _total(costs: NDArray[np.float32], rows: Sequence[int]) -> float:
    return float(costs[list(rows)].min(axis=0).sum(dtype=np.float64))
