"""Every bound is on its own side, where one unit of the last of 128 bits decides.

Values at random cannot tell: a bound that is off by one unit of 2**-128 is hidden by whatever
rounds next. So the arguments are solved for: the true value lies just above or just below a
multiple of the unit, and a step in the wrong direction crosses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from askew.dp.composition import concentrated_epsilon
from askew.dp.intervals import exp_minus, log_ratio
from askew.mechanisms.weights import enclose

UNIT = Decimal(2) ** -40  # to which the rules of composition round up
FINE = 2**240
PRECISIONS = [64, 128, 300]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with localcontext(prec=400):
        yield


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def just_above_a_unit(formula: Callable[[Decimal], Decimal], near: Fraction) -> Fraction:
    """The argument after `near`, in steps of 1 / FINE, whose value first passes a unit."""
    edge = (formula(decimal(near)) / UNIT).to_integral_value(rounding="ROUND_CEILING") * UNIT
    low, high = int(near * FINE), int(near * FINE * 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if formula(Decimal(middle) / FINE) > edge else (middle, high)
    return Fraction(high, FINE)


def require_next_unit(value: Fraction, true: Decimal) -> None:
    """The true value is less than 2**-190 above a unit, so it is rounded up to the next one."""
    assert true % UNIT < Decimal(2) ** -190
    assert decimal(value) == (true // UNIT + 1) * UNIT


@pytest.mark.parametrize("order", [Fraction(65, 64), Fraction(3, 2), Fraction(100)])
@pytest.mark.parametrize("slack", [Fraction(1, 10**9), Fraction(1, 3 * 10**7)])
def test_the_conversion_is_rounded_up_by_the_last_bit(order: Fraction, slack: Fraction) -> None:
    """Planted bugs: either logarithm rounded down at 2**-128."""
    a = decimal(order)
    tail = -(a * decimal(slack)).ln() / (a - 1) + (1 - 1 / a).ln()

    def formula(rho: Decimal) -> Decimal:
        return rho * a + tail

    rho = just_above_a_unit(formula, Fraction(1, 3))
    require_next_unit(concentrated_epsilon(rho, slack, order), formula(decimal(rho)))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 1000, 65537])
def test_exp_is_enclosed_beside_an_integer(precision: int, step: int, n: int) -> None:
    """exp(-x) 2**precision is n and less than n 2**-precision more, or less. Planted bugs: a bound
    that is the nearest integer.
    """
    x = int((Decimal(2**precision) / n).ln() * 2**precision) + step
    low, high = exp_minus(x, precision)
    true = (-Decimal(x) / 2**precision).exp() * 2**precision
    assert abs(true - n) <= Decimal(n) / 2**precision
    assert low <= true <= high
    assert high - low <= 4


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("n", [-(2**60) - 1, -3, -1, 1, 2, 3, 2**60 + 1, 2**63 + 5])
def test_log_is_enclosed_beside_an_integer(precision: int, step: int, n: int) -> None:
    """ln(ratio) 2**precision is just below or above n."""
    scale = 2 ** (3 * precision)
    numerator = int((Decimal(n) / 2**precision).exp() * scale) + step
    low, high = log_ratio(numerator, scale, precision)
    true = (Decimal(numerator) / scale).ln() * 2**precision
    assert abs(true - n) < Decimal(2) ** -precision
    assert low <= true <= high
    assert high - low <= 4


@pytest.mark.parametrize("shift", [-500, -100, 0, 100, 500])
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**40 + 1])
@pytest.mark.parametrize("multiplicity", [1, 3, Fraction(5, 7), Fraction(5, 7 * 2**100)])
def test_a_weight_is_enclosed_beside_an_integer(
    shift: int, step: int, n: int, multiplicity: Fraction
) -> None:
    """multiplicity exp(-exponent) 2**shift is just above or below n."""
    scale = 2**700
    exact = (decimal(Fraction(multiplicity)) * Decimal(2) ** shift / n).ln()
    exponent = Fraction(int(exact * scale) + step, scale)
    low, high = enclose(multiplicity, exponent, shift)
    true = decimal(Fraction(multiplicity)) * (-decimal(exponent)).exp() * Decimal(2) ** shift
    assert abs(true - n) < Decimal(2) ** -600
    assert low <= true <= high
    assert high - low <= 2
