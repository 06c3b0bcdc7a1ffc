"""The classes behind Joint: sequences of k distinct items that have one loss.

**Counting.** With h_0 >= h_1 >= ... the counts in order, a sequence s_0, ..., s_{k-1} has loss
max_r (h_r - count of s_r). Position r may hold t_r(e) items at a loss of at most e, those with
count >= h_r - e; the sets grow with r, so

    N(e) = number of sequences of loss at most e = product over r of (t_r(e) - r).

N is a step function of e that changes only where e = h_r - v for a distinct count v.

**Which losses matter.** A step of loss [a, b) weighs N(a) (exp(-q a) - exp(-q b)). So from N at two
edges alone

    the steps that begin in [low, high) weigh at most N(high - 1) exp(-q low), and
    all steps together weigh at least N(e) exp(-q e), for every e.

A segment that is bounded far below the whole is never listed; one that is not, and holds many
steps between loose bounds, is cut. The law does not depend on where segments are cut: what is
left out enters a draw by its bound.

**The law.** The mechanism on all d!/(d-k)! sequences is a mixture over the steps of N alone:

    exp(-q L) = integral from L to infinity of q exp(-q s) ds, so
    P(sequence) ~ exp(-q L) is: draw a step [a, b) with weight N(a) (exp(-q a) - exp(-q b)),
    then a uniform sequence of loss at most a.

What lies beyond e weighs at most N_all exp(-q e), so few steps matter however small or large q is;
`_segments_of` finds them without listing the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import expm1, inf, isqrt, log, prod, sqrt

import numpy as np

from askew.mechanisms.contest import Contest, Floats, Link, Noisy
from askew.mechanisms.tally import Integers, Tally
from askew.mechanisms.weights import WeightBlock, WeightTable, enclose


@dataclass(frozen=True, repr=False)
class LossSteps:
    """Consecutive steps of N, by ascending loss. begins: the losses at which they begin, (n,).
    log_counts: ln N there. rises: how much ln N rose there, within 2**-51 * items of itself; 0 at
    a loss of 0. end: the loss at which N rises next, as `next_rise` of the last.
    """

    begins: Integers
    log_counts: Floats
    rises: Floats
    end: int


@dataclass(repr=False, slots=True)
class Edge:
    """A loss, `at`; ln N of the loss one below it, -inf at 0; and the number of pairs of a position
    r and a distinct count v with h_r - v below it.
    """

    at: int
    log_count: float
    pairs: int


class SequenceLosses:
    """N of one tally: how many sequences of k of its items have a loss of at most e.

    tops: h_0 to h_{k-1}. largest: the loss of the worst sequence. log_all: ln N there.
    """

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
        return len(self._values) - np.searchsorted(self._ascending, self.tops - e, side="left")

    def choices(self, e: int) -> Integers:
        """Return t_r(e) for every position r from 0, shape (k,): how many items have a count of at
        least h_r - e, where r counts stand before h_r in descending order.
        """
        return self._choices(self._reached(e))

    def _choices(self, reached: Integers) -> Integers:
        choices: Integers = self._holders[reached]
        return choices

    def count(self, e: int) -> int:
        """Return N(e), exactly: how many sequences have a loss of at most e; 0 for e below 0."""
        return prod((self.choices(e) - self._positions).tolist())

    def edge(self, e: int) -> Edge:
        """Return the `Edge` at a loss e >= 0: e, ln N(e - 1), which is -inf at 0 and off by at most
        2**-47 of itself, and the number of pairs below e.

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
        """Return the least loss above e at which N rises; `largest` + 1 if there is none."""
        return self._next(self._reached(e))

    def _next(self, reached: Integers) -> int:
        open_still = reached < len(self._values)
        if not open_still.any():
            return self.largest + 1
        return int((self.tops[open_still] - self._values[reached[open_still]]).min())

    def steps(self, low: int, high: int) -> LossSteps:
        """Return the LossSteps that begin in [low, high), for low >= 0: their losses, ascending, ln
        N at each, how much it rose there, and the next loss at which it rises. One begins at 0.
        """
        first, last = self._reached(low - 1), self._reached(high - 1)
        if not low:  # nothing is below the first step, so that it has no rise
            first = self._reached(0)
        log_base = _log_product(self._choices(first) - self._positions)
        begins, rises = self._rises(low, high, first, last)
        if not low:
            begins, rises = np.append(0, begins), np.append(0.0, rises)
        return LossSteps(begins, log_base + _running(rises), rises, self._next(last))

    def _rises(
        self, low: int, high: int, first: Integers, last: Integers
    ) -> tuple[Integers, Floats]:
        # The distinct e in [low, high) where N rises, ascending, and the rises of ln N. The groups
        # first..last-1 are those that a position comes to hold there.
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
    # In rows and then row by row: no sum is of more than 2 sqrt(n) parts.
    width = isqrt(len(terms)) + 1
    rows = np.zeros((len(terms) // width + 1, width))
    rows.ravel()[: len(terms)] = terms
    sums = np.cumsum(rows, axis=1)
    sums[1:] += np.cumsum(sums[:-1, -1])[:, None]
    return sums.ravel()[: len(terms)]


def _log_product(factors: Integers) -> float:
    # numpy adds in pairs, so 2**-47 holds for any number of factors.
    return float(np.log(factors.astype(np.float64)).sum())


_MOST = 1 << 16  # pairs in a segment that is wider than one loss, unless _FEW allows for more
_FEW = 1 << 11  # pairs, with 8 a position, that are listed about as soon as two edges are found
_LOOSE = 8.0  # nats between the bounds of a segment that is worth cutting


@dataclass(repr=False, slots=True)
class Segment:
    """The steps that begin in [low.at, high.at)."""

    low: Edge
    high: Edge

    @property
    def width(self) -> int:
        """Return how many losses it spans."""
        return self.high.at - self.low.at

    @property
    def pairs(self) -> int:
        """Return how many pairs of a position and a distinct count reach a loss in it."""
        return self.high.pairs - self.low.pairs

    @property
    def rise(self) -> float:
        """Return ln N of the last loss in it less ln N of the loss one below it; inf where it
        begins at 0.
        """
        return self.high.log_count - self.low.log_count

    def most(self, rate: float) -> float:
        """Return ln of a bound of the segment's weight: high.log_count - rate * low.at."""
        return self.high.log_count - rate * self.low.at

    def log_size(self) -> tuple[float, float]:
        """Return ln of the number of sequences whose loss lies in the segment, and a bound of its
        error: inf where floats cannot tell the two ends apart.
        """
        wrong = 2.0**-46 * self.high.log_count  # of `rise`
        if self.rise <= 2 * wrong:
            return self.high.log_count, inf
        size = self.high.log_count + log(-expm1(-self.rise))
        return size, wrong / -expm1(wrong - self.rise)


def _segments_of(
    losses: SequenceLosses, rate: float, low: int, end: int, depth: float
) -> tuple[list[Segment], list[Segment], float]:
    """Cut all steps that begin in [low, end) into segments. Return those to list, in ascending
    order; all others, each of which weighs below exp(-depth) of all steps; and ln of a lower bound
    of the weight of all.

    Complexity: O(k log d) for each edge, and few edges more than there are segments in the end.
    """
    reach = (losses.log_all + max(depth, 0.0)) / rate
    stop = int(min(reach + low + 1, end))
    last = losses.edge(end)
    far = [Segment(losses.edge(stop), last)] if stop < end else []
    waiting = deque([Segment(losses.edge(low), far[0].low if far else last)])
    near: list[Segment] = []
    least = 0.0  # ln N(0) or more
    while waiting:
        segment = waiting.popleft()
        least = max(least, segment.high.log_count - rate * (segment.high.at - 1))
        if not segment.pairs:  # nothing begins in it
            continue
        if segment.most(rate) < least - depth:
            far.append(segment)
        elif _is_worth_cutting(segment, rate, losses.k):
            cut = losses.edge(_cut(segment, rate, least - depth))
            waiting += [Segment(segment.low, cut), Segment(cut, segment.high)]
        else:
            near.append(segment)
    far += [segment for segment in near if segment.most(rate) < least - depth]
    near = [segment for segment in near if segment.most(rate) >= least - depth]
    return _joined(near), far, least


def _cut(segment: Segment, rate: float, bound: float) -> int:
    # From here on all weighs less than the bound; the middle, where that would cut off less than
    # a tenth.
    beyond = (segment.high.log_count - bound) / rate
    if segment.low.at < beyond < segment.high.at - 1 - segment.width / 10:
        return int(beyond) + 1
    return segment.low.at + segment.width // 2


def _is_worth_cutting(segment: Segment, rate: float, k: int) -> bool:
    # Whether a part may be left out, or else it is too much for one piece.
    if segment.width == 1 or segment.pairs <= _FEW + 8 * k:
        return False
    return segment.pairs > _MOST or segment.rise + rate * segment.width > _LOOSE


def _joined(segments: list[Segment]) -> list[Segment]:
    # Neighbors where both have few enough pairs; in ascending order.
    joined: list[Segment] = []
    for segment in sorted(segments, key=lambda part: part.low.at):
        both = Segment(joined[-1].low, segment.high) if joined else segment
        if joined and joined[-1].high.at == segment.low.at and both.pairs <= _MOST:
            joined[-1] = both
        else:
            joined.append(segment)
    return joined


ALL = -1  # the key of the last step, where every sequence qualifies
_KEPT = 1 << 20  # steps in memory at a time
_RARE = 40.0


class JointClasses:
    """The steps as weighted classes: weight N(a) (exp(-rate a) - exp(-rate b)) for [a, b).

    A step's key is a, where it begins: the largest loss of its sequences; that of the last is ALL.
    """

    def __init__(self, losses: SequenceLosses, rate: Fraction) -> None:
        self.losses, self.rate, self.end = losses, rate, losses.largest
        self._step = float(rate)
        self._kept: dict[int, WeightBlock] = {}

    def table(self, depth: float) -> WeightTable:
        """Return the WeightTable of all steps, ascending, ALL (-1) last, without some that weigh
        below exp(-depth) of all.
        """
        near, far, least = _segments_of(self.losses, self._step, 0, self.end, depth)
        parts: list[Callable[[], WeightBlock]] = [partial(self._block, segment) for segment in near]
        every = self.losses.log_all - self._step * self.end
        left_out = [segment.most(self._step) for segment in far]
        if every >= least - depth:
            parts.append(partial(WeightBlock, np.array([ALL]), np.array([every])))
        else:
            left_out.append(every)
        rest = max(left_out, default=-inf) + log(max(len(left_out), 1)) + 2.0**-20
        self._kept = {}
        error = 2.0**-47 * (2 * self.losses.log_all + abs(depth) + 40)
        error += max((_rounding(segment, self.losses) for segment in near), default=0.0)
        return WeightTable(parts, error, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Return integers (below, above) of a step's weight times 2**shift, about 1 apart."""
        if key == ALL:
            return enclose(self.losses.count(self.end), self.rate * self.end, shift)
        count, end = self.losses.count(key), self.losses.next_rise(key)
        from_low, from_high = enclose(count, self.rate * key, shift + 8)
        to_low, to_high = enclose(count, self.rate * end, shift + 8)
        return max(from_low - to_high, 0) >> 8, -(-(from_high - to_low) >> 8)

    def _block(self, segment: Segment) -> WeightBlock:
        begin = segment.low.at
        if begin not in self._kept:
            if sum(len(block.keys) for block in self._kept.values()) > _KEPT:
                self._kept.clear()
            self._kept[begin] = self._listed(segment)
        return self._kept[begin]

    def _listed(self, segment: Segment) -> WeightBlock:
        steps = self.losses.steps(segment.low.at, segment.high.at)
        begins = steps.begins
        widths = np.append(begins[1:], steps.end) - begins
        return WeightBlock(
            begins, steps.log_counts - self._step * begins + _decays(widths, self._step)
        )


def _decays(widths: Integers, rate: float) -> Floats:
    # ln(1 - exp(-rate * width)) of every width; most widths are among a few.
    longest = int(widths.max(initial=0))
    few = longest <= len(widths)
    decays: Floats = np.log(-np.expm1(-rate * (np.arange(1, longest + 1) if few else widths)))
    return decays[widths - 1] if few else decays


def enter_by_loss(losses: SequenceLosses, rate: Fraction, contest: Contest) -> None:
    """Let the sequences of every loss e, N(e) - N(e-1) of them, draw their best noisy score.

    Losses that win with probability below exp(-40) are drawn by segments; the law is the same.
    """
    step = float(rate)
    contest.enter(np.zeros(1, dtype=np.int64), np.zeros(1), np.array([losses.edge(1).log_count]))
    near, far, _ = _segments_of(losses, step, 1, losses.largest + 1, _RARE)
    for segment in near:
        steps = losses.steps(segment.low.at, segment.high.at)
        log_sizes = steps.log_counts + np.log(-np.expm1(-steps.rises))
        log_error = 2.0**-46 * (segment.high.log_count + 40) + _rounding(segment, losses)
        log_error += 2.0**-51 * losses.items  # of a rise
        scores = -step * steps.begins.astype(np.float64)
        contest.enter(steps.begins, scores, log_sizes, log_error)
    if not far:
        return

    def exact(index: int) -> tuple[Fraction, int]:
        low, high = far[index].low.at, far[index].high.at
        return -rate * low, losses.count(high - 1) - losses.count(low - 1)

    def opened(index: int, link: Link) -> list[Noisy]:
        steps = losses.steps(far[index].low.at, far[index].high.at)
        return contest.members(steps.begins.tolist(), link)

    sizes = np.array([segment.log_size() for segment in far])
    scores = -step * np.array([float(segment.low.at) for segment in far])
    contest.enter_groups(np.arange(len(far)), scores, sizes[:, 0], sizes[:, 1], exact, opened)


def _rounding(segment: Segment, losses: SequenceLosses) -> float:
    # How far logarithms within a segment may be off beside those at its edges. The rise of a pair
    # is off by 2**-52; at most k of one begin are added up one by one, then all by `_running`.
    rise, pairs = min(segment.rise, segment.high.log_count), segment.pairs
    return (rise * (losses.k + 2 * sqrt(pairs) + 16) + pairs) * 2.0**-52
