"""The checks that every mechanism's public parameters pass, once, at construction."""

from __future__ import annotations

from fractions import Fraction
from math import log

from askew.errors import ParameterError
from askew.privacy import (
    ADD_OR_REMOVE_ONE,
    NeighboringRelation,
    exact_rational,
    positive_rational,
)

_SIZE = 2**256


def check_k(k: object) -> None:
    """Raises ParameterError unless k is an int of at least 1."""
    check_positive_int("k", k)


def check_positive_int(name: str, value: object) -> None:
    """Raises ParameterError unless value is an int of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(name, value, "an int of at least 1")


def check_positive(name: str, value: object) -> None:
    """Raises ParameterError unless value is an int or a Fraction above 0, and of a size whose
    products with counts floats hold: exact laws are looked at through them first.
    """
    if not 1 <= positive_rational(name, value) * _SIZE <= _SIZE**2:
        raise ParameterError(name, value, "from 2**-256 to 2**256")


def check_probability(name: str, value: object) -> None:
    """Raises ParameterError unless value is a Fraction strictly between 0 and 1."""
    if not 0 < exact_rational(name, value) < 1:
        raise ParameterError(name, value, "strictly between 0 and 1")


def check_neighbors(neighbors: object) -> None:
    """Raises ParameterError unless neighbors is a NeighboringRelation."""
    if not isinstance(neighbors, NeighboringRelation):
        raise ParameterError("neighbors", neighbors, "ADD_OR_REMOVE_ONE or REPLACE_ONE")


def ln(x: Fraction | int) -> float:
    """ln x, also where x is beyond float64's range."""
    return log(x.numerator) - log(x.denominator)


def one_way(neighbors: NeighboringRelation) -> bool:
    """Whether all counts that change between neighbors move the same way, so a shift is free."""
    return neighbors is ADD_OR_REMOVE_ONE


def halved(epsilon: Fraction | int, neighbors: NeighboringRelation) -> Fraction:
    """epsilon where counts move one way, half of it where they may move both ways."""
    return Fraction(epsilon) if one_way(neighbors) else Fraction(epsilon) / 2
