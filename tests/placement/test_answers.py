"""Placement on the line: arguments, certificates, and closed forms that are the optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from askew.errors import InfiniteCost, ParameterError
from askew.noise.lattice import LatticeLaplace
from askew.placement import Disutility, Identity, Laplace, Placement, Power, place
from askew.placement.laplace_line import legendre
from askew.placement.problem import Increasing, Norm


@pytest.mark.parametrize("law", [Laplace, Power])
def test_a_parameter_that_is_no_positive_number_is_refused(law: Callable[..., object]) -> None:
    for value in (0, math.nan, math.inf, "1", True):
        with pytest.raises(ParameterError, match="positive and finite"):
            law(value)
    for dimension in (0, 2.0, "2", True):
        with pytest.raises(ParameterError, match="dimension"):
            Laplace(1.0, dimension)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [10**400, 1e-155, 1e300, 10**9])
def test_a_number_without_end_is_refused_before_anything_is_built(value: float) -> None:
    """Planted bugs: infinite offsets, an OverflowError, and minutes of work."""
    laws: dict[str, Callable[..., object]] = {"epsilon": Laplace, "exponent": Power}
    for name, law in laws.items() if value != 10**9 else ():
        with pytest.raises(ParameterError, match=f"{name} must be from 1e-30 to 1e"):
            law(value)
    if isinstance(value, int):
        with pytest.raises(ParameterError, match="dimension must be an integer of at most 64"):
            Laplace(1.0, value)
        for noise in (Laplace(1.0), Laplace(1.0, 2)):
            with pytest.raises(ParameterError, match="k must be an integer of at most"):
                place(noise, Power(2.0), value)


SCALES: dict[str, tuple[float, Disutility | Callable[..., Any]]] = {
    "a power overflows": (1e-30, Power(8.0)),
    "a power vanishes": (1e30, Power(8.0)),
    "a callable overflows": (1e-30, lambda t: t**12),
    "a callable vanishes": (1e30, lambda t: t**12),
    "a constant number": (1.0, lambda _: 1.0),
    "a step beyond all noise": (1.0, lambda t: 1.0 * (np.asarray(t) > 1e4)),
    "steps overflow": (1.0, Power(151.0)),
}


@pytest.mark.parametrize("case", SCALES)
@pytest.mark.parametrize("dimension", [1, 2])
def test_what_floats_cannot_place_is_refused(case: str, dimension: int) -> None:
    """Planted bugs: costs that are infinite, 0 or that of a constant, said to be exact."""
    epsilon, h = SCALES[case]
    with pytest.raises(ParameterError), np.errstate(all="raise"):
        place(Laplace(epsilon, dimension), h, 3)


@pytest.mark.parametrize("epsilon", [1e-30, 1e30])
@pytest.mark.parametrize("h", [Identity(), Power(0.5)])
def test_the_ends_of_the_range_have_the_placement_of_its_middle(
    epsilon: float, h: Disutility
) -> None:
    found, unit = place(Laplace(epsilon), h, 5), place(Laplace(1.0), h, 5)
    np.testing.assert_allclose(found.offsets * epsilon, unit.offsets, rtol=1e-14)
    assert found.cost / h.in_units_of(1 / epsilon)[0] == pytest.approx(unit.cost, rel=1e-14)


@pytest.mark.parametrize("k", [20, 300])
def test_the_cost_behind_a_jump_keeps_its_precision(k: int) -> None:
    """k tiles of length 2 cover all within k. Planted bug: the root at the far end of the jump,
    where the cost is a difference of two ones.
    """
    placement = place(Laplace(1.0), lambda t: 1.0 * (np.asarray(t) > 1), k)
    assert placement.cost == pytest.approx(math.exp(-k), rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "metric", "h"),
    [
        (Laplace(1.0, 2), "l1", np.expm1),
        (Laplace(1.0, 4, "l2"), "l1", lambda t: np.expm1(0.5 * t)),
        (Laplace(2.0, 2), "l2", lambda t: np.expm1(2.1 * t)),
    ],
)
def test_an_infinite_cost_in_space_is_refused(
    noise: Laplace, metric: Norm, h: Callable[..., object]
) -> None:
    """Catches the mean of samples, always finite, taken for the cost."""
    with pytest.raises(InfiniteCost):
        place(noise, h, 4, disutility_metric=metric)


def test_a_callable_that_outgrows_floats_is_refused_without_warnings() -> None:
    with pytest.raises(InfiniteCost), np.errstate(all="raise"):
        place(Laplace(1.0), lambda t: np.exp(t * t), 3)


def saturating(scale: float) -> Disutility:
    return Increasing(lambda t: -np.expm1(-t / scale))


FEW = settings(max_examples=40, deadline=None)
EPSILON = st.floats(0.05, 20)
H: st.SearchStrategy[Disutility] = st.one_of(
    st.just(Identity()),
    st.builds(Power, st.floats(0.2, 5)),
    st.builds(saturating, EPSILON),
)


@FEW
@given(st.builds(Laplace, EPSILON), H, st.integers(1, 40))
def test_one_more_result_never_costs_more(noise: Laplace, h: Disutility, k: int) -> None:
    fewer, more = place(noise, h, k).cost, place(noise, h, k + 1).cost
    assert 0 <= more <= fewer * (1 + 1e-12)


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
@given(st.floats(0.2, 5), H, st.integers(1, 9))
def test_the_stated_cost_is_the_cost_of_the_stated_offsets(
    epsilon: float, h: Disutility, k: int
) -> None:
    """And its certificate says that it is exact, and nobody can move what is shared."""
    placement = place(Laplace(epsilon), h, k)
    measured = _cost_by_quadrature(placement, epsilon, h)
    assert placement.cost == pytest.approx(measured, rel=1e-10)
    assert placement.certificate.lower_bound == placement.cost
    assert placement.certificate.claim.startswith("exact")
    assert placement.certificate.residual <= 1e-9 * max(1.0, placement.cost)
    with pytest.raises(ValueError, match="WRITEABLE"):
        placement.offsets.setflags(write=True)


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
