"""The rule from a signal to k items, public and in one place: the server answers by it, and a
device plays it at home to see what an epsilon and a k would give.

The rule depends on the signal and on public things alone, so it is post-processing, free of charge.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray

from askew.errors import ParameterError
from askew.placement.problem import Identity, Laplace
from askew.placement.rule import place
from askew.protocol.signal import Signal
from askew.spaces.vectors import Encoder

_KEPT = 1024  # placements: devices choose k, so the cache needs a limit


class OffsetRule:
    """Look at k probes around a signal, and answer with the best item of each.

    A probe is signal + offset, the offsets being a codebook that is optimal for the noise. Nobody
    is outside the box [0, unit]**d, so each offset is taken at the same quantile of the noise as
    seen from inside it: on each axis,

        probe = Q(G(offset)),   G the noise's distribution function, Q the quantile function of its
                                part within the box, around the signal clamped into the box

    which is the offset itself far from the edges, wastes no probe beyond them, and is exact for
    people who are spread evenly, which is what the encoder's ranks make them.

    What an item is worth at a probe is the product of its vector v with the taste that the probe is
    decoded to. That is linear in d shifts w (`Encoder.shifts`), so 1 + d numbers an item say it:

        <v, origin> + sum_j w_j <v, p_j>,    p_j the taste that a shift of 1 in coordinate j adds

    All items are looked at, so how long an answer takes depends on k alone.

    held: how many items, the first ones, every device has already: no answer names them.
    """

    def __init__(self, encoder: Encoder, scoring: NDArray[np.float32], *, held: int = 0) -> None:
        self._encoder, self._held = encoder, held
        along = np.vstack([encoder.origin, encoder.per_shift])
        # Row by row, and each row summed in one order: equal vectors get equal numbers.
        numbers = [np.vecdot(scoring[held:], row, dtype=np.float64) for row in along]
        self._numbers: NDArray[np.float64] = np.array(numbers)

    @property
    def n_items(self) -> int:
        """Return how many items an answer may name: all but those that every device has."""
        return int(self._numbers.shape[1])

    def answer(self, signal: Signal, k: int) -> tuple[int, ...]:
        """Return k distinct item ids, ascending, none below `held`: the best item of every probe
        that no probe before it has taken, of equal ones the lowest id, nearest probe first, and
        again from the first where there are fewer probes than k. Raises ParameterError for a k
        beyond 1 to `n_items`, and OutOfRange for a signal of a map. O(k d n_items).
        """
        if not 1 <= k <= self.n_items:
            raise ParameterError("k", k, f"from 1 to the number of items, {self.n_items}")
        shifts = self._encoder.shifts(self.probes(signal, k))
        chosen: list[int] = []
        for shift in islice(cycle(shifts), k):
            scores = self._numbers[0] + (shift[:, None] * self._numbers[1:]).sum(axis=0)
            scores[chosen] = -np.inf
            chosen.append(int(scores.argmax()))
        return tuple(self._held + item for item in sorted(chosen))

    def probes(self, signal: Signal, k: int) -> NDArray[np.float64]:
        """Return the probes, (n, d) with n <= k, in the box; that of the shortest offset (l1)
        first. Raises OutOfRange for a signal of a map.
        """
        levels, epsilon = _placed(self._encoder.dimension, k), float(signal.lattice.epsilon)
        return _inside(levels, signal.point(), epsilon, self._encoder.unit)

    def prepare(self, most: int) -> None:
        """Place the offsets of all answers of up to `most` items, so that whoever asks later can
        not tell by the time it takes what others have asked. Some 10 ms each.
        """
        for k in range(1, min(most, self.n_items) + 1):
            _placed(self._encoder.dimension, k)


@lru_cache(maxsize=_KEPT)
def _placed(dimension: int, k: int) -> NDArray[np.float64]:
    # G of the offsets, which is the same for every epsilon; the nearest first.
    offsets = offsets_of(1.0, dimension, k)
    offsets = offsets[np.argsort(np.abs(offsets).sum(axis=1), kind="stable")]
    half = 0.5 * np.exp(-np.abs(offsets))
    return np.where(offsets < 0, half, 1 - half)


def offsets_of(epsilon: float, dimension: int, k: int) -> NDArray[np.float64]:
    """Return the offsets from a signal at which the rule looks, (n, d) with n <= k, in units of
    distance, far from the edges: those of `place` for l1 Laplace noise of this epsilon and h(t) =
    t, in its order.
    """
    placed = place(Laplace(epsilon, dimension), Identity(), k)
    return placed.offsets.reshape(-1, dimension)


def _inside(
    levels: NDArray[np.float64], point: NDArray[np.float64], epsilon: float, unit: float
) -> NDArray[np.float64]:
    # At quantiles of the Laplace law on [0, unit] around the point.
    center = _within(point, 0.0, unit)
    beyond = 0.5 * np.exp(-epsilon * np.array([center, unit - center]))  # of both edges
    low, high = beyond[0], 1 - beyond[1]
    q = low + levels * (high - low)
    below = np.log(2 * np.maximum(np.minimum(q, 1 - q), 1e-300))  # of the nearer tail
    return _within(center + np.copysign(below, q - 0.5) / epsilon, 0.0, unit)


def _within(x: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    # As np.clip, in a third of its time.
    return np.minimum(np.maximum(x, low), high)
