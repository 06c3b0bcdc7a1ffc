"""Exact rationals, and what is made of them, as the text and the columns that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from fractions import Fraction

from askew.errors import LedgerError
from askew.odometer import Spent


def text_of(value: Fraction | int) -> str:
    """ "numerator/denominator" in hexadecimal."""
    exact = Fraction(value)
    return f"{exact.numerator:x}/{exact.denominator:x}"


def rational_of(text: str) -> Fraction:
    """The inverse of `text_of`. Raises LedgerError."""
    numerator, _, denominator = text.partition("/")
    try:
        return Fraction(int(numerator, 16), int(denominator, 16))
    except (ValueError, ZeroDivisionError):
        raise LedgerError("a stored number is damaged") from None


def columns_of(spent: Spent) -> tuple[str, ...]:
    """Its five sums, in the order of its fields."""
    return tuple(map(text_of, astuple(spent)))


def spent_of(columns: Sequence[str]) -> Spent:
    """The inverse of `columns_of`. Raises LedgerError."""
    epsilon, delta, range_epsilon, range_delta, rho = map(rational_of, columns)
    return Spent(
        epsilon=epsilon,
        delta=delta,
        range_epsilon=range_epsilon,
        range_delta=range_delta,
        rho=rho,
    )
