"""The steps of the proof that LimitedDomain composes as a bounded-range selection, enumerated.

e^epsilon = 2, so every weight is rational and no step has a tolerance.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest

STOP = -1
DELTA = Fraction(1, 20)
Counts = tuple[int, ...]
Law = dict[tuple[int, ...], Fraction]


def domain(counts: Counts, kbar: int) -> list[int]:
    """The positive items of the top kbar, ties by id."""
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    return [item for item in order[:kbar] if counts[item] > 0]


def weights(counts: Counts, kbar: int, most: int, plus_one: int = 1) -> dict[int, Fraction]:
    """exp(epsilon count) of each item, and of the threshold."""
    cutoff = ([*sorted(counts, reverse=True), *[0] * len(counts)])[kbar]
    found = {item: Fraction(2) ** counts[item] for item in domain(counts, kbar)}
    found[STOP] = Fraction(2) ** (cutoff + plus_one) * min(kbar, most) / DELTA
    return found


def law(weight: dict[int, Fraction], k: int) -> Law:
    """Of k rounds of the exponential mechanism, up to the stop."""
    if k == 0:
        return {(): Fraction(1)}
    made: Law = defaultdict(Fraction)
    total = sum(weight.values())
    for item, mass in weight.items():
        rest = {other: w for other, w in weight.items() if other != item}
        tails = {(): Fraction(1)} if item == STOP else law(rest, k - 1)
        for tail, chance in tails.items():
            made[item, *tail] += mass / total * chance
    return made


def neighbors(most: int) -> list[tuple[Counts, Counts]]:
    """All pairs over four items with counts up to 2, in both directions."""
    pairs = []
    for counts in product(range(3), repeat=4):
        for step in product(range(2), repeat=4):
            if 0 < sum(step) <= most:
                more = tuple(a + b for a, b in zip(counts, step, strict=True))
                pairs += [(counts, more), (more, counts)]
    return pairs


def merged(weight: dict[int, Fraction], common: set[int]) -> dict[int, Fraction]:
    """The items that the other domain lacks, read as the stop."""
    found = {item: w for item, w in weight.items() if item in common}
    found[STOP] = sum((w for item, w in weight.items() if item not in common), Fraction(0))
    return found


def broken_steps(kbar: int, most: int, plus_one: int = 1) -> set[str]:
    """Which step of the proof fails on any pair of neighbors."""
    broken = set()
    for left, right in neighbors(most):
        mine, theirs = (weights(counts, kbar, most, plus_one) for counts in (left, right))
        common = (mine.keys() & theirs.keys()) - {STOP}
        lacking = sum(w for item, w in mine.items() if item not in {*common, STOP})
        if lacking > DELTA * mine[STOP]:
            broken.add("weight")
        read, other = merged(mine, common), merged(theirs, common)
        ratios = [read[item] / other[item] for item in read]
        if max(ratios) / min(ratios) > 2 * (1 + DELTA) ** 2:
            broken.add("range")
        true, as_read = law(mine, 2), law(read, 2)
        good = [outcome for outcome in true if set(outcome) <= {*common, STOP}]
        if any(not true[o] <= as_read[o] <= (1 + DELTA) * true[o] for o in good):
            broken.add("law")
        if 1 - sum(true[o] for o in good) > DELTA:
            broken.add("mass")
    return broken


@pytest.mark.parametrize(("kbar", "most"), [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_every_step_of_the_proof_holds_on_all_neighbors(kbar: int, most: int) -> None:
    assert broken_steps(kbar, most) == set()


def test_a_threshold_without_its_one_breaks_the_steps() -> None:
    """The enumeration has power."""
    assert {"weight", "mass"} <= broken_steps(2, 1, plus_one=0)
