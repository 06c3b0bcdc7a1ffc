"""How many sequences of k distinct items lose at most so much: the counting behind Joint.

With h_0 >= h_1 >= ... the counts in order, a sequence s_0, ..., s_{k-1} has loss
max_r (h_r - count of s_r). Position r may hold t_r(e) items at a loss of at most e, those with
count >= h_r - e; the sets grow with r, so

    N(e) = number of sequences of loss at most e = product over r of (t_r(e) - r).

N is a step function of e that changes only where e = h_r - v for a distinct count v.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod, sqrt

import numpy as np

from askew.mechanisms.noise import Floats
from askew.mechanisms.tally import Integers, Tally


@dataclass(frozen=True, repr=False)
class Steps:
    """Consecutive steps: where each begins, ln N there, and how much ln N rose at its beginning,
    within 2**-51 * items of itself. end: where the step after them begins, as `next_rise`.
    """

    begins: Integers
    log_counts: Floats
    rises: Floats
    end: int


@dataclass(repr=False, slots=True)
class Edge:
    """What lies below a loss: ln N there, and how many pairs (position, count) reach it."""

    at: int
    log_count: float
    pairs: int


class SequenceLosses:
    """How many sequences of k items have a loss of at most e, for one tally."""

    def __init__(self, tally: Tally, k: int) -> None:
        self.k, self.items = k, len(tally)
        self.tops = tally.top(k)
        self._values = tally.values
        self._holders = np.append(0, tally.ends)  # of the highest 0, 1, 2, ... distinct counts
        self._sizes = tally.sizes.astype(np.float64)
        self._above = self._holders[:-1].astype(np.float64)
        self._ascending = np.ascontiguousarray(tally.values[::-1])
        self._from_below = self._holders[::-1].astype(np.float64)  # for each that is not reached
        self._positions, self._places = np.arange(k), np.arange(k, dtype=np.float64)
        self.largest = int(self.tops[0] - tally.values[-1])
        # Not by two log-factorials: their difference would be off by 1e-9 at a million items.
        self.log_all = _log_product(np.arange(self.items - k + 1, self.items + 1))

    def _reached(self, e: int) -> Integers:
        """For every position, how many of the distinct counts lose at most e there."""
        return len(self._values) - np.searchsorted(self._ascending, self.tops - e, side="left")

    def choices(self, e: int) -> Integers:
        """t_r(e) for every position r, shape (k,)."""
        return self._choices(self._reached(e))

    def _choices(self, reached: Integers) -> Integers:
        choices: Integers = self._holders[reached]
        return choices

    def count(self, e: int) -> int:
        """N(e), exactly; below a loss of 0 the first position has no choice, so it is 0."""
        return prod((self.choices(e) - self._positions).tolist())

    def count_all(self) -> int:
        """d! / (d - k)!, exactly."""
        return prod(range(self.items - self.k + 1, self.items + 1))

    def edge(self, e: int) -> Edge:
        """What loses less than e >= 0. ln N is off by at most 2**-47 of itself.

        A draw takes most of its time here: as `_reached` and `_log_product`, in fewer steps.
        """
        beyond = self._ascending.searchsorted(self.tops - (e - 1))
        pairs = self.k * len(self._values) - int(beyond.sum())
        if not e:
            return Edge(e, -np.inf, pairs)
        factors = self._from_below[beyond]
        factors -= self._places
        return Edge(e, float(np.log(factors, out=factors).sum()), pairs)

    def next_rise(self, e: int) -> int:
        """The least loss above e at which N rises; `largest` + 1 if there is none."""
        return self._next(self._reached(e))

    def _next(self, reached: Integers) -> int:
        """The least loss at which a position reaches more than these counts."""
        open_still = reached < len(self._values)
        if not open_still.any():
            return self.largest + 1
        return int((self.tops[open_still] - self._values[reached[open_still]]).min())

    def steps(self, low: int, high: int) -> Steps:
        """The steps that begin in [low, high). Beside `edge`, see `log_error`."""
        first, last = self._reached(low - 1), self._reached(high - 1)
        if not low:  # nothing is below the first step, so that it has no rise
            base = first = self._reached(0)
        else:
            base = first
        log_base = _log_product(self._choices(base) - self._positions)
        begins, rises = self._rises(low, high, first, last)
        if not low:
            begins, rises = np.append(0, begins), np.append(0.0, rises)
        return Steps(begins, log_base + _running(rises), rises, self._next(last))

    def log_error(self, rise: float, pairs: int) -> float:
        """How wrong ln N may be in steps over which it rises by `rise`, beside that of an edge.

        The rise of each pair is off by 2**-52; at most k of one begin are added up one by one, then
        those of all begins by `_running`.
        """
        return (rise * (self.k + 2 * sqrt(pairs) + 16) + pairs) * 2.0**-52

    def _rises(
        self, low: int, high: int, first: Integers, last: Integers
    ) -> tuple[Integers, Floats]:
        """Distinct e in [low, high) where N rises, ascending, and the rise of ln N at each.

        The groups first..last-1 are those that a position comes to hold there.
        """
        sizes = last - first
        ends = np.cumsum(sizes)
        total = int(ends[-1])
        if total == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        groups = np.arange(total)  # in place: these arrays are what a draw takes most time for
        groups += np.repeat(first - ends + sizes, sizes)
        places = np.repeat(self.tops - low, sizes)
        places -= self._values[groups]
        left = self._above[groups]
        left -= np.repeat(self._places, sizes)
        rises = self._sizes[groups]
        rises /= left
        rises += 1
        np.log(rises, out=rises)
        if high - low <= 4 * total + 1024:
            sums = np.bincount(places, weights=rises).astype(np.float64, copy=False)
            begins: Integers = np.flatnonzero(sums).astype(np.int64, copy=False)
            return begins + low, sums[begins]
        order = np.argsort(places)
        places, rises = places[order], rises[order]
        starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
        return places[starts] + low, np.add.reduceat(rises, starts)


def _running(terms: Floats) -> Floats:
    """Their running sums, in rows and then row by row: no sum is of more than 2 sqrt(n) parts."""
    width = isqrt(len(terms)) + 1
    rows = np.zeros((len(terms) // width + 1, width))
    rows.ravel()[: len(terms)] = terms
    sums = np.cumsum(rows, axis=1)
    sums[1:] += np.cumsum(sums[:-1, -1])[:, None]
    return sums.ravel()[: len(terms)]


def _log_product(factors: Integers) -> float:
    """The sum of the logarithms; numpy adds in pairs, so 2**-47 holds for any number of them."""
    return float(np.log(factors.astype(np.float64)).sum())
