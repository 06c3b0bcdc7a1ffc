"""The differential-integral program on a lattice: no private mechanism beats Laplace noise with our
offsets. Lattice costs converge with the square of the spacing; at 0.1 / epsilon they are 0.3 % low.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from askew.errors import InfiniteCost, ParameterError
from askew.placement import Identity, Laplace, place
from askew.placement.theory import line_shape, noise_for, noise_on_lattice, on_line


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_program_finds_the_cost_of_laplace_noise(k: int, epsilon: float) -> None:
    """Catches wrong offsets: +-1 instead of +-ln 2 for k = 2 costs 6 % more than the optimum."""
    cost = place(Laplace(epsilon), Identity(), k).cost
    found = on_line(epsilon, k, step=0.1 / epsilon, reach=100)
    assert found.cost <= cost * (1 + 1e-9)
    assert found.cost == pytest.approx(cost, rel=3e-3)


def test_halving_the_spacing_quarters_the_difference() -> None:
    """k = 1: the lattice optimum is spacing / sinh(epsilon spacing)."""
    for step in (0.2, 0.1):
        assert on_line(1.0, 1, step, reach=100).cost == pytest.approx(
            step / math.sinh(step), rel=3e-5
        )


def test_the_optimal_lattice_noise_is_laplace() -> None:
    found = on_line(1.0, 2, step=0.1, reach=80)
    center = int(np.argmax(found.noise))
    steps = np.abs(np.arange(len(found.noise)) - center)
    inner = steps < 60
    expected = found.noise[center] * np.exp(-0.1 * steps[inner])
    np.testing.assert_allclose(found.noise[inner], expected, rtol=1e-6)


def test_descent_over_gaps_meets_full_enumeration() -> None:
    whole = min(line_shape(1.0, (a, b), 0.25, 40).cost for a in range(1, 10) for b in range(1, 10))
    assert on_line(1.0, 3, 0.25, 40).cost == pytest.approx(whole, rel=1e-9)


def test_a_convex_bound_counts_by_its_slope_at_0() -> None:
    assert noise_for(lambda t: 0.5 * t + t * t).epsilon == pytest.approx(0.5, rel=1e-6)
    assert noise_for(math.expm1).epsilon == pytest.approx(1.0, rel=1e-6)
    assert noise_for(lambda t: math.inf if t > 3 else 2 * t).epsilon == pytest.approx(2.0)


def test_a_flat_start_is_refused_on_a_continuum_and_usable_on_a_lattice() -> None:
    with pytest.raises(InfiniteCost):
        noise_for(lambda t: t * t)
    assert noise_on_lattice(lambda t: t * t, 0.5).epsilon == pytest.approx(0.5)


def test_a_concave_bound_is_refused_unless_a_valid_rate_will_do() -> None:
    with pytest.raises(ParameterError):
        noise_for(lambda t: min(2 * t, 1.0))
    assert noise_for(lambda t: min(2 * t, 1.0), diameter=4.0).epsilon == pytest.approx(0.25)
