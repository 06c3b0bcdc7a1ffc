"""Sequences of k distinct items, collapsed by their loss.

The mechanism on all d!/(d-k)! sequences is a mixture over the steps of N alone, the number of
sequences of loss at most e (`sequence_losses`):

    exp(-q L) = integral from L to infinity of q exp(-q s) ds, so
    P(sequence) ~ exp(-q L) is: draw a step [a, b) with weight N(a) (exp(-q a) - exp(-q b)),
    then a uniform sequence of loss at most a.

What lies beyond e weighs at most N_all exp(-q e), so few steps matter however small or large q is;
`joint_segments` finds them without listing the others.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import inf, log

import numpy as np

from askew.exact import Chunk, Listing, enclose
from askew.mechanisms.contest import Contest, Groups
from askew.mechanisms.joint_segments import Segment, segments_of
from askew.mechanisms.noise import Floats, Link, Noisy
from askew.mechanisms.sequence_losses import SequenceLosses
from askew.mechanisms.tally import Integers

ALL = -1  # the key of the last step, where every sequence qualifies
_KEPT = 1 << 20  # steps in memory at a time
_RARE = 40.0


class JointClasses:
    """The steps as weighted classes: weight N(a) (exp(-rate a) - exp(-rate b)) for [a, b).

    A step's key is a, where it begins: the largest loss of its sequences; that of the last is ALL.
    truncation: the loss is min(loss, truncation), so every sequence qualifies from there on.
    """

    def __init__(self, losses: SequenceLosses, rate: Fraction, truncation: int | None) -> None:
        self.losses, self.rate = losses, rate
        self.end = losses.largest if truncation is None else min(truncation, losses.largest)
        self._step = float(rate)
        self._kept: dict[int, Chunk] = {}

    def listing(self, depth: float) -> Listing:
        """The steps in ascending order, but those that weigh below exp(-depth) of all."""
        found = segments_of(self.losses, self._step, 0, self.end, depth)
        parts: list[Callable[[], Chunk]] = [partial(self._chunk, each) for each in found.near]
        every = self.losses.log_all - self._step * self.end
        left_out = [each.most(self._step) for each in found.far]
        if every >= found.least - depth:
            parts.append(partial(Chunk, np.array([ALL]), np.array([every])))
        else:
            left_out.append(every)
        rest = max(left_out, default=-inf) + log(max(len(left_out), 1)) + 2.0**-20
        self._kept = {}
        error = 2.0**-47 * (2 * self.losses.log_all + abs(depth) + 40)
        error += max((_rounding(each, self.losses) for each in found.near), default=0.0)
        return Listing(parts, error, rest)

    def enclose(self, key: int, shift: int) -> tuple[int, int]:
        """Integer bounds of a step's weight."""
        if key == ALL:
            return enclose(self.losses.count_all(), self.rate * self.end, shift)
        count, end = self.losses.count(key), min(self.losses.next_rise(key), self.end)
        from_low, from_high = enclose(count, self.rate * key, shift + 8)
        to_low, to_high = enclose(count, self.rate * end, shift + 8)
        return max(from_low - to_high, 0) >> 8, -(-(from_high - to_low) >> 8)

    def _chunk(self, segment: Segment) -> Chunk:
        """The steps of a segment; some are kept, as the one that is drawn is asked for again."""
        begin = segment.low.at
        if begin not in self._kept:
            if sum(len(chunk.keys) for chunk in self._kept.values()) > _KEPT:
                self._kept.clear()
            self._kept[begin] = self._listed(segment)
        return self._kept[begin]

    def _listed(self, segment: Segment) -> Chunk:
        steps = self.losses.steps(segment.low.at, segment.high.at)
        begins = steps.begins
        widths = np.append(begins[1:], min(steps.end, self.end))
        widths -= begins
        return Chunk(begins, steps.log_counts - self._step * begins + _decays(widths, self._step))


def _decays(widths: Integers, rate: float) -> Floats:
    """ln(1 - exp(-rate * width)); most widths are among a few."""
    longest = int(widths.max(initial=0))
    known = widths if longest > len(widths) else np.arange(1, longest + 1)
    decays: Floats = np.log(-np.expm1(-rate * known))
    return decays if known is widths else decays[widths - 1]


def enter_by_loss(losses: SequenceLosses, rate: Fraction, contest: Contest) -> None:
    """Let the sequences of every loss e, N(e) - N(e-1) of them, draw their best noisy score.

    Losses that win with probability below exp(-_RARE) are drawn by segments; the law is the same.
    """
    step = float(rate)
    contest.enter(np.zeros(1, dtype=np.int64), np.zeros(1), np.array([losses.edge(1).log_count]))
    found = segments_of(losses, step, 1, losses.largest + 1, _RARE)
    for each in found.near:
        steps = losses.steps(each.low.at, each.high.at)
        log_sizes = steps.log_counts + np.log(-np.expm1(-steps.rises))
        log_error = 2.0**-46 * (each.high.log_count + 40) + _rounding(each, losses)
        log_error += 2.0**-51 * losses.items  # of a rise
        scores = -step * steps.begins.astype(np.float64)
        contest.enter(steps.begins, scores, log_sizes, log_error)
    if found.far:
        contest.enter_groups(_groups(found.far, losses, rate, contest))


def _groups(
    segments: list[Segment], losses: SequenceLosses, rate: Fraction, contest: Contest
) -> Groups:
    """The sequences whose loss lies in a segment, as one group for each."""

    def exact(index: int) -> tuple[Fraction, int]:
        low, high = segments[index].low.at, segments[index].high.at
        return -rate * low, losses.count(high - 1) - losses.count(low - 1)

    def opened(index: int, link: Link) -> list[Noisy]:
        steps = losses.steps(segments[index].low.at, segments[index].high.at)
        return contest.members(steps.begins.tolist(), link)

    sizes = np.array([each.log_size() for each in segments])
    scores = -float(rate) * np.array([float(each.low.at) for each in segments])
    return Groups(np.arange(len(segments)), scores, sizes[:, 0], sizes[:, 1], exact, opened)


def _rounding(segment: Segment, losses: SequenceLosses) -> float:
    """Of the logarithms in a segment beside those at its edges. See `SequenceLosses.log_error`."""
    rise = min(segment.rise, segment.high.log_count)
    return losses.log_error(rise, segment.pairs)
