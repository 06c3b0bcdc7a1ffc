"""Short windows of load in random order, and what each took of whom.

CPU of a server: the clocks of its process and of the processes below it, threads included. Foreign
CPU: what of the machine's busy time (/proc/stat) neither the server nor the generator took. Ratios
are of the windows of one round, with bootstrap intervals, and are held against goals.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.results import busy_seconds
from benchmarks.rows import descendants
from benchmarks.serving.http2 import Tally
from numpy.typing import NDArray


@dataclass(frozen=True)
class Contender:
    """Something to be measured: its server's process, and what loads it for some seconds."""

    name: str
    process: int
    load: Callable[[float], Tally]


@dataclass(frozen=True)
class Window:
    """One window of one contender: calls a second, seconds of CPU and of latency.

    own, foreign: CPU of the generator, and of everybody else, in cores.
    """

    rate: float
    cpu: float
    p50: float
    p99: float
    own: float
    foreign: float


def rotations(
    contenders: Sequence[Contender], rounds: int, seconds: float
) -> Mapping[str, list[Window]]:
    """Return the windows of each contender, one a round; each round has its own random order."""
    order = random.Random(7)
    windows: dict[str, list[Window]] = {each.name: [] for each in contenders}
    for each in contenders:  # connections, caches, the first threads
        each.load(min(seconds, 0.3))
    for _ in range(rounds):
        for each in order.sample(contenders, len(contenders)):
            windows[each.name].append(window(each, seconds))
    return windows


def window(contender: Contender, seconds: float) -> Window:
    """Load a contender for so long, and return what that took."""
    tree = [contender.process, *descendants(contender.process)]
    before, own, busy = cpu_of(tree), time.process_time(), busy_seconds()
    tally = contender.load(seconds)
    cpu, mine = cpu_of(tree) - before, time.process_time() - own
    calls, latencies = len(tally.latencies), sorted(tally.latencies)
    foreign = busy_seconds() - busy - cpu - mine
    return Window(
        rate=calls / tally.seconds,
        cpu=cpu / calls,
        p50=latencies[calls // 2],
        p99=latencies[min(calls - 1, 99 * calls // 100)],
        own=mine / tally.seconds,
        foreign=max(0.0, foreign / tally.seconds),
    )


def cpu_of(processes: Sequence[int]) -> float:
    """Return the seconds of CPU that they took so far."""
    # The clock of another process, by its number: see clock_getcpuclockid(3).
    return sum(time.clock_gettime((~each << 3) | 2) for each in processes)


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
    """A bound. Missed only by a whole interval."""

    most: float

    def missed(self, estimate: Estimate) -> bool:
        return estimate.low > self.most

    def __str__(self) -> str:
        return f"at most {self.most:g}"


def ratio(over: Sequence[Window], under: Sequence[Window], measure: Measure) -> Estimate:
    """Return the ratio of a measure of the windows of the same rounds."""
    return estimate([measure(a) / measure(b) for a, b in zip(over, under, strict=True)])


def estimate(values: Sequence[float]) -> Estimate:
    """Return the median of values and its interval."""
    held: NDArray[np.float64] = np.array(values)
    drawn = np.random.default_rng(0).choice(held, (_RESAMPLES, len(held)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.05, 0.95])
    return Estimate(float(np.median(held)), float(low), float(high))


def rate(window: Window) -> float:
    """Return calls a second."""
    return window.rate


def cpu(window: Window) -> float:
    """Return seconds of CPU of the server, a call."""
    return window.cpu


def described(name: str, windows: Sequence[Window]) -> str:
    """Return the medians of a contender, as a line of a table."""
    columns = np.median(
        [(w.rate, 1e6 * w.cpu, 1e3 * w.p50, 1e3 * w.p99, w.own, w.foreign) for w in windows], axis=0
    )
    calls, micro, p50, p99, own, foreign = columns.tolist()
    return f"  {name:38s} {calls:8.0f} {micro:8.0f} {p50:8.2f} {p99:8.2f} {own:6.2f} {foreign:8.2f}"


HEADING = (
    f"  {'':38s} {'calls/s':>8s} {'CPU us':>8s} {'p50 ms':>8s} {'p99 ms':>8s}"
    f" {'load':>6s} {'foreign':>8s}"
)
