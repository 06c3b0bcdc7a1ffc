"""Other noise on the line: exact where the law is log-concave, bracketed elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from askew.errors import InfiniteCost
from askew.placement import (
    Cap,
    Disutility,
    Expm1,
    Gaussian,
    Identity,
    Laplace,
    LaplaceMixture,
    Log1p,
    Logistic,
    OnGrid,
    Power,
    Saturating,
    Symmetric,
    Threshold,
    Uniform,
    place,
)
from askew.placement.log_concave import paper_quantiles, root_density_rule, shoot
from askew.placement.noise import LineNoise
from askew.placement.problem import Array

GAUSSIAN_COSTS = {
    1: 0.7978845608028654, 3: 0.33970675563922426, 4: 0.2657655080729853,
    6: 0.18569554875393338, 8: 0.14290467037082938, 16: 0.0745477896,
}  # fmt: skip
LAPLACE_BY_ITS_FUNCTIONS = Symmetric(stats.laplace.pdf, stats.laplace.cdf, stats.laplace.ppf)
SEVERAL: list[Disutility] = [
    Identity(), Power(0.3), Power(2.0), Saturating(1.0), Log1p(0.1), Cap(0.5), Expm1(0.5),
]  # fmt: skip


@pytest.mark.parametrize(("k", "cost"), GAUSSIAN_COSTS.items())
def test_gaussian_costs_are_the_reference(k: int, cost: float) -> None:
    tolerance = 1e-12 if k < 16 else 5e-11
    assert place(Gaussian(1.0), Identity(), k).cost == pytest.approx(cost, abs=tolerance)


def test_gaussian_offsets_are_the_reference() -> None:
    expected = [0.20262380307074618, 0.6254197260644347, 1.1137289378766255, 1.7920250350537412]
    found = place(Gaussian(2.0), Identity(), 8).offsets[4:] / 2
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("noise", "h", "k", "cost"),
    [
        (Gaussian(1.0), Power(2.0), 3, 0.19017403924790144),
        (Gaussian(1.0), Saturating(1.0), 2, 0.33424870730866907),
        (Logistic(1.0), Identity(), 3, 0.6333887352814997),
        (Uniform(1.0), Identity(), 3, 1 / 6),
        (Uniform(1.0), Power(2.0), 2, 1 / 12),
        (Uniform(3.0), Threshold(0.25), 4, 2 / 3),
    ],
)
def test_other_costs_are_the_reference(noise: Gaussian, h: Disutility, k: int, cost: float) -> None:
    assert place(noise, h, k).cost == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("h", SEVERAL)
@pytest.mark.parametrize("k", [1, 2, 5, 16])
def test_laplace_noise_by_its_functions_meets_the_recurrence(h: Disutility, k: int) -> None:
    """Newton on quadratures of a density against the recurrence: no code is shared."""
    newton, exact = place(LAPLACE_BY_ITS_FUNCTIONS, h, k), place(Laplace(1.0), h, k)
    assert newton.cost == pytest.approx(exact.cost, rel=1e-11)
    np.testing.assert_allclose(newton.offsets, exact.offsets, rtol=0, atol=1e-10)


@pytest.mark.parametrize("h", SEVERAL)
@pytest.mark.parametrize("noise", [Gaussian(1.5), Logistic(0.5)])
@pytest.mark.parametrize("k", [2, 5, 8])
def test_shooting_meets_newton(noise: Gaussian, h: Disutility, k: int) -> None:
    newton, shot = place(noise, h, k), shoot(noise, h, k)
    assert shot.method.startswith("shooting")
    assert newton.cost == pytest.approx(shot.cost, rel=1e-12)
    np.testing.assert_allclose(newton.offsets, shot.offsets, rtol=0, atol=1e-10)


def test_logistic_noise_is_too_heavy_for_a_fast_exponential() -> None:
    with pytest.raises(InfiniteCost):
        place(Logistic(1.0), Expm1(1.0), 2)


RATIOS = [(3, 1.128, 1.005), (5, 1.181, 1.003), (19, 1.311, 1.001)]


@pytest.mark.parametrize(("k", "paper", "root"), RATIOS)
def test_quantile_rules_cost_what_they_say_under_gaussian_noise(
    k: int, paper: float, root: float
) -> None:
    noise = Gaussian(1.0)
    best = place(noise, Identity(), k).cost
    assert paper_quantiles(noise, k).cost / best == pytest.approx(paper, abs=6e-4)
    assert root_density_rule(noise, k).cost / best == pytest.approx(root, abs=6e-4)


@pytest.mark.parametrize(("k", "paper"), [(3, 1.172), (5, 1.273), (9, 1.400), (19, 1.573)])
def test_the_paper_rule_costs_what_it_says_under_laplace_noise(k: int, paper: float) -> None:
    best = place(Laplace(1.0), Identity(), k).cost
    assert paper_quantiles(Laplace(1.0), k).cost / best == pytest.approx(paper, abs=6e-4)


def test_the_paper_rule_is_the_reference_to_full_precision() -> None:
    assert paper_quantiles(Laplace(1.0), 9).cost == pytest.approx(0.2800236498825571, rel=1e-12)


def test_root_density_quantiles_are_exact_for_laplace_noise_and_odd_k() -> None:
    rule = root_density_rule(LAPLACE_BY_ITS_FUNCTIONS, 7).offsets
    np.testing.assert_allclose(rule, place(Laplace(1.0), Identity(), 7).offsets, atol=2e-4)


@pytest.mark.parametrize(
    ("noise", "h", "offsets", "cost"),
    [
        (
            LaplaceMixture([0.95, 0.05], [2.0, 0.1]), Identity(),
            [-0.49201898228879565, 0.26357747692545597, 14.126081651608184], 0.6904413727285067,
        ),
        (
            LaplaceMixture([0.9, 0.1], [1.0, 0.05]), Power(2.0),
            [-0.7644249177724851, 39.23557112241014], 51.807351771460226,
        ),
    ],
)  # fmt: skip
def test_heavy_tailed_noise_gets_its_asymmetric_optimum(
    noise: LaplaceMixture, h: Disutility, offsets: list[float], cost: float
) -> None:
    """Catches a search that assumes symmetry: it stops 2 to 6 % above."""
    placement = place(noise, h, len(offsets))
    mirrored = sorted(-np.array(offsets))
    found = placement.offsets if placement.offsets[-1] > 1 else -placement.offsets[::-1]
    assert placement.cost == pytest.approx(cost, rel=1e-11)
    np.testing.assert_allclose(found, offsets, rtol=0, atol=1e-7, err_msg=f"or {mirrored}")
    assert 0.9 * cost < placement.certificate.lower_bound <= cost


@pytest.mark.thin
@pytest.mark.parametrize("h", [Identity(), Power(0.5), Saturating(1.0), Threshold(0.25)])
@pytest.mark.parametrize("k", [2, 3])
def test_the_grid_program_brackets_the_laplace_optimum(h: Disutility, k: int) -> None:
    from askew.placement.search import place_anywhere

    exact = place(Laplace(1.0), h, k).cost
    found = place_anywhere(LaplaceMixture([1.0], [1.0]), h, k)
    assert found.certificate.lower_bound <= exact <= found.cost * (1 + 1e-12)
    assert found.cost <= exact * (1.002 if isinstance(h, Threshold) else 1 + 1e-11)
    assert found.certificate.lower_bound >= 0.9 * exact


def test_a_density_on_a_grid_need_not_be_centered() -> None:
    x = np.linspace(-5.0, 7.0, 121)
    placement = place(OnGrid(x, np.exp(-((x - 1) ** 2) / 2)), Identity(), 3)
    expected = 1 + place(Gaussian(1.0), Identity(), 3).offsets
    np.testing.assert_allclose(placement.offsets, expected, atol=5e-3)


def test_a_cover_between_two_candidates_is_below_no_bound() -> None:
    """All of the noise lies within 1 of 0.06, which is no candidate: the optimum costs nothing.
    Planted bug: the bound is what the best candidate costs.
    """
    found = place(OnGrid(np.array([-0.94, 1.06]), np.ones(2)), Threshold(1.0), 1)
    assert found.cost > 0
    assert found.certificate.lower_bound == pytest.approx(0, abs=1e-12)


TWINS: list[Disutility] = [
    Identity(), Power(0.1), Power(0.5), Power(3.0), Saturating(1.0), Cap(0.7), Cap(2.0), Expm1(0.4),
]  # fmt: skip
MIXTURE = LaplaceMixture((0.9, 0.1), (1.0, 0.5))


@pytest.mark.thin
@pytest.mark.parametrize("noise", [Gaussian(1.3), Logistic(0.8), Uniform(2.0), MIXTURE])
@pytest.mark.parametrize("h", TWINS)
@pytest.mark.parametrize("k", [1, 3])
def test_a_callable_gives_what_its_named_twin_gives(
    noise: LineNoise, h: Disutility, k: int
) -> None:
    """Catches panels that ignore a corner (1e-3 off) or a root at 0 (3e-5 off)."""
    named, called = place(noise, h, k), place(noise, lambda t: h(np.asarray(t)), k)
    assert called.cost == pytest.approx(named.cost, rel=1e-10)


def test_a_callable_that_grows_nearly_as_fast_as_the_noise_falls() -> None:
    """E exp(X**2 / 3) is 3**.5; a polynomial over the whole tail gave 1e29."""
    found = place(Gaussian(1.0), lambda t: np.expm1(t * t / 3), 1)
    assert found.cost == pytest.approx(math.sqrt(3) - 1, rel=1e-11)


def test_an_exponential_near_the_limit_does_not_overflow() -> None:
    def tail(x: Array) -> Array:
        return np.asarray(np.exp(-np.abs(x)) / 2)

    laplace = Symmetric(
        tail, lambda x: np.where(x < 0, tail(x), 1 - tail(x)), lambda q: np.log(2 * q)
    )
    assert place(laplace, Expm1(0.95), 1).cost == pytest.approx(19, rel=1e-11)
    assert place(laplace, lambda t: np.expm1(0.9 * t), 1).cost == pytest.approx(9, rel=1e-11)


@pytest.mark.thin
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_jump_asks_for_tiles(k: int) -> None:
    """1{t >= .3} as a callable: the closed form of the threshold, or a bound that holds."""
    expected = place(Gaussian(1.0), Threshold(0.3), k)
    found = place(Gaussian(1.0), lambda t: 1.0 * (np.asarray(t) >= 0.3), k)
    assert found.cost == pytest.approx(expected.cost, rel=5e-3)
    assert found.cost >= expected.cost * (1 - 1e-12)
    assert found.certificate.lower_bound <= expected.cost * (1 + 1e-12)


def test_steps_cost_what_the_tails_of_the_noise_say() -> None:
    """E floor(2 |X|) is the sum of P(|X| >= j / 2), j = 1, 2, ..: logistic, k = 1."""
    expected = sum(2 / (1 + math.exp(j / 2)) for j in range(1, 200))
    found = place(Logistic(1.0), lambda t: np.floor(2 * np.asarray(t)), 1)
    assert found.cost == pytest.approx(expected, rel=1e-11)
