"""Exact (epsilon, delta) audits of the limited-domain mechanisms, and of the variants that leak.

On all of {0,1,2,3}^d, d <= 4, and every vector with one unit more: the code's law is its
definition's to 1e-40, and no more delta is needed than is claimed. Planted bugs:
test_planted_bugs_of_limited_domains_are_seen.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp, log

import pytest
from guarantees.definitions import laplace_domain, limited_domain
from guarantees.enumeration import (
    HasLaw,
    sorted_vectors,
    worst_excess,
)
from guarantees.limited import Limited, exact_law

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain, OptimalThreshold
from askew.mechanisms.limited_domain import Domain

K, DELTA, ALMOST = 2, Fraction(1, 20), Fraction(1, 10**40)
HALF, ONE = Fraction(1, 2), Fraction(1)
DOMAINS: list[Domain] = ["positive", "top", "strict"]


def build(
    domain: Domain,
    kbar: int,
    most: int | None,
    epsilon: Fraction,
    *,
    k: int = K,
    delta: Fraction = DELTA,
) -> LimitedDomain:
    return LimitedDomain(
        k=k,
        kbar=kbar,
        epsilon=epsilon,
        delta=delta,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=most,
        domain=domain,
    )


def build_laplace(kbar: int, most: int, k: int) -> LaplaceLimitedDomain:
    return LaplaceLimitedDomain(
        k=k,
        kbar=kbar,
        epsilon=1,
        delta=DELTA,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=most,
    )


def audit(
    mechanism: Limited, definition: HasLaw | None, d: int, epsilon: float, most: int | None
) -> None:
    """The law is the definition's, and needs no more delta than is claimed."""
    law = exact_law(mechanism)
    for counts in sorted_vectors(d) if definition else ():
        assert definition is not None
        here, there = law(counts), definition(counts)
        assert all(abs(here[outcome] - p) <= ALMOST for outcome, p in there.items())
    assert worst_excess(law, d, epsilon, most or d) <= float(mechanism.delta)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("kbar", [2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_limited_domains_keep_delta(domain: Domain, most: int | None, kbar: int, k: int) -> None:
    for epsilon in (HALF, Fraction(2)):
        mechanism = build(domain, kbar, most, epsilon, k=k)
        stop = Fraction(mechanism.spread) / DELTA
        definition = partial(
            limited_domain, k=k, kbar=kbar, epsilon=epsilon, stop=stop, domain=domain
        )
        for d in (2, 3, 4):
            audit(mechanism, definition, d, float(k * epsilon), most)


@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("kbar", [2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_the_laplace_domain_keeps_delta_both_ways(most: int, kbar: int, k: int) -> None:
    """The whole divergence, from the exact law of the noisy order: no bound on one side only."""
    mechanism = build_laplace(kbar, most, k)
    definition = partial(
        laplace_domain, k=k, kbar=kbar, rate=Fraction(1, most), threshold=mechanism.threshold
    )
    for d in (2, 3, 4):
        audit(mechanism, definition, d, 1.0, most)


@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("k", [1, 2])
def test_the_optimal_threshold_keeps_delta(most: int | None, k: int) -> None:
    """The choice of kbar and the rounds together. dbar = k + 2: two sizes to choose from."""
    for domain in DOMAINS:
        audit(build_optimal(most, k, domain), None, 4, (k + 1) * 0.5, most)


def build_optimal(most: int | None, k: int, domain: Domain) -> OptimalThreshold:
    return OptimalThreshold(
        k=k,
        dbar=k + 2,
        epsilon=HALF,
        delta=DELTA,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=most,
        domain=domain,
    )


@pytest.mark.audit
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("most", [1, 3, None])
@pytest.mark.parametrize("kbar", [2, 3, 4])
def test_limited_domains_of_five_items_keep_delta(
    domain: Domain, most: int | None, kbar: int
) -> None:
    audit(build(domain, kbar, most, HALF), None, 5, K * 0.5, most)
    audit(build_optimal(most, kbar - 1, domain), None, 5, kbar * 0.5, most)
    if domain == "positive":
        audit(build_laplace(kbar, most or 5, K), None, 5, 1.0, most)


@pytest.mark.parametrize("domain", DOMAINS)
def test_delta_is_reached(domain: Domain) -> None:
    """The whole of delta / (1 + delta) is lost where a newcomer is drawn before the stop."""
    small = Fraction(1, 200)
    law = exact_law(build(domain, 2, 1 if domain != "strict" else None, HALF, delta=small))
    assert 0.99 * float(small) <= worst_excess(law, 4, K * 0.5, 4 if domain == "strict" else 1, 2)


def test_the_laplace_threshold_solves_its_equation() -> None:
    mechanism = LaplaceLimitedDomain(
        k=2, kbar=5, epsilon=1, delta=DELTA, neighbors=ADD_OR_REMOVE_ONE, max_items_per_unit=3
    )
    tau = float(mechanism.threshold)
    share = 3 * (0.5 + tau / 4) * exp(-tau) * (1 + exp(1))
    assert share == pytest.approx(float(DELTA), rel=1e-5)
    assert share <= float(DELTA)
    assert tau > log(3 / DELTA)


def test_replacing_one_is_refused_with_advice() -> None:
    with pytest.raises(ValueError, match="charge both"):
        LimitedDomain(k=1, kbar=2, epsilon=1, delta=DELTA, neighbors=REPLACE_ONE)
