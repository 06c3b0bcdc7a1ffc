"""Hexagonal lattices for an epsilon, their work, their grain and how far their noise reaches."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from math import hypot, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recited import Recited

from askew.errors import ParameterError
from askew.noise.hexagonal import GAUGE, RISE, HexagonalLattice, steps
from askew.spaces.map import Position, Region

TOWN = Fraction("0.277")
GERMANY = Region(47.2, 5.8, 55.1, 15.1)
EPSILONS = st.fractions(Fraction(1, 1024), Fraction(1024), max_denominator=10**9)


@given(EPSILONS)
def test_the_lattice_never_spends_more_than_asked_and_hardly_less(epsilon: Fraction) -> None:
    exact = HexagonalLattice.for_epsilon(epsilon).epsilon
    assert epsilon * Fraction(999, 1000) <= exact <= epsilon


def test_epsilon_counts_the_gauge() -> None:
    """Planted bug: 1 / (q s), the rate per step, sold as the rate per straight-line kilometer."""
    assert HexagonalLattice(3, 4).epsilon == Fraction("1.1545") * 8 / 4


@given(EPSILONS)
def test_no_number_of_a_lattice_vanishes_from_the_wire(epsilon: Fraction) -> None:
    assert HexagonalLattice.for_epsilon(epsilon).step_exponent >= 1


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 1025), Fraction(1025)])
def test_an_epsilon_out_of_range_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="between 1/1024 and 1024 per kilometer"):
        HexagonalLattice.for_epsilon(epsilon)


@pytest.mark.parametrize(("exponent", "q"), [(-1, 5), (21, 5), (3, 0), (3, -2), (3, 4097)])
def test_a_lattice_out_of_range_is_refused(exponent: int, q: int) -> None:
    with pytest.raises(ParameterError):
        HexagonalLattice(exponent, q)


@given(
    st.integers(0, 20),
    st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9)),
)
def test_a_lattice_point_has_its_own_coordinates(exponent: int, at: tuple[int, int]) -> None:
    lattice = HexagonalLattice(exponent, 1)
    i, j = (Fraction(each) for each in at)
    assert lattice.coordinates(lattice.point(*at)) == (i, j)


# -- work -----------------------------------------------------------------------------------------


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


# -- grain ----------------------------------------------------------------------------------------


@given(EPSILONS)
def test_the_grain_is_the_power_of_two_nearest_to_half_of_one_over_epsilon(
    epsilon: Fraction,
) -> None:
    lattice = HexagonalLattice.for_epsilon(epsilon)
    target = 1 / (2 * lattice.epsilon * lattice.step)
    nearest = min((abs(2**n - target), 2**n) for n in range(40))
    assert lattice.grain == nearest[1]


@pytest.mark.parametrize("seed", range(40))
def test_what_leaves_is_never_finer_than_the_grain(seed: int) -> None:
    """Planted bug: a position finer than the public grid."""
    lattice = HexagonalLattice.for_epsilon(TOWN)
    i, j = lattice.perturb((Fraction(seed, 7), Fraction(seed, 3)), Recited(seed))
    assert lattice.grain == 512
    assert (i % 512, j % 512) == (0, 0)


@pytest.mark.parametrize("seed", range(40))
def test_coarsening_moves_a_noisy_point_by_half_a_grain_at_most(seed: int) -> None:
    """It is post-processing of the same draw: nothing else changes."""
    lattice = HexagonalLattice.for_epsilon(TOWN)
    point, bits = (Fraction(seed, 7), Fraction(seed, 3)), Recited(seed)
    near, move = lattice._round(point, bits), lattice._draw(bits)
    coarse = lattice.perturb(point, Recited(seed))
    for start, by, left in zip(near, move, coarse, strict=True):
        assert -256 <= start + by - left < 256


# -- how far the noise reaches --------------------------------------------------------------------


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


@pytest.mark.parametrize("epsilon", ["0.0693", "0.277", "1.386"])
def test_the_mean_distance_is_about_two_over_epsilon(epsilon: str) -> None:
    """2.106 of 1 / epsilon; noise of a whole circle would have 2, noise of two axes 2.296."""
    mean = HexagonalLattice.for_epsilon(Fraction(epsilon)).mean_distance
    assert mean * float(Fraction(epsilon)) == pytest.approx(2.106, rel=0.002)


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


def test_a_position_of_a_country_takes_about_17_bits() -> None:
    """Germany in its plane, counted: not 40 bits, which would be a serial number for life."""
    lattice = HexagonalLattice.for_epsilon(TOWN)
    width, height = GERMANY.kilometers(Position(55.1, 15.1))
    step = lattice.step * lattice.grain
    inside = 0
    for j in range(int(height / (RISE * step)) + 1):
        # Points of row j lie at (i - j / 2) steps, from west to east.
        inside += math.floor(width / step + Fraction(j, 2)) - math.ceil(Fraction(j, 2)) + 1
    assert 100_000 < inside < 200_000
    assert log2(inside) == pytest.approx(17.2, abs=0.1)
