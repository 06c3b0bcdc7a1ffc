"""What the served rules are compared with: other ways to answer a noisy signal.

| rule | items |
|---|---|
| `remap` | the k nearest to the posterior's median, the point of least expected distance |
| `one` | one: the nearest to the signal |
| `area` | all within the radius of the signal that holds a person's nearest item in 95 % of cases |
| `cell` | all of the signal's cell in a public grid with cells of 4 / epsilon, or the nearest |

Source: remapping, Chatzikokolakis et al. 2017; the median, Weiszfeld 1937.
"""

from __future__ import annotations

import numpy as np

from askew.signal import Signal
from askew_server.retrieval.near.frame import Points
from askew_server.retrieval.near.index import MetricIndex, Rows
from askew_server.retrieval.near.people import People
from askew_server.retrieval.near.rules import checked

_HELD = 0.95
_CELL = 4.0  # side, in 1 / epsilon


class Remap:
    """The rule `remap`."""

    def __init__(self, index: MetricIndex, people: People) -> None:
        self._index, self._people = index, people

    def choose(self, signal: Signal, k: int) -> Rows:
        """Exactly k."""
        frame = self._index.frame
        median = _median(self._people.sample(signal) * frame.units) / frame.units
        return np.asarray(np.sort(self._index.nearest(median[None], checked(k, self._index))[0]))


class One:
    """The rule `one`, whatever k is."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, _: int) -> Rows:
        """The nearest."""
        frame = self._index.frame
        return np.asarray(self._index.nearest(frame.inside(frame.aim(signal))[None])[0])


class Area:
    """The rule `area`, whatever k is."""

    def __init__(self, index: MetricIndex, people: People) -> None:
        self._index, self._people = index, people

    def choose(self, signal: Signal, _: int) -> Rows:
        """As many as the radius holds, at least one."""
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        wanted = self._index.nearest(self._people.sample(signal))[:, 0]
        away = np.sort(self._index.distances(wanted, center[None])[0])
        radius = float(away[int(np.ceil(_HELD * len(away))) - 1])
        return self._index.within(center, radius * (1 + 1e-6))


class Cell:
    """The rule `cell`, whatever k is."""

    def __init__(self, index: MetricIndex) -> None:
        self._index = index

    def choose(self, signal: Signal, _: int) -> Rows:
        """As many as the cell holds, at least one."""
        frame = self._index.frame
        center = frame.inside(frame.aim(signal))
        side = _CELL / frame.epsilon(signal) / frame.units
        cell = np.floor(center / side)
        corner = np.minimum((cell + 1) * side, frame.extent)
        reach = float(np.abs((corner - cell * side) * frame.units).sum())
        found = self._index.within(center, reach)
        inside = np.floor(self._index.grid(found) / side) == cell
        kept = found[inside.all(axis=1)]
        return np.asarray(kept if len(kept) else self._index.nearest(center[None])[0])


def _median(points: Points) -> Points:
    """The point (d,) of least mean Euclidean distance to points (m, d), by 30 steps."""
    median = points.mean(axis=0)
    for _ in range(30):
        away = np.maximum(np.sqrt(((points - median) ** 2).sum(axis=1)), 1e-9)
        median = (points / away[:, None]).sum(axis=0) / (1 / away).sum()
    return np.asarray(median)
