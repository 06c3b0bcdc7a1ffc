"""Coins of exact probability, thrown by comparing with a uniform real."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from math import sqrt

import pytest

from askew.noise.randomness import Coins, RationalOdds, ReplayBits, SystemBits

THIRD = Coins([RationalOdds(Fraction(1, 3))])
WORD = 1 << 128


def words(*values: int) -> ReplayBits:
    return ReplayBits(b"".join(value.to_bytes(16) for value in values))


@pytest.mark.parametrize(
    ("word", "heads"), [(0, True), (WORD // 3 - 1, True), (WORD // 3 + 1, False), (WORD - 1, False)]
)
def test_one_word_decides_away_from_the_boundary(word: int, heads: bool) -> None:
    assert words(word).throw(THIRD)[0][0] == heads


@pytest.mark.parametrize(
    ("second", "heads"),
    [(0, True), (WORD // 3 - 1, True), (WORD // 3 + 1, False), (WORD - 1, False)],
)
def test_the_boundary_word_is_decided_by_the_next_one(second: int, heads: bool) -> None:
    # 2**128 / 3 has the fraction 1/3, so given the boundary word the coin again has odds 1/3.
    assert words(WORD // 3, second).throw(THIRD)[0][0] == heads


def test_the_boundary_may_take_many_words() -> None:
    boundary = WORD // 3
    assert words(boundary, boundary, boundary, 0).throw(THIRD)[0][0]
    assert not words(boundary, boundary, boundary, WORD - 1).throw(THIRD)[0][0]


def test_a_coin_with_no_chance_never_falls_heads() -> None:
    assert not words(0).throw(Coins([RationalOdds(Fraction(0))]))[0][0]


def test_a_coin_that_misses_certainty_by_little_can_still_fall_tails() -> None:
    nearly = Coins([RationalOdds(1 - Fraction(1, 1 << 200))])
    assert words(WORD - 2).throw(nearly)[0][0]
    # U = 0.111...1 (128 ones), then 72 ones and 56 zeros: exactly p, which is not below p.
    last = WORD - (1 << 56)
    assert not words(WORD - 1, last).throw(nearly)[0][0]
    assert words(WORD - 1, last - 1).throw(nearly)[0][0]


def test_a_row_of_coins_is_thrown_row_by_row() -> None:
    coins = Coins([RationalOdds(Fraction(1, 2)), RationalOdds(Fraction(1, 4))])
    heads = words(0, WORD // 2, WORD // 2, 0).throw(coins, times=2)
    assert heads == [[True, False], [False, True]]


def test_a_recording_that_runs_out_says_so() -> None:
    with pytest.raises(EOFError, match="16 bytes"):
        words().throw(THIRD)


def test_the_kernels_coin_has_its_probability() -> None:
    """100,000 throws at 1/3: six standard deviations, a false alarm in 10**9 runs."""
    share = sum(heads for (heads,) in SystemBits().throw(THIRD, 100_000)) / 100_000
    assert abs(share - 1 / 3) < 6.2 * sqrt(2 / 9 / 100_000)


def test_two_reads_of_the_kernel_differ() -> None:
    assert SystemBits().read(32) != SystemBits().read(32)


def test_each_read_asks_the_kernel_for_its_own_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more, no fewer, and kept nowhere. Planted bug: a pool."""
    asked: list[int] = []
    kernel = os.urandom

    def watched(count: int) -> bytes:
        asked.append(count)
        return kernel(count)

    monkeypatch.setattr(os, "urandom", watched)
    for bits in (SystemBits(), SystemBits()):
        assert [len(bits.read(count)) for count in (1, 16, 4096, 3)] == [1, 16, 4096, 3]
    assert asked == 2 * [1, 16, 4096, 3]


FORKED = """
import os
from askew.noise.randomness import SystemBits
bits = SystemBits()
bits.read(1)  # what a pool would begin with
ours, theirs = os.pipe()
if os.fork() == 0:
    os.write(theirs, bits.read(16) + SystemBits().read(16))
    os._exit(0)
here = bits.read(16) + SystemBits().read(16)
there = os.read(ours, 32)
print(len(here), len(there), {here[:16], here[16:]} & {there[:16], there[16:]})
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_repeats_nothing() -> None:
    """Planted bug: a pool of the module, which parent and child both have."""
    run = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout == "32 32 set()\n"
