"""Laplace noise on the line: the closed forms are the optimum, by independent checks."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.placement import Disutility, Identity, Laplace, Power, place
from askew.placement.problem import Increasing

COSTS = [  # h, optimal costs for k = 1..5 at epsilon 1
    (Power(0.5), [0.8862269255, 0.7316971535, 0.6196733372, 0.5564776681, 0.5040020474]),
    (Power(2.0), [2, 1, 0.5284822353, 0.3523897621, 0.2396128584]),
    (Power(3.0), [6, 2.1973815021, 0.8574290330, 0.4728378855, 0.2667550177]),
    (lambda t: -np.expm1(-t), [0.5, 0.3934693403, 0.3160602794, 0.2709844958, 0.2342681973]),
    (math.log1p, [0.5963473623, 0.4517394438, 0.3515664015, 0.2968301489, 0.2531164699]),
    (
        lambda t: np.minimum(t, 1.0),
        [0.6321205588, 0.4898801256, 0.3873001632, 0.3273595298, 0.2791754614],
    ),
    (lambda t: np.expm1(0.5 * t), [1, 0.5874010520, 0.3700394751, 0.2826326077, 0.2203535182]),
    (lambda t: np.expm1(0.9 * t), [9, 3.1331138302, 1.3128165298, 0.8753646147, 0.6073395661]),
]


@pytest.mark.parametrize(("h", "costs"), COSTS)
def test_the_cost_is_the_reference(h: Disutility, costs: list[float]) -> None:
    found = [place(Laplace(1.0), h, k).cost for k in range(1, 6)]
    assert found == pytest.approx(costs, abs=6e-11)


def saturating(scale: float) -> Disutility:
    return Increasing(lambda t: -np.expm1(-t / scale))


FORTY_DIGITS = [  # epsilon, h, cost of k = 81, cost of k = 80, outermost offset of k = 81
    (1.0, Power(0.1), 0.6499274418269348, 0.6507299874910094, 4.184469997961112),
    (1.0, Power(0.37), 0.22015382426360966, 0.22116077165502265, 5.164921268242762),
    (1.0, Power(4.2), 9.175990839466521e-06, 9.662052771798131e-06, 18.68492713019243),
    (1.0, saturating(0.001), 0.9311052520336786, 0.9318535549950369, 0.28389277794278994),
    (0.5, saturating(7.0), 0.0068649360360581, 0.006948951846422534, 14.060992443505548),
]


@pytest.mark.parametrize(("epsilon", "h", "odd", "even", "outermost"), FORTY_DIGITS)
def test_eighty_results_agree_with_forty_digit_arithmetic(
    epsilon: float, h: Disutility, odd: float, even: float, outermost: float
) -> None:
    """The same recurrence with hypergeometric functions in mpmath."""
    assert place(Laplace(epsilon), h, 81).cost == pytest.approx(odd, rel=1e-13)
    assert place(Laplace(epsilon), h, 80).cost == pytest.approx(even, rel=1e-13)
    assert place(Laplace(epsilon), h, 81).offsets[-1] == pytest.approx(outermost, rel=1e-13)


@pytest.mark.parametrize("k", [1, 2, 31, 64])
def test_a_callable_gives_what_the_closed_forms_give(k: int) -> None:
    """Adaptive tables of values against closed forms: no code is shared."""
    named, called = place(Laplace(1.7), Identity(), k), place(Laplace(1.7), lambda t: t, k)
    assert called.cost == pytest.approx(named.cost, rel=1e-11)
    np.testing.assert_allclose(called.offsets, named.offsets, rtol=0, atol=1e-11)


def test_a_callable_with_jumps_finds_the_tiles() -> None:
    placement = place(Laplace(1.0), lambda t: 1.0 * (np.asarray(t) > 0.5), 4)
    assert placement.cost == pytest.approx(math.exp(-2), rel=1e-11)
    np.testing.assert_allclose(placement.offsets, [-1.5, -0.5, 0.5, 1.5], rtol=0, atol=1e-11)


def test_an_h_of_infinite_cost_or_that_does_not_increase_is_refused() -> None:
    for h in (np.expm1, lambda t: np.expm1(1.01 * t)):
        with pytest.raises(InfiniteCost):
            place(Laplace(1.0), h, 3)
    for h in (lambda t: -t, np.sin, lambda t: t * np.nan):
        with pytest.raises(ParameterError):
            place(Laplace(1.0), h, 3)


Array = NDArray[np.float64]
QUARTER = LatticeLaplace.for_epsilon(Fraction(1, 4))


def drawn(lattice: LatticeLaplace, fraction: float) -> tuple[Array, Array]:
    """The device's noise about a point this far between two lattice points: places and odds, in
    steps (1 - r) / (1 + r) r**|n|.
    """
    q, reach = lattice.inverse_rate, 30 * lattice.inverse_rate
    law = (q / (q + 1)) ** np.abs(np.arange(-reach, reach + 1)) / (2 * q + 1)
    odds: Array = (1 - fraction) * np.append(law, 0.0) + fraction * np.insert(law, 0, 0.0)
    places: Array = (np.arange(-reach, reach + 2, dtype=np.float64) - fraction) * lattice.step
    return places, odds


@pytest.mark.parametrize("h", [Identity(), Power(2.0), Power(0.5)], ids=str)
@pytest.mark.parametrize("k", [1, 4, 5])
@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_the_closed_form_of_the_line_is_what_a_devices_law_costs(
    h: Disutility, k: int, fraction: float
) -> None:
    """Exact fractions of the lattice's law, on and off the lattice, with odd and with even k."""
    found = place(Laplace(0.25), h, k)
    places, odds = drawn(QUARTER, fraction)
    cost = float(odds @ h(np.abs(places[:, None] - found.offsets).min(axis=1)))
    assert cost == pytest.approx(found.cost, rel=2e-3)
