"""How far below the k-th item a selected one can be, from public parameters alone.

A selection *misses by* g when it holds an item whose count is at least g below the k-th highest.
`chance_of_miss` bounds its probability for every count vector at once; `people_below` is the
largest shortfall that stays likely. Both are public: no count is read.

Each mechanism names its bound, and `shortfall` has the formulas and the proofs. Float64, rounded up
by one part in 10^9. Complexity: that of the formula, times the logarithm of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from askew.errors import ParameterError
from askew.mechanisms.parameters import check_positive_int, check_probability
from askew.mechanisms.shortfall import Shortfall, Worst

CHANCE = Fraction(95, 100)
_ROOM = 1 + 1e-9
_FARTHEST = 1 << 62


class Bounded(Protocol):
    """A mechanism that says how far below the k-th item it can reach."""

    @property
    def k(self) -> int:
        """How many items it selects."""

    @property
    def shortfall(self) -> Shortfall | None:
        """Its bound; None where its noise has none here."""


def people_below(mechanism: Bounded, n_items: int | None = None, chance: Fraction = CHANCE) -> int:
    """The least M such that, for every count vector, with at least this chance no selected item is
    more than M below the k-th highest count. Arguments and errors: `chance_of_miss`.
    """
    check_probability("chance", chance)
    miss = _bound_of(mechanism, n_items)
    high = 1
    while miss(high) > 1 - chance:
        high *= 2
        if high > _FARTHEST:
            got = f"{float(_shortfall_of(mechanism).rate):.3g}"
            raise ParameterError("epsilon", got, "large enough that counts matter at all")
    low = high // 2  # misses too often, or is 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if miss(middle) > 1 - chance else (low, middle)
    return high - 1


def chance_of_miss(mechanism: Bounded, gap: int, n_items: int | None = None) -> float:
    """At least the probability that a selected item is `gap` or more below the k-th highest count.

    n_items: how many items there are, which is public; None where the domain is unknown, for
    limited domains only. Raises ParameterError for fewer than k of them, and for noise that has no
    formula here.
    """
    check_positive_int("gap", gap)
    return _bound_of(mechanism, n_items)(gap)


def _bound_of(mechanism: Bounded, n_items: int | None) -> Callable[[int], float]:
    bound = _shortfall_of(mechanism)
    d = _candidates(mechanism.k, bound.depth, n_items)
    if d <= mechanism.k:
        return lambda _: 0.0
    worst = Worst(mechanism.k, d - mechanism.k, float(bound.rate))
    return lambda gap: min(1.0, bound.formula(worst, gap) * _ROOM)


def _shortfall_of(mechanism: Bounded) -> Shortfall:
    bound: Shortfall | None = getattr(mechanism, "shortfall", None)  # a baseline may name none
    if bound is None:
        name = type(mechanism).__name__
        raise ParameterError("mechanism", name, "one whose noise has a bound here")
    return bound


def _candidates(k: int, depth: int | None, n_items: int | None) -> int:
    if depth is not None:
        return depth if n_items is None else min(depth, n_items)
    if n_items is None or n_items < k:
        raise ParameterError("the number of items", n_items, f"at least k, {k}")
    return n_items
