"""Who may have sent a signal: a few hundred equally likely positions, without coins.

By the noise alone: signal + noise at fixed quantiles (the law is symmetric), clamped into the
space.

By a density of people:

    weight of a cell    proportional to  people in it * P(signal | its center)
    sample i of m       the cell at the fraction (i + 1/2) / m of the running sum of the weights,
                        and within it the i-th point of an R_d sequence

Both are functions of the signal alone: the same bytes make the same sample. Complexity: the cells
of a window and m, whatever numbers a device sends. Source: systematic sampling; R_d, Roberts 2018
(points of low discrepancy from the generalized golden ratio).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from askew.signal import Signal
from askew_server.retrieval.near.density import Density
from askew_server.retrieval.near.frame import Frame, Points
from askew_server.retrieval.near.laws import Laws

SAMPLES = 256
_REACH = 6.0  # of a window, in 1 / epsilon


class People(Protocol):
    """Whom a server expects where, once it has a signal."""

    def sample(self, signal: Signal) -> Points:
        """Equally likely positions, (m, d) grid coordinates inside the space."""


class ByNoise:
    """People are anywhere alike. count: how many of them to look at."""

    def __init__(self, frame: Frame, count: int = SAMPLES) -> None:
        self._frame, self._count = frame, count
        self._kept = Laws(lambda law, _: self.moves(law))

    def sample(self, signal: Signal) -> Points:
        """Around the signal."""
        frame = self._frame
        moves = frame.spread(signal, self._kept.of(signal))
        return frame.inside(frame.inside(frame.aim(signal)) + moves)

    def moves(self, law: Signal) -> Points:
        """From the signal to the positions, as noise offsets (m, d)."""
        dimension = len(self._frame.extent)
        first = (np.arange(self._count) + 0.5) / self._count
        others = low_discrepancy(self._count, dimension - 1)
        uniform = np.column_stack([first, others])
        return self._frame.noise(law, uniform)


class ByDensity:
    """People are where a density has them."""

    def __init__(self, frame: Frame, density: Density) -> None:
        self._frame, self._density = frame, density
        self._jitter = low_discrepancy(SAMPLES, len(frame.extent)) - 0.5
        self._fractions = (np.arange(SAMPLES) + 0.5) / SAMPLES

    def sample(self, signal: Signal) -> Points:
        """By the posterior, within 6 / epsilon of the signal."""
        frame = self._frame
        center = frame.inside(frame.aim(signal))
        reach = np.full((1, len(center)), _REACH / frame.epsilon(signal))
        window = self._density.window(center, frame.spread(signal, reach)[0])
        logs = frame.log_likelihood(signal, window.centers)
        reached = np.cumsum(window.people * np.exp(logs - logs.max()), dtype=np.float64)
        cells = np.searchsorted(reached, self._fractions * reached[-1])
        places = np.unravel_index(np.minimum(cells, len(reached) - 1), logs.shape)
        middle = np.stack([c[at] for c, at in zip(window.centers, places, strict=True)], axis=1)
        return frame.inside(middle + self._jitter * window.cell)


def low_discrepancy(count: int, dimension: int) -> Points:
    """The first points of the R_d sequence, (count, d), in [0, 1)."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1, dimension + 1)
    return np.asarray(np.arange(1, count + 1)[:, None] * steps % 1)
