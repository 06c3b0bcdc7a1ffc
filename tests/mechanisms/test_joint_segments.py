"""Joint lists the losses that matter only; which those are changes its work, never its law."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import pytest

from askew.mechanisms import joint_classes
from askew.mechanisms.joint_classes import ALL, JointClasses, Segment, SequenceLosses
from askew.mechanisms.tally import Tally
from askew.mechanisms.weights import WeightTable

RANDOM = np.random.default_rng(7)
View = tuple[Tally, int, Fraction]
DENSE = Tally(RANDOM.geometric(0.02, 600), 1)
WIDE = Tally(RANDOM.integers(0, 2**44, 60), 1)
VIEWS: dict[str, View] = {
    "dense": (DENSE, 12, Fraction(1, 4)),
    "tied": (Tally(RANDOM.integers(0, 6, 200), 1), 40, Fraction(1, 2)),
    "wide": (WIDE, 6, Fraction(1, 2**41)),
    "two values": (Tally([9] * 5 + [0] * 30, 1), 7, Fraction(1)),
    "all alike": (Tally([4] * 9, 1), 3, Fraction(1)),
    "a cliff": (Tally([5] * 2 + [0] * 5000, 1), 2, Fraction(5)),
}
Halves = Callable[[Segment, float, int], bool]
CUTS: dict[str, Halves] = {
    "one piece": lambda *_: False,
    "single rises": lambda segment, *_: segment.width > 1 and segment.pairs > 1,
    "pieces of a few": lambda segment, *_: segment.width > 1 and segment.pairs > 20,
}
KINDS = pytest.mark.parametrize("kind", VIEWS)


def plain_counts(view: Tally, k: int) -> dict[int, int]:
    """N at every e where it rises, by counting; the last is where all items qualify."""
    tops = view.top(k).tolist()
    losses = {top - value for top in tops for value in view.values.tolist()}
    steps: dict[int, int] = {}
    for e in sorted(loss for loss in losses if loss >= 0):
        count = 1
        for r, top in enumerate(tops):
            count *= int(np.count_nonzero(view.counts >= top - e)) - r
        if count != next(reversed(steps.values()), 0):
            steps[e] = count
    return steps


def listed(table: WeightTable) -> dict[int, float]:
    blocks = [part() for part in table.parts]
    return {int(k): float(w) for c in blocks for k, w in zip(c.keys, c.logs, strict=True)}


@KINDS
@pytest.mark.parametrize("cut", CUTS)
def test_the_steps_are_those_of_a_plain_count_however_the_losses_are_cut(
    kind: str, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint_classes, "_is_worth_cutting", CUTS[cut])
    monkeypatch.setattr(joint_classes, "_MOST", 20)
    view, k, rational = VIEWS[kind]
    classes = JointClasses(SequenceLosses(view, k), rational)
    table = classes.table(1e6)
    found = listed(table)
    expected = plain_counts(view, k)
    *begins, last = expected
    assert [*found] == [*begins, ALL]
    assert last == classes.end
    rate = float(classes.rate)
    for begin, end in zip(begins, [*expected][1:], strict=True):
        weight = log(expected[begin]) - rate * begin + log(-np.expm1(-rate * (end - begin)))
        assert found[begin] == pytest.approx(weight, abs=table.log_error + 1e-12)
    assert found[ALL] == pytest.approx(log(expected[last]) - rate * last, abs=1e-9)


@KINDS
def test_how_many_sequences_a_segment_holds_is_as_wrong_as_it_says(kind: str) -> None:
    """Also one whose share of all is far below what the difference of two floats could tell."""
    view, k, _ = VIEWS[kind]
    losses = SequenceLosses(view, k)
    begins = [*plain_counts(view, k)]
    for low, high in [*pairwise(begins), (0, begins[-1] + 1)]:
        segment = Segment(losses.edge(low), losses.edge(high))
        size = losses.count(high - 1) - losses.count(low - 1)
        approximate, wrong = segment.log_size()
        assert abs(approximate - log(size)) <= wrong + 1e-13


def test_a_share_that_floats_cannot_tell_is_said_to_be_unknown() -> None:
    losses = SequenceLosses(Tally([2**40] * 3 + [2] * 5_000_000 + [1], 3), 3)
    wide = Segment(losses.edge(2**40 - 1), losses.edge(2**40))
    size = losses.count(2**40 - 1) - losses.count(2**40 - 2)
    approximate, wrong = wide.log_size()
    assert abs(approximate - log(size)) <= wrong
    assert wrong > 2**-24
