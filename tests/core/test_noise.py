"""The noise that leaves a device: coins of exact probability, the lattice, the hexagon."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from fractions import Fraction
from itertools import product
from math import hypot
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recited import Recited

from askew.errors import DimensionMismatch, OutOfRange, ParameterError
from askew.noise.hexagonal import GAUGE, RISE, HexagonalLattice, steps
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace, TwoSidedGeometric
from askew.noise.randomness import Coins, RationalOdds, ReplayBits, SystemBits
from askew.protocol.signal import Signal

THIRD = Coins([RationalOdds(Fraction(1, 3))])
WORD = 1 << 128


def words(*values: int) -> ReplayBits:
    return ReplayBits(b"".join(value.to_bytes(16) for value in values))


ENDS = [(0, True), (WORD // 3 - 1, True), (WORD // 3 + 1, False), (WORD - 1, False)]


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize(("word", "heads"), ENDS)
def test_the_boundary_word_is_decided_by_the_next_one(word: int, heads: bool, before: int) -> None:
    # 2**128 / 3 has the fraction 1/3, so given the boundary word the coin again has odds 1/3.
    assert words(*[WORD // 3] * before, word).throw(THIRD)[0][0] == heads


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


EPSILONS = st.fractions(Fraction(1, 1024), Fraction(1024), max_denominator=10**9)
LATTICES = pytest.mark.parametrize("kind", [LatticeLaplace, HexagonalLattice])
Lattice = type[LatticeLaplace | HexagonalLattice]


@LATTICES
@given(epsilon=EPSILONS)
def test_the_lattice_never_spends_more_than_asked_and_hardly_less(
    kind: Lattice, epsilon: Fraction
) -> None:
    """And no number of it vanishes from the wire."""
    lattice = kind.for_epsilon(epsilon)
    assert epsilon * Fraction(999, 1000) <= lattice.epsilon <= epsilon
    assert lattice.step_exponent >= 1


@LATTICES
def test_an_epsilon_out_of_range_or_inexact_is_refused(kind: Lattice) -> None:
    """0.1 is not the number it looks like."""
    for epsilon in (Fraction(1, 1025), Fraction(1025)):
        with pytest.raises(ParameterError, match="between 1/1024 and 1024"):
            kind.for_epsilon(epsilon)
    for exponent, q in [(-1, 5), (21, 5), (3, 0), (3, 4097), (9.0, 5)]:
        with pytest.raises(ParameterError):
            kind(exponent, q)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="epsilon must be an int"):
        kind.for_epsilon(0.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="levels must be an int"):
        TwoSidedGeometric(2, 3.0)  # type: ignore[arg-type]


def test_a_point_that_cannot_be_read_exactly_is_refused_and_not_repeated() -> None:
    plane, line = HexagonalLattice.for_epsilon(Fraction(1)), LatticeLaplace.for_epsilon(Fraction(1))
    wrong: list[tuple[HexagonalLattice | LatticeLaplace, Any]] = [
        (plane, (1.625, 2.5)),
        (line, [1.625, float("nan")]),
        (line, [float("inf")]),
        (line, ["1.625"]),
    ]
    for lattice, point in wrong:
        with pytest.raises(ParameterError, match="point must be") as refusal:
            lattice.perturb(point, SystemBits())
        assert not {"1.625", "nan", "inf"} & set(re.split("[^a-z0-9.]+", str(refusal.value)))


def test_noise_beyond_the_width_of_the_wire_is_clamped() -> None:
    class Huge:
        def draw(self, count: int, bits: object) -> list[int]:
            return [1 << 40, -(1 << 40)][:count]

    lattice = LatticeLaplace(0, 1)
    lattice.__dict__["noise"] = Huge()
    sent = lattice.perturb(np.zeros(2), SystemBits())
    assert sent == (COORDINATE_LIMIT, -COORDINATE_LIMIT)


def test_a_signal_is_a_point_of_its_space_that_fits_the_wire() -> None:
    for coordinates in [(), (COORDINATE_LIMIT + 1,), (0, -(2**31))]:
        with pytest.raises(OutOfRange):
            Signal("00" * 16, LatticeLaplace(0, 1), coordinates)
    signal = Signal("00" * 16, LatticeLaplace(2, 1), (3, -8))
    assert signal.point().tolist() == [0.75, -2.0]
    signal.check(dimension=2)
    with pytest.raises(DimensionMismatch, match="dimension 2, the feature space has 3"):
        signal.check(dimension=3)


TOWN = Fraction("0.277")


def test_epsilon_counts_the_gauge() -> None:
    """Planted bug: 1 / (q s), the rate per step, sold as the rate per straight-line kilometer."""
    assert HexagonalLattice(3, 4).epsilon == Fraction("1.1545") * 8 / 4


@given(st.integers(0, 20), st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9)))
def test_a_lattice_point_has_its_own_coordinates(exponent: int, at: tuple[int, int]) -> None:
    lattice = HexagonalLattice(exponent, 1)
    i, j = (Fraction(each) for each in at)
    assert lattice.coordinates(lattice.point(*at)) == (i, j)


def test_the_work_depends_neither_on_the_position_nor_on_the_outcome() -> None:
    """Planted bug: no coins for the noise when it stays at zero."""
    lattice = HexagonalLattice(3, 2)  # stays at zero once in 37 draws
    points = [
        (Fraction(0), Fraction(0)),  # on the lattice, where the fractions are zero
        (Fraction(1, 3), Fraction(1, 7)),
        (Fraction(10**6), Fraction(-(10**6))),
        (Fraction(1, 16), RISE / 8),
    ]
    outcomes, work = set(), set()
    for point, seed in product(points, range(80)):
        bits = Recited(seed)
        outcomes.add(lattice.perturb(point, bits))
        work.add(tuple(bits.sizes))
    assert len(outcomes) > 60
    assert len(work) == 1


@given(EPSILONS)
def test_the_grain_is_the_power_of_two_nearest_to_half_of_one_over_epsilon(
    epsilon: Fraction,
) -> None:
    lattice = HexagonalLattice.for_epsilon(epsilon)
    target = 1 / (2 * lattice.epsilon * lattice.step)
    nearest = min((abs(2**n - target), 2**n) for n in range(40))
    assert lattice.grain == nearest[1]


@pytest.mark.thin
@pytest.mark.parametrize("q", [1, 2, 5, 20])
def test_the_mean_distance_is_that_of_the_law(q: int) -> None:
    """The sum over the lattice, cut off where less than 1e-9 is left."""
    span, rise, r = range(-30 * q - 20, 30 * q + 21), float(RISE), q / (q + 1)
    total = sum(
        r ** steps(i, j) * hypot(i - j / 2, rise * j)
        for i, j in product(span, repeat=2)
        if steps(i, j) < span.stop
    )
    mean = total / (1 + 6 * q * (q + 1)) / 8
    said = HexagonalLattice(3, q).mean_distance
    assert mean * (1 - 1 / (20 * q**2)) <= said <= mean


def test_drawn_noise_goes_as_far_as_its_mean_says() -> None:
    lattice = HexagonalLattice.for_epsilon(TOWN)
    here, bits = (Fraction(100), Fraction(100)), Recited(1)
    away = 0.0
    for _ in range(4000):
        x, y = lattice.point(*lattice.perturb(here, bits))
        away += hypot(float(x) - 100, float(y) - 100) / 4000
    # Four standard errors; the coarsening adds about one percent.
    assert away == pytest.approx(lattice.mean_distance, rel=0.05)


def test_the_gauge_is_the_smallest_that_a_short_decimal_can_say() -> None:
    assert (GAUGE - Fraction(1, 10000)) ** 2 < Fraction(901, 676) < GAUGE**2


@pytest.mark.parametrize("limit", [3, 6, 257])
def test_a_number_below_a_limit_is_uniform_by_every_byte(limit: int) -> None:
    """Exact: over all that one round may read, each number comes as often. Planted bug: a remainder
    in place of a next round, by which small numbers come more often.
    """
    count = -(-(limit - 1).bit_length() // 8)
    found = Counter[int]()
    for word in range(256**count):
        with contextlib.suppress(EOFError):  # another round, in which all are alike again
            found[ReplayBits(word.to_bytes(count)).below(limit)] += 1
    assert sorted(found) == list(range(limit))
    assert len(set(found.values())) == 1


def test_every_coordinate_has_noise_of_its_own() -> None:
    """Six coordinates of one point, four times. Planted bug: the third one's noise is the first's.

    By chance two agree in all four draws with a probability below 15 / 2048**4, 1e-12.
    """
    lattice = LatticeLaplace(10, 1024)
    draws = [lattice.perturb([0.25] * 6, SystemBits()) for _ in range(4)]
    assert len(set(zip(*draws, strict=True))) == 6
