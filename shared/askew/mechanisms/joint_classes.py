"""Sequences of k distinct items, collapsed by their largest shortfall.

With h_0 >= h_1 >= ... the counts in order, a sequence s_0, ..., s_{k-1} has loss
max_r (h_r - count of s_r). Position r may hold t_r(e) items at a loss of at most e, those with
count >= h_r - e; the sets grow with r, so

    N(e) = number of sequences of loss at most e = product over r of (t_r(e) - r).

N is a step function of e that changes only where e = h_r - v for a distinct count v. The mechanism
on all d!/(d-k)! sequences is a mixture over these steps alone:

    exp(-q L) = integral from L to infinity of q exp(-q s) ds, so
    P(sequence) ~ exp(-q L) is: draw a step [a, b) with weight N(a) (exp(-q a) - exp(-q b)),
    then a uniform sequence of loss at most a.

The range of e is cut into segments that hold a bounded number of steps; what lies beyond e weighs
at most N_all exp(-q e), so few segments matter however small or large q is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import fsum, inf, log, prod

import numpy as np

from askew.exact import CHUNK, Chunk, Listing, enclose
from askew.mechanisms.contest import Contest, Groups
from askew.mechanisms.noise import Floats, Link, Noisy
from askew.mechanisms.tally import Integers, Tally

ALL = -1  # the key of the last step, where every sequence qualifies
_EVENTS = 1 << 18
# Of ln N, relative to the largest logarithm among the steps that weigh anything.
_COUNT_ERROR = float(np.finfo(np.longdouble).eps) * 2 * _EVENTS + 2.0**-47
_RARE = 40.0


@dataclass(frozen=True, repr=False)
class Steps:
    """Consecutive steps: where each begins, ln N there, and how much ln N rose at its beginning."""

    begins: Integers
    log_counts: Floats
    rises: Floats


class SequenceLosses:
    """How many sequences of k items have a loss of at most e, for one tally."""

    def __init__(self, tally: Tally, k: int) -> None:
        self.k, self.items = k, len(tally)
        self.tops = tally.top(k)
        self._ascending, self._ends = tally.values[::-1], tally.ends
        self._positions = np.arange(k)
        self.largest = int(self.tops[0] - tally.values[-1])
        # Not by two log-factorials: their difference would be off by 1e-9 at a million items.
        factors = np.arange(self.items - k + 1, self.items + 1, dtype=np.float64)
        self.log_all = fsum(np.log(factors).tolist())

    def choices(self, e: int) -> Integers:
        """t_r(e) for every position r, shape (k,)."""
        last = len(self._ends) - 1 - np.searchsorted(self._ascending, self.tops - e, side="left")
        return np.where(last >= 0, self._ends[last], 0)

    def count(self, e: int) -> int:
        """N(e), exactly."""
        return prod(np.maximum(self.choices(e) - self._positions, 0).tolist())

    def count_all(self) -> int:
        """d! / (d - k)!, exactly."""
        return prod(range(self.items - self.k + 1, self.items + 1))

    def steps(self, low: int, high: int) -> Steps:
        """The steps that begin in [low, high), the first of them at `low` in any case."""
        start = max(low - 1, 0)
        base = self.choices(start)
        log_base = fsum(np.log((base - self._positions).astype(np.float64)).tolist())
        e, rises = self._events(start, high)
        if low == 0:
            begins, rises = np.append(0, e), np.append(0.0, rises)
        elif len(e) and e[0] == low:
            begins = e
        else:
            begins, rises = np.append(low, e), np.append(0.0, rises)
        log_counts = log_base + np.cumsum(rises, dtype=np.longdouble)
        return Steps(begins, log_counts.astype(np.float64), rises)

    def events_between(self, low: int, high: int) -> int:
        """How many pairs (position, value) have low < h_r - value < high."""
        first, last = self._reach(low, high)
        return int((last - first).sum())

    def _reach(self, low: int, high: int) -> tuple[Integers, Integers]:
        """For every position the groups first..last-1 with low < h_r - value < high."""
        groups = len(self._ends)
        first = groups - np.searchsorted(self._ascending, self.tops - low, side="left")
        last = groups - np.searchsorted(self._ascending, self.tops - high, side="right")
        return first, np.maximum(last, first)

    def _events(self, low: int, high: int) -> tuple[Integers, Floats]:
        """Distinct e in (low, high) where N rises, ascending, and the rise of ln N at each."""
        first, last = self._reach(low, high)
        sizes = last - first
        total = int(sizes.sum())
        if total == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        positions = np.repeat(self._positions, sizes)
        offsets = np.repeat(first - np.cumsum(sizes) + sizes, sizes)
        groups = np.arange(total) + offsets
        values = self._ascending[::-1]
        e = self.tops[positions] - values[groups]
        added = self._ends[groups] - self._ends[groups - 1]
        rises = np.log1p(added / (self._ends[groups - 1] - positions))
        if high - low <= 4 * total + 1024:
            sums = np.bincount(e - low, weights=rises).astype(np.float64)
            places: Integers = np.flatnonzero(sums).astype(np.int64)
            rises = sums[places]
            return places + low, rises
        order = np.argsort(e)
        e, rises = e[order], rises[order]
        starts = np.flatnonzero(np.append(True, e[1:] != e[:-1]))
        return e[starts], np.add.reduceat(rises, starts)


class JointClasses:
    """The steps as weighted classes: weight N(a) (exp(-rate a) - exp(-rate b)) for [a, b).

    truncation: the loss is min(loss, truncation), so every sequence qualifies from there on.
    """

    def __init__(self, losses: SequenceLosses, rate: Fraction, truncation: int | None) -> None:
        self.losses, self.rate = losses, rate
        self.end = losses.largest if truncation is None else min(truncation, losses.largest)
        self._step = float(rate)
        self._bounds = [0]
        self._kept: dict[int, Steps] = {}

    def begin(self, key: int) -> int:
        """Where a step begins: the largest loss of its sequences. Not for ALL."""
        index, place = key >> 32, key & 0xFFFFFFFF
        return int(self._steps(index).begins[place])

    def listing(self, depth: float) -> Listing:
        """The steps from 0 on, until the rest weighs below exp(-depth) of them."""
        parts: list[Callable[[], Chunk]] = []
        log_sum, rest, index = -inf, -inf, 0
        while self._begin(index) < self.end:
            chunk = self._chunk(index)
            parts += [partial(self._piece, index, i) for i in range(0, len(chunk.keys), CHUNK)]
            log_sum = float(np.logaddexp(log_sum, np.logaddexp.reduce(chunk.logs)))
            index += 1
            rest = self.losses.log_all - self._step * self._begin(index)
            if rest < log_sum - depth:
                break
        else:
            rest = -inf
            logs = np.array([self.losses.log_all - self._step * self.end])
            parts.append(partial(Chunk, np.array([ALL]), logs))
        largest = 2 * self.losses.log_all + abs(depth) + 40 if depth < inf else inf
        return Listing(parts, _COUNT_ERROR * min(largest, 1e9), rest + 2.0**-20)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Integer bounds of a step's weight."""
        if key == ALL:
            return enclose(self.losses.count_all(), self.rate * self.end, shift)
        index, place = key >> 32, key & 0xFFFFFFFF
        begins = self._steps(index).begins
        begin = int(begins[place])
        end = int(begins[place + 1]) if place + 1 < len(begins) else self._begin(index + 1)
        count = self.losses.count(begin)
        from_low, from_high = enclose(count, self.rate * begin, shift + 8)
        to_low, to_high = enclose(count, self.rate * end, shift + 8)
        return max(from_low - to_high, 0) >> 8, -(-(from_high - to_low) >> 8)

    def _begin(self, index: int) -> int:
        """Where a segment begins; segments do not depend on the depth that is asked for."""
        while len(self._bounds) <= index:
            low = self._bounds[-1]
            width = int((self.losses.log_all + 64) / self._step) + 1
            high = min(low + width, self.end)
            while high > low + 1 and self.losses.events_between(low, high) > _EVENTS:
                high = low + (high - low + 1) // 2
            self._bounds.append(max(high, low + 1))
        return self._bounds[index]

    def _steps(self, index: int) -> Steps:
        if index not in self._kept:
            if sum(len(steps.begins) for steps in self._kept.values()) > 4 * _EVENTS:
                self._kept.clear()
            self._kept[index] = self.losses.steps(self._begin(index), self._begin(index + 1))
        return self._kept[index]

    def _chunk(self, index: int) -> Chunk:
        steps = self._steps(index)
        begins = steps.begins
        widths = np.append(begins[1:], self._begin(index + 1)) - begins
        decay = np.log(-np.expm1(-self._step * widths))
        logs = steps.log_counts - self._step * begins + decay
        return Chunk((index << 32) + np.arange(len(begins)), logs)

    def _piece(self, index: int, start: int) -> Chunk:
        chunk = self._chunk(index)
        return Chunk(chunk.keys[start : start + CHUNK], chunk.logs[start : start + CHUNK])


def enter_by_loss(losses: SequenceLosses, rate: Fraction, contest: Contest) -> None:
    """Let the sequences of every loss e, N(e) - N(e-1) of them, draw their best noisy score.

    Losses that win with probability below exp(-_RARE) are one group; the law does not depend on it.
    """
    low, end, step = 0, losses.largest + 1, float(rate)
    cut = min(end, int((losses.log_all + _RARE) / step) + 1)
    log_error = _COUNT_ERROR * (2 * losses.log_all + 40)
    while low < cut:
        high = cut
        while high > low + 1 and losses.events_between(max(low - 1, 0), high) > _EVENTS:
            high = low + (high - low + 1) // 2
        steps = losses.steps(low, high)
        real = (steps.rises > 0) | (steps.begins == 0)
        shares = np.where(steps.begins == 0, 1.0, -np.expm1(-steps.rises))[real]
        begins = steps.begins[real]
        if len(begins):
            log_sizes = steps.log_counts[real] + np.log(shares)
            contest.enter(begins, -step * begins, log_sizes, log_error)
        low = high
    left = losses.count_all() - losses.count(cut - 1)
    if left:
        score = -rate * cut

        def opened(_: int, link: Link) -> list[Noisy]:
            steps = losses.steps(cut, end)
            return contest.members(steps.begins[steps.rises > 0].tolist(), link)

        floats = np.array([float(score)]), np.array([log(left)])
        group = Groups(np.array([cut]), *floats, 0.0, lambda _: (score, left), opened)
        contest.enter_groups(group)
