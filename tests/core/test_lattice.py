"""Lattices for an epsilon, and what may leave on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.dp.privacy import Reach, SignalCharge
from askew.errors import DimensionMismatch, OutOfRange, ParameterError
from askew.noise.hexagonal import HexagonalLattice
from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace, TwoSidedGeometric
from askew.noise.randomized_response import RandomizedResponse
from askew.noise.randomness import SystemBits
from askew.protocol.signal import Signal

EPSILONS = st.fractions(Fraction(1, 1024), Fraction(1024), max_denominator=10**9)


@given(EPSILONS)
def test_the_lattice_never_spends_more_than_asked_and_hardly_less(epsilon: Fraction) -> None:
    exact = LatticeLaplace.for_epsilon(epsilon).epsilon
    assert epsilon * Fraction(999, 1000) <= exact <= epsilon


@pytest.mark.parametrize("power", [-10, -1, 0, 1, 5, 10])
def test_powers_of_two_are_met_exactly(power: int) -> None:
    epsilon = Fraction(2) ** power
    assert LatticeLaplace.for_epsilon(epsilon).epsilon == epsilon


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 1025), Fraction(1025)])
def test_an_epsilon_out_of_range_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="between 1/1024 and 1024"):
        LatticeLaplace.for_epsilon(epsilon)


@pytest.mark.parametrize(("exponent", "q"), [(-1, 5), (21, 5), (3, 0), (3, -2), (3, 4097)])
def test_a_lattice_out_of_range_is_refused(exponent: int, q: int) -> None:
    with pytest.raises(ParameterError):
        LatticeLaplace(exponent, q)


INEXACT: dict[str, Callable[[], object]] = {
    "epsilon of a lattice": lambda: LatticeLaplace.for_epsilon(0.5),  # type: ignore[arg-type]
    "epsilon of a map": lambda: HexagonalLattice.for_epsilon(0.5),  # type: ignore[arg-type]
    "epsilon of buckets": lambda: RandomizedResponse.for_epsilon(4, 0.5),  # type: ignore[arg-type]
    "epsilon as text": lambda: LatticeLaplace.for_epsilon("1/2"),  # type: ignore[arg-type]
    "odds": lambda: RandomizedResponse(4, 3.0),  # type: ignore[arg-type]
    "buckets": lambda: RandomizedResponse(4.0, Fraction(3)),  # type: ignore[arg-type]
    "step_exponent": lambda: LatticeLaplace(9.0, 1024),  # type: ignore[arg-type]
    "inverse_rate": lambda: TwoSidedGeometric.with_constant_work(2.5),  # type: ignore[arg-type]
    "levels": lambda: TwoSidedGeometric(2, 3.0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", INEXACT)
def test_a_float_is_no_number_of_exact_noise(case: str) -> None:
    """0.1 is not the number it looks like. Before: taken, or an AttributeError or TypeError."""
    with pytest.raises(ParameterError, match=r"an int|an integer") as refusal:
        INEXACT[case]()
    assert refusal.value.name == case.split(maxsplit=1)[0]


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


def test_the_loss_of_a_signal_is_stated_in_three_units() -> None:
    loss = LatticeLaplace(3, 4).privacy_loss(Reach(one_rating=Fraction(1, 4), diameter=Fraction(3)))
    assert loss.epsilon_per_distance == 2
    assert loss.epsilon_per_rating == Fraction(1, 2)
    assert loss.epsilon == 6
    assert loss.charge == SignalCharge(Fraction(6), Fraction(2))


def test_noise_beyond_the_width_of_the_wire_is_clamped() -> None:
    class Huge:
        def draw(self, count: int, bits: object) -> list[int]:
            return [1 << 40, -(1 << 40)][:count]

    lattice = LatticeLaplace(0, 1)
    lattice.__dict__["noise"] = Huge()
    sent = lattice.perturb(np.zeros(2), SystemBits())
    assert sent == (COORDINATE_LIMIT, -COORDINATE_LIMIT)


@pytest.mark.parametrize("coordinates", [(), (COORDINATE_LIMIT + 1,), (0, -(2**31))])
def test_a_signal_that_does_not_fit_the_wire_cannot_be_made(coordinates: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange):
        Signal("00" * 16, LatticeLaplace(0, 1), coordinates)


def test_a_signal_is_a_point_of_its_space() -> None:
    signal = Signal("00" * 16, LatticeLaplace(2, 1), (3, -8))
    assert signal.point().tolist() == [0.75, -2.0]
    signal.check(dimension=2, n_buckets=0)
    with pytest.raises(DimensionMismatch, match="dimension 2, the feature space has 3"):
        signal.check(dimension=3, n_buckets=2)


@pytest.mark.parametrize("values", [(), (4,), (-1,), (0, 0)])
def test_a_bucket_that_the_response_does_not_have_cannot_be_sent(values: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange, match="one number below 4"):
        Signal("00" * 16, RandomizedResponse(4, Fraction(2)), values)


def test_a_bucket_is_no_point_and_fits_a_space_of_as_many_buckets() -> None:
    signal = Signal("00" * 16, RandomizedResponse(4, Fraction(2)), (3,))
    signal.check(dimension=1, n_buckets=4)
    with pytest.raises(OutOfRange, match="the number of buckets"):
        signal.check(dimension=1, n_buckets=0)
    with pytest.raises(OutOfRange, match="the mechanism of this signal"):
        signal.point()
