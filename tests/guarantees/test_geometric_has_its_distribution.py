"""The sampler that runs on a device, fed by the kernel: its odds, its law and its work."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from askew.noise.lattice import Beyond, Digit, LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import RandomBits, SystemBits

DRAWS = 60_000
# One false alarm in 10**9 runs of each test below.
ALPHA = 1e-9


def ratio(q: int) -> Fraction:
    return Fraction(q, q + 1)


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("level", [0, 1, 4, 7])
@pytest.mark.parametrize("precision", [8, 128, 300])
def test_the_odds_of_a_digit_enclose_the_fraction(q: int, level: int, precision: int) -> None:
    x = ratio(q) ** 2**level
    low, high = Digit(q, level).bounds(precision)
    assert low <= x / (1 + x) * 2**precision <= high
    assert high - low <= 1


@pytest.mark.parametrize("q", [1, 2, 5])
@pytest.mark.parametrize("levels", [0, 3, 7])
def test_the_odds_of_going_beyond_enclose_the_fraction(q: int, levels: int) -> None:
    low, high = Beyond(q, levels).bounds(200)
    assert low <= ratio(q) ** 2**levels * 2**200 <= high
    assert high - low <= 1


@pytest.mark.parametrize("odds", [Digit(1024, 17), Beyond(2048, 18), Digit(1500, 3)])
def test_looking_closer_never_contradicts_what_was_seen(odds: Digit | Beyond) -> None:
    low, high = odds.bounds(128)
    closer_low, closer_high = odds.bounds(512)
    assert low << 384 <= closer_low <= closer_high <= high << 384


@pytest.mark.parametrize("q", [1, 1024, 2048, 4096])
def test_constant_work_leaves_at_most_one_draw_in_2_to_the_128_to_the_last_coin(q: int) -> None:
    levels = TwoSidedGeometric.with_constant_work(q).levels
    assert Beyond(q, levels).bounds(256)[1] <= 1 << 128
    assert Beyond(q, levels - 1).bounds(256)[0] > 1 << 128


def goodness_of_fit(sample: list[int], q: int) -> float:
    """p-value of a chi-squared test of P(n) = (1 - r) / (1 + r) r**|n| on 40 cells."""
    r = q / (q + 1)
    edges = np.unique(np.round(np.linspace(-4 * q, 4 * q, 39))).astype(np.int64)
    # P(Z <= n) = r**-n / (1 + r) for n <= 0, by symmetry 1 - r**(n + 1) / (1 + r) above.
    below = np.where(edges < 0, r ** -edges.clip(max=0), 0) / (1 + r)
    below = np.where(edges < 0, below, 1 - r ** (edges.clip(min=0) + 1.0) / (1 + r))
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * len(sample)
    cells = np.searchsorted(edges, sample, side="left")
    observed = np.bincount(cells, minlength=len(edges) + 1)
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("q", [4, 1024])
def test_draws_from_the_kernel_follow_the_law(q: int) -> None:
    sample = TwoSidedGeometric.with_constant_work(q).draw(DRAWS, SystemBits())
    assert goodness_of_fit(sample, q) > ALPHA


@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_that_check_rejects_a_scale_that_is_off_by_a_tenth(wrong: float) -> None:
    sample = TwoSidedGeometric.with_constant_work(round(1024 * wrong)).draw(DRAWS, SystemBits())
    assert goodness_of_fit(sample, 1024) < ALPHA


def test_the_two_draws_of_a_coordinate_pair_are_uncorrelated() -> None:
    """Catches one draw used twice. |correlation| of 60,000 pairs passes 0.025 once in 10**9."""
    sample = TwoSidedGeometric.with_constant_work(1024).draw(2 * DRAWS, SystemBits())
    correlation = stats.pearsonr(sample[::2], sample[1::2]).statistic
    assert abs(correlation) < 0.025


class CountingBits(RandomBits):
    """The kernel's bits, with a record of how many were read at a time."""

    def __init__(self) -> None:
        self.reads: list[int] = []

    def read(self, count: int) -> bytes:
        self.reads.append(count)
        return SystemBits().read(count)


@pytest.mark.parametrize("profile", [[0.0, 0.0], [1e-300, -1e-300], [3.7, -0.1]])
def test_the_work_depends_on_neither_the_profile_nor_the_noise(profile: list[float]) -> None:
    lattice = LatticeLaplace.for_epsilon(Fraction(2))
    words_per_draw = lattice.noise.levels + 1
    expected = [2 * 16, 2 * 2 * words_per_draw * 16]
    for _ in range(200):
        bits = CountingBits()
        lattice.perturb(np.array(profile), bits)
        assert bits.reads == expected
