"""Items of a pool that holds most of a catalog are found by chance, with the law of the urn."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from guarantees.enumeration import Law, Tape, law_of
from mechanisms.streams import ShakeBits
from numpy.typing import NDArray

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import Joint, value_classes
from askew.mechanisms.tally import tally
from askew.mechanisms.value_classes import items_of_the_highest
from askew.mechanisms.weights import Draws
from askew.noise.randomness import SystemBits

COUNTS = [3, 0, 7, 3]
POOLS = [[1, 3], [3, 3], [3, 4], [4, 4], [1, 3, 4]]  # ranks that end a group of equal counts
ALWAYS, NEVER = -np.inf, 2.0


class OneTry(Exception):
    """What was read at once did not suffice."""


class ShortTape(Tape):
    """Says when more is read, so that what is followed ends."""

    def below(self, limit: int) -> int:
        raise OneTry

    def below_each(self, limits: Sequence[int] | NDArray[np.int64]) -> list[int]:
        return [super(ShortTape, self).below(int(limit)) for limit in limits]


class CountedBits(SystemBits):
    """Says how often it was read."""

    reads = 0

    def read(self, count: int) -> bytes:
        self.reads += 1
        return super().read(count)


def by_chance(sizes: list[int]) -> Law:
    """The law, given that what is read at once suffices.

    Whether it does is independent of which items are taken: all of them lie in every pool to come.
    """

    def run(draws: Draws) -> tuple[int, ...]:
        short = ShortTape(draws.branches, draws.known) if isinstance(draws, Tape) else draws
        try:
            return items_of_the_highest(np.array(sizes), tally(COUNTS, 1), short)
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
    order = sorted(range(len(COUNTS)), key=lambda item: (-COUNTS[item], item))
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
    by_rank = law_of(lambda draws: items_of_the_highest(np.array(sizes), tally(COUNTS, 1), draws))
    assert by_rank == plainly(sizes)


def test_what_is_read_at_once_is_followed_by_as_much_as_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(value_classes, "_SMALL", 0)
    monkeypatch.setattr(value_classes, "_SHARE", ALWAYS)
    monkeypatch.setattr(value_classes, "_TRIES", 1)
    draws, seen = Draws(ShakeBits("all")), set()
    for _ in range(200):
        chosen = items_of_the_highest(np.array([3, 3, 4, 4]), tally(COUNTS, 1), draws)
        assert sorted(chosen) == [0, 1, 2, 3]
        assert 1 not in chosen[:2]
        seen.add(chosen)
    assert len(seen) == len(plainly([3, 3, 4, 4]))


def test_the_last_of_all_items_are_not_waited_for() -> None:
    """Planted bug: items that are taken already are counted among those that chance can find,
    so the last of n takes n tries.
    """
    every, bits = 6000, CountedBits()
    chosen = items_of_the_highest(np.full(every, every), tally([7] * every, 1), Draws(bits))
    assert sorted(chosen) == [*range(every)]
    assert bits.reads < every / 2


def test_a_joint_ranking_of_a_large_catalog_repeats_nothing() -> None:
    """At so small an epsilon every sequence qualifies, and every pool is the catalog."""
    counts = np.random.default_rng(5).geometric(0.05, 20_000)
    ranking = Joint(k=300, epsilon=Fraction(1, 10**6), neighbors=ADD_OR_REMOVE_ONE)
    chosen = ranking.select(counts, bits=ShakeBits("large"))
    assert len(set(chosen)) == 300
    assert abs(float(np.mean(chosen)) - 10_000) < 6 * 20_000 / (12 * 300) ** 0.5
