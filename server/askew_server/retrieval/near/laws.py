"""What depends on a signal's law alone, kept for the last laws that were asked by.

Devices choose epsilon and k, so what is kept needs a limit, and whoever asks by ever new laws has
everything made anew each time: `knows` tells beforehand, so that such a question can be admitted as
what it is. Whether a law was asked by before shows in the time of an answer. It tells which epsilon
and k others chose, which are no secret, and nothing of where they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import Generic, TypeVar

from askew.signal import Mechanism, Signal

CACHED_LAWS = 256
_Made = TypeVar("_Made")


class Laws(Generic[_Made]):
    """make: from a signal of the law at zero and k to what is kept. For any number of threads: two
    that come first make the same twice.
    """

    def __init__(self, make: Callable[[Signal, int], _Made]) -> None:
        self._make, self._lock = make, Lock()
        self._kept: OrderedDict[tuple[Mechanism, int], _Made] = OrderedDict()

    def knows(self, signal: Signal, k: int = 0) -> bool:
        """Whether `of` has nothing to make."""
        return (signal.mechanism, k) in self._kept

    def of(self, signal: Signal, k: int = 0) -> _Made:
        """What belongs to the signal's law and k."""
        law = signal.mechanism, k
        with self._lock:
            found = self._kept.get(law)
            if found is not None:
                self._kept.move_to_end(law)
                return found
        found = self._make(replace(signal, values=(0,) * len(signal.values)), k)
        with self._lock:
            self._kept[law] = found
            if len(self._kept) > CACHED_LAWS:
                self._kept.popitem(last=False)
        return found
