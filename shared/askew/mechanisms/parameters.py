"""The checks that every mechanism's public parameters pass, once, at construction.

What the mechanisms over scores of a stated sensitivity share; without one, scores are counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    NeighboringRelation,
    check_neighbors,
    exact_rational,
    positive_rational,
)
from askew.errors import ParameterError
from askew.limits import MAX_SELECTED
from askew.mechanisms.tally import Scores, Tally, tally_of_scores

_SIZE = 2**256


def check_k(k: object) -> None:
    """Raise ParameterError unless k is an int of at least 1."""
    check_positive_int("k", k)


def check_positive_int(name: str, value: object, most: int = MAX_SELECTED) -> None:
    """Raise ParameterError unless value is an int from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(name, value, "an int of at least 1")
    if value > most:
        raise ParameterError(name, value, f"an int of at most {most}")


def check_positive(name: str, value: object) -> None:
    """Raise ParameterError unless value is an int or a Fraction above 0, and of a size whose
    products with counts floats hold: exact laws are looked at through them first.
    """
    if not 1 <= positive_rational(name, value) * _SIZE <= _SIZE**2:
        raise ParameterError(name, value, "from 2**-256 to 2**256")


def check_probability(name: str, value: object) -> None:
    """Raise ParameterError unless value is a Fraction strictly between 0 and 1."""
    if not 0 < exact_rational(name, value) < 1:
        raise ParameterError(name, value, "strictly between 0 and 1")


def ln(x: Fraction | int) -> float:
    """Return ln x as a float for x above 0, also where x is beyond float64's range."""
    return log(x.numerator) - log(x.denominator)


def one_way(neighbors: NeighboringRelation) -> bool:
    """Return True for ADD_OR_REMOVE_ONE: all counts that change move the same way."""
    return neighbors is ADD_OR_REMOVE_ONE


def halved(epsilon: Fraction | int, neighbors: NeighboringRelation) -> Fraction:
    """Return epsilon under ADD_OR_REMOVE_ONE, half of epsilon under REPLACE_ONE."""
    return Fraction(epsilon) if one_way(neighbors) else Fraction(epsilon) / 2


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A mechanism over counts, or over scores of a stated sensitivity.

    linf_sensitivity: how far a score can move; None for counts, which a unit moves by at most 1. Of
    scores that move both ways: between neighbors, so under REPLACE_ONE when one unit's events
    become another's, up to twice what a unit moves that comes. Of monotone ones: when a unit comes;
    under REPLACE_ONE that is as far as a score moves, up or down.
    monotone: whether a unit that comes moves no score down; None: counts yes, scores no.
    """

    k: int
    epsilon: Fraction | int
    neighbors: NeighboringRelation
    linf_sensitivity: Fraction | int | None = None
    monotone: bool | None = None

    def __post_init__(self) -> None:
        check_k(self.k)
        check_positive("epsilon", self.epsilon)
        check_neighbors(self.neighbors)
        if self.linf_sensitivity is not None:
            check_positive("linf_sensitivity", self.linf_sensitivity)
        if self.monotone is not None and not isinstance(self.monotone, bool):
            raise ParameterError("monotone", self.monotone, "True, False or None")


def rate_of(mechanism: Scored) -> Fraction:
    """Return epsilon / sensitivity, halved where scores may move both ways: unless they are
    monotone and under ADD_OR_REMOVE_ONE.
    """
    counts = mechanism.linf_sensitivity is None
    monotone = counts if mechanism.monotone is None else mechanism.monotone
    sensitivity = Fraction(1 if mechanism.linf_sensitivity is None else mechanism.linf_sensitivity)
    epsilon = Fraction(mechanism.epsilon)
    return (halved(epsilon, mechanism.neighbors) if monotone else epsilon / 2) / sensitivity


def tally_for(mechanism: Scored, scores: Scores) -> Tally:
    """Return scores of a mechanism as a Tally; negative ones are fine.

    Raises ParameterError for fewer than k, for floats and mappings, and for Fractions where the
    mechanism states no linf_sensitivity.
    """
    stated = mechanism.linf_sensitivity is not None
    return tally_of_scores(scores, mechanism.k, stated=stated)
