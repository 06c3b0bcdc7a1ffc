"""What must hold for every noise, disutility and k."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.placement import (
    Cap,
    Disutility,
    Expm1,
    Gaussian,
    Identity,
    Laplace,
    Log1p,
    Logistic,
    Placement,
    Power,
    Saturating,
    Threshold,
    place,
)
from askew.placement.laplace_line import legendre

FEW = settings(max_examples=40, deadline=None)
EPSILON = st.floats(0.05, 20)
SIZE = st.floats(0.05, 20)
H: st.SearchStrategy[Disutility] = st.one_of(
    st.just(Identity()),
    st.builds(Power, st.floats(0.1, 5)),
    st.builds(Saturating, SIZE),
    st.builds(Log1p, SIZE),
    st.builds(Cap, SIZE),
    st.builds(Threshold, st.floats(0.05, 2)),
    st.builds(Expm1, st.floats(0.01, 0.04)),
)
K = st.integers(1, 40)
NOISE = st.one_of(st.builds(Laplace, EPSILON), st.builds(Gaussian, SIZE), st.builds(Logistic, SIZE))


@FEW
@given(NOISE, H, K)
def test_offsets_are_symmetric_and_hold_0_iff_k_is_odd(
    noise: Laplace, h: Disutility, k: int
) -> None:
    offsets = place(noise, h, k).offsets
    assert offsets.shape == (k,)
    np.testing.assert_array_equal(offsets, -offsets[::-1])
    assert (0.0 in offsets) == (k % 2 == 1)
    assert (np.diff(offsets) > 0).all()


@FEW
@given(NOISE, H, K)
def test_one_more_result_never_costs_more(noise: Laplace, h: Disutility, k: int) -> None:
    fewer, more = place(noise, h, k).cost, place(noise, h, k + 1).cost
    assert 0 <= more <= fewer * (1 + 1e-12)


@FEW
@given(EPSILON, st.floats(1.01, 3), H, K)
def test_less_noise_never_costs_more(epsilon: float, factor: float, h: Disutility, k: int) -> None:
    noisy, quiet = place(Laplace(epsilon), h, k), place(Laplace(epsilon * factor), h, k)
    assert quiet.cost <= noisy.cost * (1 + 1e-12)


@FEW
@given(EPSILON, st.floats(0.1, 5), K)
def test_lengths_scale_as_one_over_epsilon(epsilon: float, exponent: float, k: int) -> None:
    unit, scaled = (place(Laplace(e), Power(exponent), k) for e in (1.0, epsilon))
    np.testing.assert_allclose(scaled.offsets * epsilon, unit.offsets, rtol=1e-12)
    assert scaled.cost == pytest.approx(unit.cost / epsilon**exponent, rel=1e-11)


def _cost_by_quadrature(placement: Placement, epsilon: float, h: Disutility) -> float:
    """E h(min |X - a_i|) on the positive half-line, cell by cell; no code of the rules."""
    positive = placement.offsets[placement.offsets >= 0]
    middles = (positive[1:] + positive[:-1]) / 2
    far = positive[-1] + 60 / epsilon
    edges = np.unique(np.concatenate([[0.0], positive, middles, [far]]))
    # Dyadic toward both ends of each piece, where h may be steep.
    grades = np.concatenate([[0.0], 2.0 ** np.arange(-50, -1)])
    grades = np.concatenate([grades, [0.5], 1 - grades[::-1]])
    fine = np.unique((edges[:-1, None] + np.diff(edges)[:, None] * grades).ravel())
    nodes, weights = legendre(20)
    x = (fine[:-1, None] + np.diff(fine)[:, None] * nodes).ravel()
    mass = (np.diff(fine)[:, None] * weights).ravel() * epsilon * np.exp(-epsilon * x)
    distance = np.abs(x[:, None] - placement.offsets).min(axis=1)
    return float(mass @ h(distance))


@FEW
@given(
    st.floats(0.2, 5),
    st.one_of(
        st.just(Identity()), st.builds(Power, st.floats(0.2, 5)), st.builds(Log1p, SIZE),
        st.builds(Saturating, SIZE), st.builds(Expm1, st.floats(0.01, 0.1)),
    ),
    st.integers(1, 9),
)  # fmt: skip
def test_the_stated_cost_is_the_cost_of_the_stated_offsets(
    epsilon: float, h: Disutility, k: int
) -> None:
    placement = place(Laplace(epsilon), h, k)
    measured = _cost_by_quadrature(placement, epsilon, h)
    assert placement.cost == pytest.approx(measured, rel=1e-10)


@FEW
@given(H, st.integers(1, 6), st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_no_other_offsets_cost_less(h: Disutility, k: int, moves: list[float]) -> None:
    """Catches a stationary set that is no minimum: any other k-set is tried against it."""
    placement = place(Laplace(1.0), h, k)
    moved = np.sort(placement.offsets + np.array(moves[:k]))
    x = (np.arange(40_000) + 0.5) / 1000 - 20
    mass = np.exp(-np.abs(x)) / 2000
    costs = [mass @ h(np.abs(x[:, None] - a).min(axis=1)) for a in (placement.offsets, moved)]
    assert costs[0] <= costs[1] * (1 + 2e-3)


@FEW
@given(NOISE, H, st.integers(1, 12))
def test_an_exact_placement_says_so(noise: Laplace, h: Disutility, k: int) -> None:
    placement = place(noise, h, k)
    assert placement.certificate.lower_bound == placement.cost
    assert placement.certificate.claim.startswith("exact")
    assert placement.certificate.residual <= 1e-9 * max(1.0, placement.cost)
