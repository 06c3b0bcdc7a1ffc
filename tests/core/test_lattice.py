"""Lattices for an epsilon, and what may leave on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import DimensionMismatch, OutOfRange, ParameterError
from askew.lattice import COORDINATE_LIMIT, Lattice
from askew.privacy import MetricPrivacy
from askew.randomness import SystemBits
from askew.signal import Signal

EPSILONS = st.fractions(Fraction(1, 1024), Fraction(1024), max_denominator=10**9)


@given(EPSILONS)
def test_the_lattice_never_spends_more_than_asked_and_hardly_less(epsilon: Fraction) -> None:
    exact = Lattice.for_epsilon(epsilon).epsilon
    assert epsilon * Fraction(999, 1000) <= exact <= epsilon


@pytest.mark.parametrize("power", [-10, -1, 0, 1, 5, 10])
def test_powers_of_two_are_met_exactly(power: int) -> None:
    epsilon = Fraction(2) ** power
    assert Lattice.for_epsilon(epsilon).epsilon == epsilon


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 1025), Fraction(1025)])
def test_an_epsilon_out_of_range_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(ParameterError, match="between 1/1024 and 1024"):
        Lattice.for_epsilon(epsilon)


@pytest.mark.parametrize(("exponent", "q"), [(-1, 5), (21, 5), (3, 0), (3, -2), (3, 4097)])
def test_a_lattice_out_of_range_is_refused(exponent: int, q: int) -> None:
    with pytest.raises(ParameterError):
        Lattice(exponent, q)


def test_the_loss_of_a_signal_is_its_epsilon_in_l1() -> None:
    loss = Lattice(3, 4).privacy_loss()
    assert loss == MetricPrivacy(Fraction(2), "l1")
    assert loss.at_distance(1.5) == 3.0


def test_noise_beyond_the_width_of_the_wire_is_clamped() -> None:
    class Huge:
        def draw(self, count: int, bits: object) -> NDArray[np.int64]:
            return np.array([1 << 40, -(1 << 40)])[:count]

    lattice = Lattice(0, 1)
    lattice.__dict__["noise"] = Huge()
    sent = lattice.perturb(np.zeros(2), SystemBits())
    assert sent == (COORDINATE_LIMIT, -COORDINATE_LIMIT)


@pytest.mark.parametrize("coordinates", [(), (COORDINATE_LIMIT + 1,), (0, -(2**31))])
def test_a_signal_that_does_not_fit_the_wire_cannot_be_made(coordinates: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange):
        Signal("00" * 16, Lattice(0, 1), coordinates)


def test_a_signal_is_a_point_of_its_space() -> None:
    signal = Signal("00" * 16, Lattice(2, 1), (3, -8))
    assert signal.vector(2).tolist() == [0.75, -2.0]
    with pytest.raises(DimensionMismatch, match="dimension 2, the feature space has 3"):
        signal.vector(3)
