"""How a bound is written: "at most 11.89", never the 11.88 that 11.8805 is nearest to."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from fractions import Fraction


def at_most(value: Fraction | float, digits: int = 4) -> str:
    """The value in so many digits, rounded up."""
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    exact = Fraction(value)
    return f"{float(upward.divide(exact.numerator, exact.denominator)):.{digits}g}"
