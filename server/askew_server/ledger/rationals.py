"""Exact rationals, and what is made of them, as the text and the columns that are stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from askew.dp.odometer import RunningLoss
from askew.errors import LedgerError

_STORED = re.compile("([0-9a-f]+)/([1-9a-f][0-9a-f]*)")  # nothing that is stored is negative


def text_of(value: Fraction | int) -> str:
    """ "numerator/denominator" in hexadecimal."""
    return f"{value.numerator:x}/{value.denominator:x}"


@lru_cache(maxsize=1024)  # most of what is read was read before: a total is one sum further
def rational_of(text: str) -> Fraction:
    """The inverse of `text_of`, of numbers that are not negative. Raises LedgerError."""
    found = _STORED.fullmatch(text)
    if found is None:
        raise LedgerError("a stored number is damaged")
    return Fraction(int(found[1], 16), int(found[2], 16))


def columns_of(spent: RunningLoss) -> tuple[str, ...]:
    """The five sums of a `RunningLoss`, in the order of its fields."""
    sums = (spent.epsilon, spent.delta, spent.range_epsilon, spent.range_delta, spent.rho)
    return tuple(map(text_of, sums))


def spent_of(columns: Sequence[str]) -> RunningLoss:
    """The inverse of `columns_of`. Raises LedgerError."""
    epsilon, delta, range_epsilon, range_delta, rho = map(rational_of, columns)
    return RunningLoss(
        epsilon=epsilon,
        delta=delta,
        range_epsilon=range_epsilon,
        range_delta=range_delta,
        rho=rho,
    )
