"""What depends on a signal's law alone, kept for the last laws that were asked by.

Devices choose epsilon and k, so what is kept needs a limit, and whoever asks by ever new laws has
everything made anew each time: `knows` tells beforehand, so that such a question can be admitted as
what it is. Whether a law was asked by before shows in the time of an answer. It tells which epsilon
and k others chose, which are no secret, and nothing of where they are: the plane of a map's signal,
which is that of somebody's country, belongs to no law.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Generic, TypeVar

from askew.hexagonal import HexagonalLattice
from askew.lattice import Lattice
from askew.metric.map_noise import MapNoise
from askew.metric.region import LEAST_COSINE
from askew.signal import Signal

CACHED_LAWS = 256
_Made = TypeVar("_Made")


class Laws(Generic[_Made]):
    """make: from a signal of the law at zero and k to what is kept, in noise offsets. On a map that
    signal lies in one plane, whoever asked. For any number of threads: two that come first make the
    same twice.
    """

    def __init__(self, make: Callable[[Signal, int], _Made]) -> None:
        self._make, self._lock = make, Lock()
        self._kept: OrderedDict[tuple[Lattice | HexagonalLattice, int], _Made] = OrderedDict()

    def knows(self, signal: Signal, k: int = 0) -> bool:
        """Whether `of` has nothing to make."""
        return (_lattice(signal), k) in self._kept

    def of(self, signal: Signal, k: int = 0) -> _Made:
        """What belongs to the signal's law and k."""
        law = _lattice(signal), k
        with self._lock:
            found = self._kept.get(law)
            if found is not None:
                self._kept.move_to_end(law)
                return found
        found = self._make(_at_zero(signal), k)
        with self._lock:
            self._kept[law] = found
            if len(self._kept) > CACHED_LAWS:
                self._kept.popitem(last=False)
        return found


def _lattice(signal: Signal) -> Lattice | HexagonalLattice:
    noise = signal.mechanism
    return noise.lattice if isinstance(noise, MapNoise) else signal.lattice


def _at_zero(signal: Signal) -> Signal:
    noise = signal.mechanism
    if isinstance(noise, MapNoise):
        noise = replace(noise, cosine=LEAST_COSINE)
    return replace(signal, mechanism=noise, values=(0,) * len(signal.values))
