"""The law that a benchmark of places sums over is that of the noise, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.places.theory import log_likelihood

from askew.noise.lattice import COORDINATE_LIMIT, LatticeLaplace

TERMS = 400  # (2/3)**400 < 1e-70 of either draw lies beyond
COARSE = LatticeLaplace(step_exponent=1, inverse_rate=2)  # step 1/2, r = 2/3


def geometric(n: int, q: int) -> Fraction:
    return Fraction(1, q + 1) * Fraction(q, q + 1) ** n if n >= 0 else Fraction(0)


def noise_law(n: int, q: int) -> Fraction:
    """P(G1 - G2 = n), summed over G2."""
    terms = (geometric(n + g, q) * geometric(g, q) for g in range(TERMS))
    return sum(terms, Fraction(0))


def drawn_with(z: int, u: Fraction, lattice: LatticeLaplace) -> Fraction:
    """P(Z = z | u): J is one of the two lattice points around u."""
    place = u * 2**lattice.step_exponent
    below, up = divmod(place, 1)
    q = lattice.inverse_rate
    return Fraction((1 - up) * noise_law(z - below, q) + up * noise_law(z - below - 1, q))


@pytest.mark.parametrize("u", ["1/2", "3/8", "7/4"])
def test_it_is_the_law_of_the_noise_on_and_off_the_lattice(u: str) -> None:
    """Planted bug: the law of the nearest lattice point alone; off by 12 % at 3/8."""
    exact = Fraction(u)
    for z in range(-6, 9):
        expected = drawn_with(z, exact, COARSE)
        found = log_likelihood(COARSE, [z], np.array([[float(exact)]]))
        assert math.exp(found[0]) == pytest.approx(float(expected), rel=1e-12)


def test_the_end_of_the_wire_stands_for_all_that_lies_beyond() -> None:
    """P(Z >= L) = P(Z = L) / (1 - r) far out, where only the upper tail is left."""
    points = np.array([[0.25], [1.0]])
    inside = log_likelihood(COARSE, [COORDINATE_LIMIT - 1], points)
    at_end = log_likelihood(COARSE, [COORDINATE_LIMIT], points)
    log_r = math.log(2 / 3)
    # The logarithms are near -1e9, so their difference is good to 1e-7.
    assert at_end - inside == pytest.approx(log_r + math.log(3), abs=1e-5)
