"""Who may have sent a signal: a sample of positions by the posterior, drawn without coins.

    weight of a cell    proportional to  people in it * P(signal | its center)
    sample i of m       the cell at the fraction (i + 1/2) / m of the running sum of the weights,
                        and within it the i-th point of an R_d sequence

A function of the signal alone: the same bytes make the same sample. Complexity: the cells of a
window and m, whatever the signal's noise is. Source: R_d, Roberts 2018 (low discrepancy from the
generalized golden ratio).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askew.signal import Signal
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.frame import Frame, Points

SAMPLES = 256
_REACH = 6.0  # of a window, in 1 / epsilon


@dataclass(frozen=True, eq=False)
class Kinds:
    """What people look for, by public shares: the codes (n,) of the items' kinds, -1 where a kind
    is unknown, and the share (c,) of each kind.
    """

    codes: NDArray[np.int32] = field(repr=False)
    shares: Points


class People:
    """Whom a server expects where."""

    def __init__(self, frame: Frame, density: Density) -> None:
        self._frame, self._density = frame, density
        self._jitter = _low_discrepancy(SAMPLES, len(frame.extent))

    def sample(self, signal: Signal) -> Points:
        """Equally likely positions, (m, d) grid coordinates inside the space."""
        frame = self._frame
        center = frame.inside(frame.aim(signal))
        reach = np.full((1, len(center)), _REACH / frame.epsilon(signal))
        window = self._density.window(center, frame.spread(signal, reach)[0])
        logs = frame.log_likelihood(signal, window.centers)
        weights = window.people * np.exp(logs - logs.max())
        reached = np.cumsum(weights.ravel(), dtype=np.float64)
        fractions = (np.arange(SAMPLES) + 0.5) * (reached[-1] / SAMPLES)
        cells = np.minimum(np.searchsorted(reached, fractions), len(reached) - 1)
        places = np.unravel_index(cells, weights.shape)
        middle = np.stack([c[at] for c, at in zip(window.centers, places, strict=True)], axis=1)
        return frame.inside(middle + self._jitter * window.cell)


def _low_discrepancy(count: int, dimension: int) -> Points:
    """The first points of the R_d sequence, (count, d), in [-1/2, 1/2)."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1, dimension + 1)
    return (np.arange(1, count + 1)[:, None] * steps) % 1 - 0.5
