"""How a bound is written: "at most 11.89", never the 11.88 that 11.8805 is nearest to."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from fractions import Fraction
from math import ceil, exp

_SURE = 30  # an exponent beyond which the number says nothing more


def at_most(value: Fraction | float, digits: int = 4) -> str:
    """The value in so many digits, rounded up."""
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    exact = Fraction(value)
    return f"{float(upward.divide(exact.numerator, exact.denominator)):.{digits}g}"


def times(epsilon: Fraction | float) -> str:
    """How many times odds change at most at this epsilon, e^epsilon, rounded up."""
    if epsilon > _SURE:
        return "more than 10,000,000,000,000 times"
    odds = exp(epsilon)
    return f"{ceil(100 * odds) / 100:g} times" if odds < 10 else f"{ceil(odds):,} times"
