"""Two results on a circle: the exact family against reference values and linear programs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askew.placement import theory
from askew.placement.ring import laplace_on_ring, place_on_ring

ROWS = [  # epsilon, optimum, peak, result, Laplace
    (0.1, 0.7648449382476757, math.pi / 2, math.pi / 2, 0.7821841976482563),
    (0.5, 0.6836314527981966, math.pi / 2, math.pi / 2, 0.7134621576271728),
    (1.5, 0.43589922253388014, 0.04578329985552391, 0.4590528672296752, 0.4359278273995178),
]


@pytest.mark.parametrize(("epsilon", "cost", "peak", "result", "laplace"), ROWS)
def test_two_results_are_the_reference(
    epsilon: float, cost: float, peak: float, result: float, laplace: float
) -> None:
    found = place_on_ring(epsilon)
    assert found.cost == pytest.approx(cost, rel=1e-12)
    assert found.noise_peak == pytest.approx(peak, abs=1e-6)
    np.testing.assert_allclose(found.offsets, [-result, result], atol=1e-6)
    assert laplace_on_ring(epsilon).cost == pytest.approx(laplace, rel=1e-12)


def test_the_converged_values_are_not_the_printed_ones() -> None:
    """The paper prints 0.72 and 0.75 at epsilon = 3/8; 0.7087 is a rigorous upper bound."""
    assert place_on_ring(3 / 8).cost == pytest.approx(0.708734, abs=1e-6)
    assert laplace_on_ring(3 / 8).cost == pytest.approx(0.742914, abs=1e-6)


def test_laplace_noise_is_not_optimal_on_a_circle() -> None:
    assert place_on_ring(1.0).cost < 0.998 * laplace_on_ring(1.0).cost


@pytest.mark.parametrize("epsilon", [0.375, 1.0, 1.5])
def test_the_linear_program_converges_to_the_exact_family(epsilon: float) -> None:
    errors = [
        abs(theory.on_ring(epsilon, 2, nodes).cost - place_on_ring(epsilon).cost)
        for nodes in (24, 72)
    ]
    assert errors[1] < errors[0] / 4
    assert errors[1] < 1.5e-3


@pytest.mark.parametrize(("k", "nodes"), [(1, 8), (2, 8), (2, 10)])
def test_averaging_over_rotations_loses_nothing(k: int, nodes: int) -> None:
    """The program over all people and all k-sets equals the one over a single noise law."""
    whole = theory.whole_ring(1.0, k, nodes)
    assert whole == pytest.approx(theory.on_ring(1.0, k, nodes).cost, rel=1e-8)


@pytest.mark.parametrize("circumference", [0.01, 1.0, 700.0])
def test_lengths_scale_with_the_circumference(circumference: float) -> None:
    scale = circumference / (2 * math.pi)
    scaled = place_on_ring(0.8 / scale, 2, circumference)
    assert scaled.cost == pytest.approx(scale * place_on_ring(0.8).cost, rel=1e-12)


@pytest.mark.parametrize("k", [3, 4, 5, 6, 12])
def test_more_results_cost_less_and_stay_near_the_program(k: int) -> None:
    found = place_on_ring(1.0, k)
    assert found.offsets.shape == (k,)
    assert not found.exact
    assert found.cost < place_on_ring(1.0, k - 1).cost


def test_one_flat_noise_law_is_the_uniform_one() -> None:
    assert place_on_ring(1e-9, 2).cost == pytest.approx(math.pi / 4, rel=1e-8)
    assert place_on_ring(1e4, 2).cost == pytest.approx(math.log(2) / 1e4, rel=1e-12)
