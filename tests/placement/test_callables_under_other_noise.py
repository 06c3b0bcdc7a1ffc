"""Any increasing callable under noise other than Laplace: steep, bent, fast and with jumps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from askew.placement import (
    Cap,
    Disutility,
    Expm1,
    Gaussian,
    Identity,
    LaplaceMixture,
    Logistic,
    Power,
    Saturating,
    Symmetric,
    Threshold,
    Uniform,
    place,
)
from askew.placement.noise import LineNoise
from askew.placement.problem import Array

TWINS: list[Disutility] = [
    Identity(), Power(0.1), Power(0.5), Power(3.0), Saturating(1.0), Cap(0.7), Cap(2.0), Expm1(0.4),
]  # fmt: skip
MIXTURE = LaplaceMixture((0.9, 0.1), (1.0, 0.5))


@pytest.mark.parametrize("noise", [Gaussian(1.3), Logistic(0.8), Uniform(2.0), MIXTURE])
@pytest.mark.parametrize("h", TWINS)
@pytest.mark.parametrize("k", [1, 2, 3])
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


@pytest.mark.parametrize("k", [1, 2, 3, 4])
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
