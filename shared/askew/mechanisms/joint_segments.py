"""Which losses matter: the range of losses cut into segments, bounded before they are listed.

A step of loss [a, b) weighs N(a) (exp(-q a) - exp(-q b)), see `joint_classes`. So from N at two
edges alone

    the steps that begin in [low, high) weigh at most N(high - 1) exp(-q low), and
    all steps together weigh at least N(e) exp(-q e), for every e.

A segment that is bounded far below the whole is never listed; one that is not, and holds many
steps between loose bounds, is cut. The law does not depend on where segments are cut: what is
left out enters a draw by its bound.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import expm1, inf, log

from askew.mechanisms.sequence_losses import Edge, SequenceLosses

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
        """How many losses it spans."""
        return self.high.at - self.low.at

    @property
    def pairs(self) -> int:
        """How many pairs of a position and a distinct count reach a loss in it."""
        return self.high.pairs - self.low.pairs

    @property
    def rise(self) -> float:
        """How much ln N rises from below it to its end."""
        return self.high.log_count - self.low.log_count

    def most(self, rate: float) -> float:
        """ln of an upper bound of its weight."""
        return self.high.log_count - rate * self.low.at

    def log_size(self) -> tuple[float, float]:
        """ln of how many sequences lose so much, and how wrong this may be."""
        wrong = 2.0**-46 * self.high.log_count  # of `rise`
        if self.rise <= 2 * wrong:
            return self.high.log_count, inf
        size = self.high.log_count + log(-expm1(-self.rise))
        return size, wrong / -expm1(wrong - self.rise)


@dataclass(frozen=True, repr=False)
class Segments:
    """All steps that begin in a range: those to list, in ascending order, and all others.

    least: ln of a lower bound of the weight of all.
    """

    near: list[Segment]
    far: list[Segment]
    least: float


def segments_of(losses: SequenceLosses, rate: float, low: int, end: int, depth: float) -> Segments:
    """The steps that begin in [low, end); a far segment weighs below exp(-depth) of all steps.

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
        each = waiting.popleft()
        least = max(least, each.high.log_count - rate * (each.high.at - 1))
        if not each.pairs:  # nothing begins in it
            continue
        if each.most(rate) < least - depth:
            far.append(each)
        elif _is_worth_cutting(each, rate, losses.k):
            cut = losses.edge(_cut(each, rate, least - depth))
            waiting += [Segment(each.low, cut), Segment(cut, each.high)]
        else:
            near.append(each)
    far += [each for each in near if each.most(rate) < least - depth]
    near = [each for each in near if each.most(rate) >= least - depth]
    return Segments(_joined(near), far, least)


def _cut(segment: Segment, rate: float, bound: float) -> int:
    """Where all that follows weighs less than the bound; the middle, where that is little."""
    beyond = (segment.high.log_count - bound) / rate
    if segment.low.at < beyond < segment.high.at - 1 - segment.width / 10:
        return int(beyond) + 1
    return segment.low.at + segment.width // 2


def _is_worth_cutting(segment: Segment, rate: float, k: int) -> bool:
    """Whether a part may be left out, or else it is too much for one piece."""
    if segment.width == 1 or segment.pairs <= _FEW + 8 * k:
        return False
    return segment.pairs > _MOST or segment.rise + rate * segment.width > _LOOSE


def _joined(segments: list[Segment]) -> list[Segment]:
    """In ascending order, with neighbors in one piece where that is not too much."""
    joined: list[Segment] = []
    for each in sorted(segments, key=lambda segment: segment.low.at):
        both = Segment(joined[-1].low, each.high) if joined else each
        if joined and joined[-1].high.at == each.low.at and both.pairs <= _MOST:
            joined[-1] = both
        else:
            joined.append(each)
    return joined
