"""How far below the k-th item a selection can reach: the bound, against every small count vector.

A miss by g: an item that is selected is at least g below the k-th highest count. The laws are exact
(`audited`, `definitions`, `limited`), and the worst is looked for on all of {0..3}^d. Where the
bound is called exact it is met there; elsewhere it is never passed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import pytest
from guarantees.audit.audited import exact_law
from guarantees.audit.definitions import one_shot
from guarantees.audit.enumeration import Counts, HasLaw, sorted_vectors
from guarantees.audit.limited import exact_law as limited_law

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.errors import ParameterError
from askew.mechanisms import (
    Canonical,
    ConcentratedPeeling,
    Joint,
    LaplaceCounts,
    LaplaceLimitedDomain,
    LimitedDomain,
    Lipschitz,
    OneShot,
    Peeling,
    PermuteAndFlip,
    PNFJoint,
)
from askew.mechanisms.shortfall import Selector, chance_of_miss, error_bound

HALF, DELTA, HIGHEST = Fraction(1, 2), Fraction(1, 100), 3
ONE: dict[str, Any] = {"neighbors": ADD_OR_REMOVE_ONE}


class Case(NamedTuple):
    """A mechanism, its exact law, and how far above the worst vector its bound may be."""

    mechanism: Selector
    law: HasLaw
    slack: float


def of(mechanism: Selector, law: HasLaw | None = None, slack: float = 1e-8) -> Case:
    return Case(mechanism, law or exact_law(mechanism), slack)  # type: ignore[arg-type]


def of_canonical(
    k: int, epsilon: Fraction, gamma: Fraction = HALF, *, clipped: bool = False
) -> Case:
    return of(Canonical(k=k, epsilon=epsilon, gamma=gamma, clipped=clipped, **ONE))


def concentrated(k: int, epsilon: Fraction) -> Case:
    mechanism = ConcentratedPeeling(k=k, epsilon=epsilon, delta=DELTA, **ONE)
    rounds = Peeling(k=k, epsilon=mechanism.epsilon_per_round * k, **ONE)
    return of(mechanism, exact_law(rounds))


def laplace(k: int, epsilon: Fraction) -> Case:
    mechanism = LaplaceCounts(k=k, epsilon=epsilon, max_items_per_unit=2, neighbors=REPLACE_ONE)
    return of(mechanism, one_shot("laplace", epsilon / 4, k), 1e-4)


def shots(k: int, epsilon: Fraction) -> Case:
    return of(OneShot(k=k, epsilon=epsilon, **ONE), one_shot("exponential", epsilon / k, k), 1e-4)


NEVER_PASSED = 1.0
EPSILONS = [Fraction(1, 2), Fraction(3)]
CASES: dict[str, Callable[[int, Fraction], Case]] = {
    "canonical": of_canonical,
    "canonical, clipped": lambda k, e: of_canonical(k, e, clipped=True),
    "canonical, gamma 1": lambda k, e: of_canonical(k, e, Fraction(1)),
    "canonical, gamma 1/4": lambda k, e: of_canonical(k, e, Fraction(1, 4)),
    "peeling": lambda k, e: of(Peeling(k=k, epsilon=e, **ONE)),
    "peeling, replace": lambda k, e: of(Peeling(k=k, epsilon=e, neighbors=REPLACE_ONE)),
    "concentrated-peeling": concentrated,
    "one-shot": shots,
    "laplace-counts": laplace,
    "permute-and-flip": lambda k, e: of(PermuteAndFlip(k=k, epsilon=e, **ONE), slack=NEVER_PASSED),
    "joint": lambda k, e: of(Joint(k=k, epsilon=e, **ONE), slack=NEVER_PASSED),
    "pnf-joint": lambda k, e: of(PNFJoint(k=k, epsilon=e, **ONE), slack=NEVER_PASSED),
}


def misses(law: HasLaw, counts: Counts, k: int, gap: int) -> float:
    """The exact probability of a miss by `gap`; the stop of a limited domain is no item."""
    edge = sorted(counts)[-k] - gap
    return float(
        sum(
            p for items, p in law(counts).items() if any(counts[i] <= edge for i in items if i >= 0)
        )
    )


@cache
def case(name: str, k: int, epsilon: Fraction) -> Case:
    return CASES[name](k, epsilon)


def check(name: str, k: int, d: int, epsilon: Fraction) -> None:
    mechanism, law, slack = case(name, k, epsilon)
    for gap in range(1, HIGHEST + 1):
        most = max(misses(law, counts, k, gap) for counts in sorted_vectors(d, HIGHEST))
        assert most <= chance_of_miss(mechanism, gap, d) <= most + slack


@pytest.mark.thin
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("k", [1, 2])
def test_no_count_vector_misses_more_often_than_the_bound(
    name: str, k: int, epsilon: Fraction
) -> None:
    """Planted bugs: no other item kept (canonical), one ranking in place of all (joint), the rate
    of one count for all of a person's (laplace-counts), the whole rate (peeling, replace)."""
    check(name, k, 4, epsilon)


@pytest.mark.parametrize("k", [1, 2])
def test_permute_and_flips_bound_is_close_where_misses_are_rare(k: int) -> None:
    """Planted bug: an item is looked at first with probability 1 / (n + 2)."""
    mechanism, law, _ = case("permute-and-flip", k, Fraction(8))
    most = max(misses(law, counts, k, 3) for counts in sorted_vectors(4))
    assert most <= chance_of_miss(mechanism, 3, 4) <= most * 1.001


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize(
    ("k", "d"),
    [
        pytest.param(1, 5, marks=pytest.mark.audit),
        pytest.param(3, 4, marks=pytest.mark.audit),
        pytest.param(3, 5, marks=pytest.mark.nightly),
    ],
)
def test_no_longer_count_vector_does_either(name: str, k: int, d: int, epsilon: Fraction) -> None:
    check(name, k, d, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1, 2, 3])
def test_limited_domains_reach_their_bound_where_counts_are_high(gap: int) -> None:
    """Two of the top and two others at -gap, far above the threshold; and never pass it below."""
    shared = {"k": 2, "kbar": 4, "epsilon": Fraction(1), "delta": DELTA, **ONE}
    both = (
        (LimitedDomain(max_items_per_unit=2, **shared), 1e-8),
        (LaplaceLimitedDomain(max_items_per_unit=1, **shared), 1e-4),
    )
    for mechanism, slack in both:
        law, bound = limited_law(mechanism), chance_of_miss(mechanism, gap, 4)
        assert max(misses(law, counts, 2, gap) for counts in sorted_vectors(4)) <= bound
        assert misses(law, (60, 60, 60 - gap, 60 - gap), 2, gap) == pytest.approx(bound, abs=slack)


def test_an_unknown_domain_has_as_many_candidates_as_it_looks_at() -> None:
    mechanism = LimitedDomain(k=2, kbar=7, epsilon=1, delta=DELTA, max_items_per_unit=2, **ONE)
    assert chance_of_miss(mechanism, 3) == chance_of_miss(mechanism, 3, 1000)
    assert chance_of_miss(mechanism, 3) > chance_of_miss(mechanism, 3, 6)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(95, 100)], ids=str)
def test_the_shortfall_told_is_the_smallest_that_the_bound_allows(
    name: str, chance: Fraction
) -> None:
    """Planted bug: off by one, either way."""
    mechanism, _, _ = case(name, 2, Fraction(1, 2))
    most = error_bound(mechanism, 50, chance)
    assert (
        chance_of_miss(mechanism, most + 1, 50) <= 1 - chance < chance_of_miss(mechanism, most, 50)
    )


def test_one_item_more_than_k_leaves_one_that_can_miss() -> None:
    """k = 1, d = 2, canonical: odds of e^(epsilon g) to 1, so g = ln 19 at epsilon 1."""
    assert error_bound(Canonical(k=1, epsilon=1, **ONE), 2) == 2
    assert error_bound(Canonical(k=1, epsilon=Fraction(1, 1000), **ONE), 2) == 2944
    assert error_bound(Canonical(k=5, epsilon=HALF, **ONE), 5) == 0


def test_fewer_items_than_k_are_refused() -> None:
    for n_items in (None, 4):
        with pytest.raises(ParameterError, match="at least k, 5"):
            error_bound(Peeling(k=5, epsilon=1, **ONE), n_items)


@pytest.mark.parametrize(
    "mechanism",
    [
        Lipschitz(k=2, epsilon=1, **ONE),
        Canonical(k=2, epsilon=1, gamma=0, **ONE),
        Canonical(k=2, epsilon=1, noise="laplace", **ONE),
        Peeling(k=2, epsilon=1, noise="laplace", **ONE),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_a_mechanism_without_a_formula_is_refused_and_not_guessed(mechanism: Selector) -> None:
    with pytest.raises(ParameterError, match="one whose noise has a bound here"):
        error_bound(mechanism, 9)
