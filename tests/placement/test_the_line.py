"""Laplace noise on the line: the closed forms are the optimum, by independent checks."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from askew.errors import InfiniteCost, ParameterError
from askew.placement import (
    Disutility,
    Identity,
    Laplace,
    Power,
    Saturating,
    place,
)

COSTS = [  # h, optimal costs for k = 1..5 at epsilon 1
    (Power(0.5), [0.8862269255, 0.7316971535, 0.6196733372, 0.5564776681, 0.5040020474]),
    (Power(1.5), [1.3293403882, 0.7804683162, 0.4812722717, 0.3535432520, 0.2641976514]),
    (Power(2.0), [2, 1, 0.5284822353, 0.3523897621, 0.2396128584]),
    (Power(3.0), [6, 2.1973815021, 0.8574290330, 0.4728378855, 0.2667550177]),
    (Saturating(1.0), [0.5, 0.3934693403, 0.3160602794, 0.2709844958, 0.2342681973]),
    (np.log1p, [0.5963473623, 0.4517394438, 0.3515664015, 0.2968301489, 0.2531164699]),
    (
        lambda t: np.minimum(t, 1.0),
        [0.6321205588, 0.4898801256, 0.3873001632, 0.3273595298, 0.2791754614],
    ),
    (lambda t: np.expm1(0.5 * t), [1, 0.5874010520, 0.3700394751, 0.2826326077, 0.2203535182]),
    (lambda t: np.expm1(0.9 * t), [9, 3.1331138302, 1.3128165298, 0.8753646147, 0.6073395661]),
]
# Full double precision: (h, k, cost).
FULL_PRECISION = [
    (Power(2.0), 4, 0.35238976210808515),
    (Saturating(1.0), 4, 0.2709844957844753),
    (Power(0.5), 5, 0.5040020474136299),
]
NAMED: list[Disutility] = [
    Identity(), Power(0.1), Power(0.7), Power(2.0), Power(5.0), Saturating(1.0), Saturating(0.2),
    Saturating(40.0),
]  # fmt: skip


@pytest.mark.parametrize(("h", "costs"), COSTS)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_cost_is_the_reference(h: Disutility, costs: list[float], k: int) -> None:
    assert place(Laplace(1.0), h, k).cost == pytest.approx(costs[k - 1], abs=6e-11)


@pytest.mark.parametrize(("h", "k", "cost"), FULL_PRECISION)
def test_the_cost_is_the_reference_to_eleven_digits(h: Disutility, k: int, cost: float) -> None:
    assert place(Laplace(1.0), h, k).cost == pytest.approx(cost, rel=1e-13)


FORTY_DIGITS = [  # epsilon, h, cost of k = 81, cost of k = 80, outermost offset of k = 81
    (1.0, Power(0.1), 0.6499274418269348, 0.6507299874910094, 4.184469997961112),
    (1.0, Power(0.37), 0.22015382426360966, 0.22116077165502265, 5.164921268242762),
    (1.0, Power(4.2), 9.175990839466521e-06, 9.662052771798131e-06, 18.68492713019243),
    (1.0, Saturating(0.001), 0.9311052520336786, 0.9318535549950369, 0.28389277794278994),
    (0.5, Saturating(7.0), 0.0068649360360581, 0.006948951846422534, 14.060992443505548),
]


@pytest.mark.parametrize(("epsilon", "h", "odd", "even", "outermost"), FORTY_DIGITS)
def test_eighty_results_agree_with_forty_digit_arithmetic(
    epsilon: float, h: Disutility, odd: float, even: float, outermost: float
) -> None:
    """The same recurrence with hypergeometric functions in mpmath."""
    assert place(Laplace(epsilon), h, 81).cost == pytest.approx(odd, rel=1e-13)
    assert place(Laplace(epsilon), h, 80).cost == pytest.approx(even, rel=1e-13)
    assert place(Laplace(epsilon), h, 81).offsets[-1] == pytest.approx(outermost, rel=1e-13)


@pytest.mark.parametrize(
    ("noise", "h", "offsets"),
    [
        (Laplace(0.375), Identity(), [1.0812402882884384, 4.778025251274813]),
        (Laplace(1.0), Power(2.0), [0.5936242600400401, 2.59362426004004]),
        (Laplace(1.0), Saturating(1.0), [0.31606027941427883, 1.3160602794142788]),
    ],
)
def test_four_offsets_are_the_reference(
    noise: Laplace, h: Disutility, offsets: list[float]
) -> None:
    expected = [-offsets[1], -offsets[0], *offsets]
    np.testing.assert_allclose(place(noise, h, 4).offsets, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("h", NAMED)
@pytest.mark.parametrize("k", [1, 2, 3, 8, 31, 64])
def test_a_callable_gives_what_its_named_twin_gives(h: Disutility, k: int) -> None:
    """Adaptive tables of values against series, Newton and closed forms: no code is shared."""
    named, called = place(Laplace(1.7), h, k), place(Laplace(1.7), lambda t: h(np.asarray(t)), k)
    assert called.cost == pytest.approx(named.cost, rel=1e-11)
    np.testing.assert_allclose(called.offsets, named.offsets, rtol=0, atol=1e-11)


@pytest.mark.thin
@pytest.mark.parametrize("h", NAMED)
@pytest.mark.parametrize("k", [9_999, 10_000])
def test_ten_thousand_results_take_less_than_a_second(h: Disutility, k: int) -> None:
    started = time.process_time()
    placement = place(Laplace(1.0), h, k)
    assert time.process_time() - started < 1
    assert (np.diff(placement.offsets) > 0).all()
    assert placement.certificate.residual <= 1e-11


def test_the_recurrence_meets_its_closed_form_at_ten_thousand() -> None:
    """t ** (1 + 1e-13) goes the long way of series and Newton through 5000 steps."""
    exact = place(Laplace(1.0), Identity(), 10_000)
    walked = place(Laplace(1.0), Power(1 + 1e-13), 10_000)
    assert exact.cost == math.log1p(2 / 10_000)
    assert walked.cost == pytest.approx(exact.cost, rel=5e-12)
    np.testing.assert_allclose(walked.offsets, exact.offsets, rtol=0, atol=1e-10)


def test_a_callable_with_jumps_finds_the_tiles() -> None:
    placement = place(Laplace(1.0), lambda t: 1.0 * (np.asarray(t) > 0.5), 4)
    assert placement.cost == pytest.approx(math.exp(-2), rel=1e-11)
    np.testing.assert_allclose(placement.offsets, [-1.5, -0.5, 0.5, 1.5], rtol=0, atol=1e-11)


def test_a_constant_part_of_h_is_paid_and_moves_nothing() -> None:
    plain, raised = place(Laplace(1.0), Power(2.0), 3), place(Laplace(1.0), lambda t: 7 + t**2, 3)
    assert raised.cost == pytest.approx(7 + plain.cost, rel=1e-12)
    np.testing.assert_allclose(raised.offsets, plain.offsets, rtol=0, atol=1e-12)


def test_a_scalar_callable_will_do() -> None:
    scalar = place(Laplace(1.0), math.log1p, 3)
    assert scalar.cost == pytest.approx(place(Laplace(1.0), np.log1p, 3).cost, rel=1e-12)


@pytest.mark.parametrize("h", [np.expm1, lambda t: np.expm1(3 * t), lambda t: np.expm1(1.01 * t)])
def test_an_infinite_cost_is_refused_with_its_reason(h: Disutility) -> None:
    with pytest.raises(InfiniteCost):
        place(Laplace(1.0), h, 3)


@pytest.mark.parametrize("h", [lambda t: -t, np.sin, lambda t: t * np.nan])
def test_an_h_that_does_not_increase_is_refused(h: Disutility) -> None:
    with pytest.raises(ParameterError):
        place(Laplace(1.0), h, 3)


@pytest.mark.parametrize(
    ("noise", "disutility", "k", "match"),
    [
        (1.0, None, 10**6, "k must be an integer of at most 100000"),
        (1.0, None, 10**400, "k must be an integer of at most 100000"),
        (1e-155, None, 3, "epsilon must be from 1e-30 to 1e"),
        (10**400, None, 3, "epsilon must be from 1e-30 to 1e"),
        (1e-30, Power(100.0), 3, "exponent must be smaller"),
        (1.0, Power(171.0), 3, "exponent must be at most 150"),
        (1e-15, Saturating(1e-15), 3, "scale must be from 1e-15"),
        (1.0, lambda _: 3.0, 3, "disutility must be an increasing function"),
        (1.0, lambda t: t * 0, 3, "disutility must be an increasing function"),
    ],
)
def test_what_floats_cannot_do_is_refused(
    noise: float, disutility: Any, k: int, match: str
) -> None:
    """Planted bug: only the sign of a scale is looked at, and its square is 0 or infinite."""
    with pytest.raises(ParameterError, match=match):
        place(Laplace(noise), disutility, k)
