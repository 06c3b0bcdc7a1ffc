"""Exact rationals, and what is made of them, as the text and the columns that are stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple
from fractions import Fraction

from askew.errors import LedgerError
from askew.odometer import Spent

_STORED = re.compile("([0-9a-f]+)/([1-9a-f][0-9a-f]*)")  # nothing that is stored is negative


def text_of(value: Fraction | int) -> str:
    """ "numerator/denominator" in hexadecimal."""
    exact = Fraction(value)
    return f"{exact.numerator:x}/{exact.denominator:x}"


def rational_of(text: str) -> Fraction:
    """The inverse of `text_of`, of numbers that are not negative. Raises LedgerError."""
    found = _STORED.fullmatch(text)
    if found is None:
        raise LedgerError("a stored number is damaged")
    return Fraction(int(found[1], 16), int(found[2], 16))


def columns_of(spent: Spent) -> tuple[str, ...]:
    """The five sums of a `Spent`, in the order of its fields."""
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
