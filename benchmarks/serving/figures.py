"""Ratios of paired windows with intervals, and the goals that they are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.serving.windows import Window
from numpy.typing import NDArray

Measure = Callable[[Window], float]
Windows = Mapping[str, Sequence[Window]]
_RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A median, and the bootstrap interval of 90 % around it."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:7.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Goal:
    """A bound: at least `least`, or at most `most`. Missed only by a whole interval."""

    least: float | None = None
    most: float | None = None

    def missed(self, found: Estimate) -> bool:
        beyond = self.most is not None and found.low > self.most
        return beyond or (self.least is not None and found.high < self.least)

    def __str__(self) -> str:
        return f"at least {self.least:g}" if self.most is None else f"at most {self.most:g}"


def ratio(over: Sequence[Window], under: Sequence[Window], measure: Measure) -> Estimate:
    """Of the windows of the same rounds."""
    return estimate([measure(a) / measure(b) for a, b in zip(over, under, strict=True)])


def difference(over: Sequence[Window], under: Sequence[Window], measure: Measure) -> Estimate:
    """Of the windows of the same rounds."""
    return estimate([measure(a) - measure(b) for a, b in zip(over, under, strict=True)])


def estimate(values: Sequence[float]) -> Estimate:
    """The median of values, and its interval."""
    held: NDArray[np.float64] = np.array(values)
    drawn = np.random.default_rng(0).choice(held, (_RESAMPLES, len(held)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.05, 0.95])
    return Estimate(float(np.median(held)), float(low), float(high))


def rate(window: Window) -> float:
    """Calls a second."""
    return window.rate


def cpu(window: Window) -> float:
    """Seconds of CPU of the server, a call."""
    return window.cpu


def described(name: str, windows: Sequence[Window]) -> str:
    """The medians of a contender, for a table."""
    columns = np.median(
        [(w.rate, 1e6 * w.cpu, 1e3 * w.p50, 1e3 * w.p99, w.own, w.foreign) for w in windows], axis=0
    )
    calls, micro, p50, p99, own, foreign = columns.tolist()
    return f"  {name:38s} {calls:8.0f} {micro:8.0f} {p50:8.2f} {p99:8.2f} {own:6.2f} {foreign:8.2f}"


HEADING = (
    f"  {'':38s} {'calls/s':>8s} {'CPU us':>8s} {'p50 ms':>8s} {'p99 ms':>8s}"
    f" {'load':>6s} {'foreign':>8s}"
)
