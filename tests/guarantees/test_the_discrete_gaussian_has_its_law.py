"""Discrete Gaussian noise has its law: read off the code by words, at its edges, and in bulk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, fsum, isqrt, log

import numpy as np
import pytest
from metered import metered
from numpy.typing import NDArray
from scipy import stats

from askew.errors import ParameterError
from askew.noise.gaussian import MAX_VARIANCE, DiscreteGaussian, exp_odds
from askew.noise.randomness import ReplayBits, SystemBits

FALSE_ALARM = 1e-9  # of each test that draws
ZERO, TOP = bytes(16), b"\xff" * 16


def tried(law: DiscreteGaussian, high: int, low: int, stay: int, more: bytes = ZERO) -> int | None:
    """One try with these three words, and these bytes where one of them did not tell: what it
    drew, or None where it did not stay and wanted a second.
    """
    words = b"".join(word.to_bytes(8, "little") for word in (high, low, stay))
    try:
        return int(law.draw(1, ReplayBits(words + more))[0])
    except EOFError:
        return None


def part(law: DiscreteGaussian, word: int, more: bytes = ZERO) -> int:
    """The h that a first word leads to."""
    value = tried(law, word, 0, 0, more)
    assert value is not None
    return value >> law.low_bits


def end_of(law: DiscreteGaussian, h: int, more: bytes = ZERO) -> int:
    """The first word that leads beyond h."""
    return first(lambda word: part(law, word, more) > h)


def first(holds: Callable[[int], bool]) -> int:
    """By bisection, the first word that `holds` is true of; 2**64 where there is none."""
    low, high = 0, 1 << 64
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def law_off_the_code(law: DiscreteGaussian, highest: int) -> dict[int, float]:
    """P(n) as the words lead to it: how many first words lead to each h, and how many third ones
    let it stay, for each pattern of the second.
    """
    edges = [end_of(law, h) for h in range(-1, highest + 1)]
    weight: Counter[int] = Counter()
    patterns = product(range(highest + 1), range(1 << law.low_bits), (0, 1))
    for h, low, negative in patterns:
        second = low | negative << 63
        if edges[h] == edges[h + 1]:  # beyond 9.3 standard deviations, where 63 bits do not tell
            continue
        word = (edges[h] + edges[h + 1]) // 2
        value = tried(law, word, second, 0)
        if value is None:
            assert (h, low, negative) == (0, 0, 1)  # minus zero is tried again
            continue
        assert value == (-1) ** negative * ((h << law.low_bits) + low)
        staying = first(lambda w: tried(law, word, second, w) is None)  # noqa: B023
        weight[value] += (edges[h + 1] - edges[h]) * staying
    total = sum(weight.values())
    return {n: each / total for n, each in weight.items()}


@pytest.mark.thin
@pytest.mark.parametrize(("variance", "low_bits"), [(1, 0), (1, 1), (3, 0), (3, 1), (20, 2)])
def test_the_law_read_off_the_code_is_the_formula(variance: int, low_bits: int) -> None:
    """Planted bugs: minus zero stays; l (h 2**s + l) for l (2 h 2**s + l)."""
    # beyond 8 standard deviations there is less than 2e-15
    highest = (8 * isqrt(variance) + 8 >> low_bits) + 1
    law = law_off_the_code(DiscreteGaussian(variance, low_bits), highest)
    most = fsum(exp(-(n**2) / (2 * variance)) for n in range(-100, 101))
    for n, p in law.items():
        assert p == pytest.approx(exp(-(n**2) / (2 * variance)) / most, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("precision", [3, 16, 127])
def test_what_is_known_of_an_edge_is_true_and_close(precision: int) -> None:
    """Of few bits as of many, by what 400 bits more know. Planted bug: a sum without its tail."""
    for variance in (1, 3, 300, 2**46, 2**46 + 12_345, MAX_VARIANCE):
        law = DiscreteGaussian.of_variance(variance)
        closely = law._ends(precision + 400)
        for (low, high), (below, above) in zip(law._ends(precision), closely, strict=False):
            assert low << 400 <= below
            assert above <= high << 400
            assert high - low <= 8


@pytest.mark.parametrize("variance", [1, 300, 2**46, MAX_VARIANCE])
def test_an_edge_is_decided_by_more_bits_and_both_ways(variance: int) -> None:
    """Planted bug: the float's word, or the lower bound, for the last."""
    law = DiscreteGaussian.of_variance(variance)
    for h in (0, 1, 7):
        word = end_of(law, h, TOP)
        assert (part(law, word - 2), part(law, word - 2, TOP)) == (h, h)
        assert (part(law, word), part(law, word, TOP)) == (h, h + 1)
        assert (part(law, word + 2), part(law, word + 2, TOP)) == (h + 1, h + 1)


@pytest.mark.parametrize("variance", [3, 300, 2**46, MAX_VARIANCE])
@pytest.mark.parametrize("share", [Fraction(1, 5), Fraction(4, 5), Fraction(95, 100)])
def test_whether_a_draw_stays_is_exact_to_the_last_bit_of_a_word(
    variance: int, share: Fraction
) -> None:
    """The first third word with which it is tried again is exp(-x) 2**64, rounded up. Planted
    bug: floats alone.
    """
    law = DiscreteGaussian.of_variance(variance)
    low = (1 << law.low_bits) * 9 // 10
    word = int(share * (1 << 64))
    start = part(law, word) << law.low_bits
    exponent = Fraction((start + low) ** 2 - start**2, 2 * variance)
    one_more = first(lambda w: tried(law, word, low, w) is None)
    below, above = exp_odds(*exponent.as_integer_ratio(), 64 + 40)
    assert -(-below >> 40) == -(-above >> 40) or exponent == 0
    assert one_more == -(-above >> 40)


def test_draws_far_beyond_the_table_can_happen() -> None:
    """A first word of ones alone leads on to h that 63 bits cannot tell apart from none."""
    law = DiscreteGaussian.of_variance(2**46)
    ones = (1 << 64) - 1
    beyond = tried(law, ones, 0, 0, bytes(16))
    farther = tried(law, ones, 0, 0, b"\xff" * 7 + bytes(9))
    assert beyond is not None
    assert farther is not None
    # P(|n| > z) = 2**-63 at 9.1 standard deviations; with 56 ones more 2**-119, at 12.6
    assert 9.0 * 2**23 < beyond < 9.4 * 2**23
    assert 12.4 * 2**23 < farther < 12.9 * 2**23


def statistic(draws: NDArray[np.int64], variance: float, cells: int = 64) -> float:
    """p of a chi-square test on cells that are equally likely under the normal law: for noise so
    wide that its steps are not seen.
    """
    edges = stats.norm.ppf(np.arange(1, cells) / cells) * variance**0.5
    found = np.bincount(np.searchsorted(edges, draws), minlength=cells)
    return float(stats.chisquare(found).pvalue)


def test_a_million_draws_follow_the_law_and_a_tenth_more_variance_does_not() -> None:
    """A false alarm in 10**9 runs. Power: at 1.1 times the variance the statistic has a mean above
    4,000 where 155 are enough: it fails to reject in fewer than one of 10**100 runs.
    """
    variance = 2**52 + 1
    draws = DiscreteGaussian.of_variance(variance).draw(1_000_000, SystemBits())
    assert statistic(draws, variance) > FALSE_ALARM
    assert statistic(draws, variance * 1.1) < FALSE_ALARM
    assert statistic(draws, variance / 1.1) < FALSE_ALARM
    low = np.bincount(draws % 64, minlength=64)  # the lowest bits are uniform
    assert stats.chisquare(low).pvalue > FALSE_ALARM


def test_small_noise_follows_the_law_integer_by_integer() -> None:
    """Not the rounded normal law, which at this variance is 1 in 100 off at 0."""
    n = np.arange(-4, 5)
    weight = np.exp(-(n**2) / 2.0)
    draws = DiscreteGaussian.of_variance(1).draw(1_000_000, SystemBits())
    found = np.bincount(np.clip(draws, -4, 4) + 4, minlength=9)
    inside = np.abs(n) < 4

    def p(law: NDArray[np.float64]) -> float:
        law = np.where(inside, law, (1 - law[inside].sum()) / 2)
        return float(stats.chisquare(found, law * len(draws)).pvalue)

    rounded = stats.norm.cdf(n + 0.5) - stats.norm.cdf(n - 0.5)
    assert p(weight / np.exp(-(np.arange(-50, 51) ** 2) / 2.0).sum()) > FALSE_ALARM
    assert p(rounded) < FALSE_ALARM


def test_a_try_reads_24_bytes_and_hardly_any_is_in_vain() -> None:
    draws, read = metered(lambda: DiscreteGaussian.of_variance(2**46).draw(100_000, SystemBits()))
    assert len(draws) == 100_000
    tries = [len(part) for part in read if len(part) > 16]  # 8 or 16: a word that did not tell
    assert all(size % 24 == 0 for size in tries)
    assert 100_000 < sum(tries) // 24 < 107_000


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(3)])
def test_a_move_costs_its_square_over_twice_the_variance(order: Fraction) -> None:
    """The Renyi divergence is at most order * move**2 / 2v, and no less where order * move is an
    integer: rho has no slack.
    """
    n, a = np.arange(-200, 201), float(order)
    for variance, move in product((1, 2, 9), (1, 2, 3)):
        exponent = a * (n - move) ** 2 + (1 - a) * n**2  # of P(n - move)**a P(n)**(1 - a)
        total = np.exp(-(n**2) / (2 * variance)).sum()
        divergence = log(np.exp(-exponent / (2 * variance)).sum() / total) / (a - 1)
        bound = a * move**2 / (2 * variance)
        assert divergence <= bound + 1e-12
        if (order * move).denominator == 1:
            assert divergence == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(
    ("variance", "low_bits"), [(0, 0), (MAX_VARIANCE + 1, 0), (1, -1), (1, 41)]
)
def test_a_law_out_of_range_is_refused(variance: int, low_bits: int) -> None:
    with pytest.raises(ParameterError, match="must be an int from"):
        DiscreteGaussian(variance, low_bits)
