"""Classes of outcomes: their float views, what is left out of them, and their items."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import comb, exp, inf, log

import numpy as np
import pytest
from guarantees.audit.enumeration import Law, Tape, law_of
from mechanisms.streams import ShakeBits, p_value
from numpy.typing import NDArray
from recited import Recited

from askew.mechanisms import value_classes
from askew.mechanisms.canonical import CanonicalClasses, _lowest_rank
from askew.mechanisms.joint_classes import JointClasses, SequenceLosses
from askew.mechanisms.limited_domain import ExponentialClasses
from askew.mechanisms.tally import Tally
from askew.mechanisms.value_classes import ValueClasses, items_of_the_highest
from askew.mechanisms.weights import Classes, Draws, WeightBlock, WeightTable

RANDOM = np.random.default_rng(7)
WIDE = Tally(RANDOM.integers(0, 2**44, 400), 1)
DENSE = Tally(RANDOM.geometric(0.01, 3000), 1)
TIED = Tally(RANDOM.integers(0, 6, 900), 1)
TINY = Fraction(1, 2**41)


def canonical(view: Tally, k: int, gamma: Fraction, rate: Fraction) -> CanonicalClasses:
    return CanonicalClasses(view, k, gamma, rate, clipped=False)


def joint(view: Tally, k: int, rate: Fraction) -> JointClasses:
    return JointClasses(SequenceLosses(view, k), rate)


HALF, ONE = Fraction(1, 2), Fraction(1)
VIEWS: dict[str, Classes] = {
    "values": ValueClasses(DENSE, HALF),
    "values, wide": ValueClasses(WIDE, TINY),
    "canonical": canonical(DENSE, 40, HALF, Fraction(1, 20)),
    "canonical, large epsilon": canonical(DENSE, 200, HALF, Fraction(4)),
    "canonical, tied": canonical(TIED, 200, HALF, ONE),
    "canonical, wide": canonical(WIDE, 20, HALF, TINY),
    "canonical, gamma 1": canonical(DENSE, 40, ONE, Fraction(1, 20)),
    "joint": joint(DENSE, 30, Fraction(1, 4)),
    "joint, tied": joint(TIED, 300, HALF),
    "joint, wide": joint(WIDE, 10, TINY),
    "limited domain, wide": ExponentialClasses(
        RANDOM.integers(-1100, 9, 99),
        {5: Fraction(1, 10**200), 7: Fraction(10**200, 3)},
        Fraction(3, 7),
    ),
    # 400 candidates that are just too light for a depth of 10, exp(-10) / 401 of the best
    "limited domain, an edge": ExponentialClasses(
        np.zeros(401, np.int64), dict.fromkeys(range(1, 401), Fraction(1, 8_850_000)), ONE
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_logs_are_within_the_error_that_they_declare(name: str) -> None:
    """Up to 150 classes of each table, against 300-bit enclosures of their weights. Planted bug: a
    bound that forgets the size of a class.
    """
    classes = VIEWS[name]
    table = classes.table(48.0)
    pairs = [
        (int(key), float(weight))
        for part in table.parts
        for key, weight in zip(part().keys, part().logs, strict=True)
    ]
    top = max(weight for _, weight in pairs)
    near = [pair for pair in pairs if pair[1] > top - 48]
    for key, weight in near[:: max(1, len(near) // 150)]:
        shift = 300 - int(weight / log(2))
        low, high = classes.enclose(key, shift)
        true = (Fraction(low + high, 2) / 2**300).__float__()
        exact = log(true) + int(weight / log(2)) * log(2)
        assert abs(exact - weight) <= table.log_error + 1e-14 * (abs(weight) + 40)
        assert table.log_error >= 2.0**-49 * abs(weight)  # floats keep no more of it


OTHER = np.random.default_rng(11)
COUNTS = {
    "spread": OTHER.integers(-(2**59), 2**59, 80),
    "tied": OTHER.integers(0, 7, 80),
    "far below": np.array([10**6, 10**6 - 1, 10**6 - 1, *range(40)]),
}


def logs_of(table: WeightTable) -> dict[int, float]:
    blocks: list[WeightBlock] = [part() for part in table.parts]
    return {int(k): float(w) for c in blocks for k, w in zip(c.keys, c.logs, strict=True)}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("depth", [1.0, 10.0])
def test_classes_that_are_left_out_weigh_no_more_than_the_listing_says(
    name: str, depth: float
) -> None:
    classes = VIEWS[name]
    whole = logs_of(classes.table(5000.0))
    table = classes.table(depth)
    listed = logs_of(table)
    left_out = [weight for key, weight in whole.items() if key not in listed and weight > -inf]
    if left_out:
        assert np.logaddexp.reduce(left_out) <= table.log_rest + 1e-6
    assert max(left_out, default=-inf) <= max(listed.values())


@pytest.mark.parametrize("kind", COUNTS)
def test_items_that_are_taken_out_stay_out_when_lower_values_are_seen(kind: str) -> None:
    """Every item in turn, the best first but for each third: weights are sizes times exp(-gap)."""
    counts = COUNTS[kind]
    rate = Fraction(1, 2) if counts.max() < 10**7 else Fraction(1, 2**55)
    classes = ValueClasses(Tally(counts), rate)
    values = sorted(set(counts.tolist()), reverse=True)
    left = {value: int(np.count_nonzero(counts == value)) for value in values}
    for turn in range(len(counts)):
        best = max(value for value, size in left.items() if size)
        table = classes.table(8.0)
        for key, weight in logs_of(table).items():
            size, gap = left[values[key]], (best - values[key]) * float(rate)
            assert exp(weight) == pytest.approx(size * exp(-gap), rel=1e-9)
        unseen = [v for key, v in enumerate(values) if left[v] and key not in logs_of(table)]
        rest = sum(left[v] * exp(-float(best - v) * float(rate)) for v in unseen)
        assert rest <= exp(table.log_rest) * (1 + 1e-9)
        present = [v for v in values if left[v] and v not in unseen]
        taken = best if turn % 3 else present[-1]
        classes.remove(values.index(taken))
        left[taken] -= 1


FEW = [3, 0, 7, 3]
POOLS = [[3, 3], [3, 4], [1, 3, 4]]  # ranks that end a group of equal counts
ALWAYS, NEVER = -np.inf, 2.0


class OneTry(Exception):
    """What was read at once did not suffice."""


class ShortTape(Tape):
    """Says when more is read, so that what is followed ends."""

    def below(self, limit: int) -> int:
        raise OneTry

    def below_each(self, limits: Sequence[int] | NDArray[np.int64]) -> list[int]:
        return [super(ShortTape, self).below(int(limit)) for limit in limits]


def by_chance(sizes: list[int]) -> Law:
    """The law, given that what is read at once suffices.

    Whether it does is independent of which items are taken: all of them lie in every pool to come.
    """

    def run(draws: Draws) -> tuple[int, ...]:
        short = ShortTape(draws.branches, draws.known) if isinstance(draws, Tape) else draws
        try:
            return items_of_the_highest(np.array(sizes), Tally(FEW, 1), short)
        except OneTry:
            return ()
        finally:
            if isinstance(draws, Tape) and isinstance(short, Tape):
                draws.position, draws.probability = short.position, short.probability
                draws.widths = short.widths

    law = law_of(run)
    law.pop((), None)
    total = sum(law.values())
    return {items: p / total for items, p in law.items()}


def plainly(sizes: list[int]) -> Law:
    order = sorted(range(len(FEW)), key=lambda item: (-FEW[item], item))
    pools = [order[:size] for size in sizes]
    good = [
        items
        for items in permutations(order, len(sizes))
        if all(item in pool for item, pool in zip(items, pools, strict=True))
    ]
    return dict.fromkeys(good, Fraction(1, len(good)))


@pytest.mark.parametrize("sizes", POOLS)
def test_every_sequence_is_as_likely_whether_by_chance_or_by_rank(
    sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_classes, "_TRIES", 2)
    monkeypatch.setattr(value_classes, "_SMALL", 0)
    for share in (ALWAYS, 0.3):
        monkeypatch.setattr(value_classes, "_SHARE", share)
        assert by_chance(sizes) == plainly(sizes)
    monkeypatch.setattr(value_classes, "_SHARE", NEVER)
    by_rank = law_of(lambda draws: items_of_the_highest(np.array(sizes), Tally(FEW, 1), draws))
    assert by_rank == plainly(sizes)


def test_what_is_read_at_once_is_followed_by_as_much_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(value_classes, "_SMALL", 0)
    monkeypatch.setattr(value_classes, "_SHARE", ALWAYS)
    monkeypatch.setattr(value_classes, "_TRIES", 1)
    draws, seen = Draws(ShakeBits("all")), set()
    for _ in range(200):
        chosen = items_of_the_highest(np.array([3, 3, 4, 4]), Tally(FEW, 1), draws)
        assert sorted(chosen) == [0, 1, 2, 3]
        assert 1 not in chosen[:2]
        seen.add(chosen)
    assert len(seen) == len(plainly([3, 3, 4, 4]))


def test_the_last_of_all_items_are_not_waited_for() -> None:
    """Planted bug: items that are taken already are counted among those that chance can find,
    so the last of n takes n tries.
    """
    every, bits = 6000, Recited(0)
    chosen = items_of_the_highest(np.full(every, every), Tally([7] * every, 1), Draws(bits))
    assert sorted(chosen) == [*range(every)]
    assert len(bits.sizes) < every / 2


@pytest.mark.parametrize(("first", "last"), [(9, 20), (6, 7), (30, 31)])
def test_the_lowest_rank_of_a_set_has_the_law_of_its_binomials(
    first: int, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn rank by rank, as where k is large: t has C(t - 3, 3) sets, 4 ranks after the second."""
    monkeypatch.setattr("askew.mechanisms.canonical._SMALL", 0)
    sizes = {t: comb(t - 3, 3) for t in range(first, last + 1)}
    expected = {str(t): size / sum(sizes.values()) for t, size in sizes.items()}
    draws = Draws(ShakeBits(f"{first} {last}"))
    p = p_value(lambda: str(_lowest_rank(first - 2, last - 2, 4, draws) + 2), expected, 2000)
    assert p > 1e-4
