"""Optimal offsets for Laplace noise and h(t) = t: formulas, references, and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from askew.errors import ParameterError
from askew.placement import Identity, Laplace, Placement, place
from askew.placement.grid import best_factors


def on_the_line(k: int, epsilon: float = 1.0) -> Placement:
    return place(Laplace(epsilon), Identity(), k)


def expected_cost(offsets: NDArray[np.float64], epsilon: float) -> float:
    """E min_i |X - a_i| by quadrature between the points and their midpoints."""
    points = [-40 / epsilon, *offsets, 40 / epsilon]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(offsets)]
    knots = sorted({*points, *middles, 0.0})
    return sum(
        quad(lambda x: np.abs(x - offsets).min() * epsilon / 2 * math.exp(-epsilon * abs(x)), a, b)[
            0
        ]
        for a, b in itertools.pairwise(knots)
    )


# Solved independently in 60-digit arithmetic, from a start that assumes no symmetry.
COSTS = [1.0, 0.6931471805599453, 0.5, 0.4054651081081644, 1 / 3, 0.2876820724517809, 0.25]
OUTER = {
    4: [0.4054651081081644, 1.791759469228055],
    6: [0.2876820724517809, 1.0986122886681098, 2.4849066497880004],
    7: [0.0, 0.5753641449035618, 1.3862943611198906, 2.772588722239781],
    8: [0.22314355131420976, 0.7985076962177716, 1.6094379124341003, 2.995732273553991],
}


@pytest.mark.parametrize(("k", "cost"), list(enumerate(COSTS, start=1)))
def test_costs_are_the_reference_values(k: int, cost: float) -> None:
    assert on_the_line(k).cost == pytest.approx(cost, rel=1e-14)


@pytest.mark.parametrize("k", OUTER)
def test_offsets_are_the_reference_values(k: int) -> None:
    assert on_the_line(k).offsets[k // 2 :] == pytest.approx(OUTER[k], rel=1e-14, abs=0)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 16])
def test_the_cost_is_what_the_offsets_really_cost(k: int) -> None:
    placement = on_the_line(k, 0.375)
    assert expected_cost(placement.offsets, 0.375) == pytest.approx(placement.cost, rel=1e-9)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_moving_any_offset_costs_more(k: int) -> None:
    best = on_the_line(k)
    for i, move in itertools.product(range(k), (-0.05, 0.05)):
        moved = best.offsets.copy()
        moved[i] += move
        assert expected_cost(moved, 1.0) > best.cost + 1e-7


@given(st.integers(1, 10_000), st.floats(1e-3, 1e3))
def test_offsets_are_symmetric_ascending_and_scale_with_one_over_epsilon(
    k: int, epsilon: float
) -> None:
    placement = on_the_line(k, epsilon)
    assert placement.offsets.shape == (k,)
    assert (np.diff(placement.offsets) > 0).all()
    np.testing.assert_allclose(placement.offsets, -placement.offsets[::-1], rtol=0, atol=0)
    np.testing.assert_allclose(placement.offsets * epsilon, on_the_line(k).offsets, rtol=1e-14)
    assert (0.0 in placement.offsets) == (k % 2 == 1)


def test_the_stationary_equations_hold_at_ten_thousand_points() -> None:
    """Each offset is the median of the noise in its cell, to 1e-12 of the cell's mass."""
    offsets = on_the_line(10_000).offsets
    edges = np.concatenate([[-np.inf], (offsets[1:] + offsets[:-1]) / 2, [np.inf]])

    def mass(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(a < X < b) for a < b on one side of zero, without cancellation."""
        return np.exp(-a) * -np.expm1(a - b) / 2

    outer = slice(5_001, 10_000)  # cells right of zero
    left = mass(edges[:-1][outer], offsets[outer])
    right = mass(offsets[outer], edges[1:][outer])
    np.testing.assert_allclose(left, right, rtol=1e-9)


@pytest.mark.parametrize("k", range(1, 40))
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_grid_is_the_best_of_all_factorizations(k: int, dimension: int) -> None:
    candidates = [
        counts
        for counts in itertools.product(range(1, k + 1), repeat=dimension)
        if math.prod(counts) <= k
    ]
    best = min(sum(on_the_line(count).cost for count in counts) for counts in candidates)
    placement = place(Laplace(1.0, dimension), Identity(), k)
    assert placement.cost == pytest.approx(best, rel=1e-12)
    assert placement.offsets.shape == (math.prod(best_factors(k, dimension)), dimension)


def test_the_grid_cost_is_what_simulated_noise_pays() -> None:
    """200,000 draws in three dimensions: within five standard errors, fixed seed."""
    rng = np.random.default_rng(7)
    placement = place(Laplace(2.0, 3), Identity(), 16)
    noise = rng.laplace(scale=0.5, size=(200_000, 3))
    far = np.full(len(noise), np.inf)
    for point in placement.offsets:
        far = np.minimum(far, np.abs(noise - point).sum(axis=1))
    assert abs(far.mean() - placement.cost) < 5 * far.std() / np.sqrt(len(far))


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_a_k_that_is_no_positive_integer_is_refused(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be an integer of at least 1"):
        place(Laplace(1.0), Identity(), k)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_noise_without_a_finite_scale_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon must be positive and finite"):
        Laplace(epsilon)


def test_offsets_cannot_be_changed_behind_a_placements_back() -> None:
    with pytest.raises(ValueError, match="read-only"):
        on_the_line(3).offsets[0] = 0.0
