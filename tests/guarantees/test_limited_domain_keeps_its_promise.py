"""Exact (k epsilon, delta) audits of the limited-domain mechanisms, and of the variants that leak.

Each planted bug is a law written here; the audit must find more delta than was claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log

import pytest
from guarantees.enumeration import (
    Counts,
    HasLaw,
    Law,
    law_of,
    vectors,
    with_one_more,
    worst_hockey_stick,
)

from askew.exact import Draws
from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.exponential_classes import ExponentialClasses
from askew.mechanisms.limited_domain import Domain
from askew.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE

K, DELTA = 2, Fraction(1, 20)


def ranking(counts: Counts) -> list[int]:
    return sorted(range(len(counts)), key=lambda i: (-counts[i], i))


def law_of_limited(mechanism: LimitedDomain) -> HasLaw:
    kbar = mechanism.kbar

    def law(counts: Counts) -> Law:
        order = ranking(counts)
        values = [counts[i] for i in order] + [0] * (kbar + 1)

        def run(draws: Draws) -> tuple[int, ...]:
            kept = values[: min(kbar, len(order))]
            made = mechanism.draw(order[:kbar], kept, values[kbar], draws)
            return (*made, -1) if made.stopped else tuple(made)

        return law_of(run)

    return remembered(law)


def remembered(law: HasLaw) -> HasLaw:
    known: dict[Counts, Law] = {}

    def of(counts: Counts) -> Law:
        if counts not in known:
            known[counts] = law(counts)
        return known[counts]

    return of


def few_changes(law: HasLaw, most: int, epsilon: float, d: int) -> float:
    """As `worst_hockey_stick`, for units that change at most `most` counts."""
    worst = 0.0
    for counts in vectors(d, 2):
        for other in with_one_more(counts):
            if sum(other) - sum(counts) <= most:
                worst = max(worst, excess(law(counts), law(other), epsilon))
                worst = max(worst, excess(law(other), law(counts), epsilon))
    return worst


def excess(p: Law, q: Law, epsilon: float) -> float:
    bound = exp(epsilon)
    return sum(max(float(a) - bound * float(q.get(o, 0)), 0.0) for o, a in p.items())


def build(domain: Domain, kbar: int, most: int | None, epsilon: Fraction) -> LimitedDomain:
    return LimitedDomain(
        k=K,
        kbar=kbar,
        epsilon=epsilon,
        delta=DELTA,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=most,
        domain=domain,
    )


@pytest.mark.parametrize("domain", ["positive", "top", "strict"])
@pytest.mark.parametrize("kbar", [2, 3])
def test_limited_domains_keep_delta_for_units_that_change_any_counts(
    domain: Domain, kbar: int
) -> None:
    law = law_of_limited(build(domain, kbar, None, Fraction(1, 2)))
    assert worst_hockey_stick(law, 4, K * 0.5, highest=1) <= float(DELTA)


@pytest.mark.parametrize("domain", ["positive", "top", "strict"])
def test_limited_domains_keep_delta_for_units_that_change_one_count(domain: Domain) -> None:
    law = law_of_limited(build(domain, 2, 1, Fraction(1, 2)))
    assert few_changes(law, 1, K * 0.5, 3) <= float(DELTA)


def peeled(candidates: list[tuple[int, int]], threshold: int, stop: Fraction, e: Fraction) -> Law:
    """The law of K rounds over (item, count) and a stop of the given count and multiplicity."""

    def run(draws: Draws) -> tuple[int, ...]:
        scores = [count for _, count in candidates] + [threshold]
        classes = ExponentialClasses(scores, [Fraction(1)] * len(candidates) + [stop], e)
        chosen: list[int] = []
        while len(chosen) < K:
            key = draws.choose(classes)
            if key == len(candidates):
                return (*chosen, -1)
            chosen.append(candidates[key][0])
            classes.remove(key)
        return tuple(chosen)

    return law_of(run)


def variant(
    kbar: int,
    e: Fraction,
    *,
    extra: int = 1,
    stop: Fraction,
    order: Callable[[Counts], list[int]] = ranking,
    strict: bool = False,
    rank: int = 0,
) -> HasLaw:
    def law(counts: Counts) -> Law:
        items = order(counts)
        cutoff = counts[items[kbar + rank]] if len(items) > kbar + rank else 0
        kept = [(i, counts[i]) for i in items[:kbar] if not strict or counts[i] > cutoff]
        return peeled(kept, cutoff + extra, stop, e)

    return remembered(law)


HALF, ONE = Fraction(1, 2), Fraction(1)


def test_the_audit_rejects_a_threshold_without_the_plus_one() -> None:
    law = variant(2, ONE, extra=0, stop=1 / DELTA)
    assert excess(law((0, 0, 0, 1)), law((0, 0, 0, 0)), K) > 1.5 * float(DELTA)


def test_the_audit_rejects_ln_of_one_over_delta_where_a_unit_changes_all_counts() -> None:
    law = variant(3, HALF, stop=1 / DELTA)
    assert worst_hockey_stick(law, 6, K * 0.5, highest=1) > 1.2 * float(DELTA)


def test_the_audit_rejects_a_strict_domain_with_a_restricted_threshold() -> None:
    """(0,1,1,1) and (1,1,1,1): one unit empties the strict domain; delta is 2.6 times the claim."""
    law = variant(3, HALF, stop=1 / DELTA, strict=True)
    found = excess(law((0, 1, 1, 1)), law((1, 1, 1, 1)), K * 0.5)
    assert found == pytest.approx(2.609 * float(DELTA), rel=1e-3)


def test_the_audit_rejects_ties_in_an_order_that_depends_on_the_counts() -> None:
    """(2,2,2,2) and (2,2,2,3): an unstable sort replaces the whole domain at once."""

    def unstable(counts: Counts) -> list[int]:
        rising = sum(counts) % 2 == 0
        return sorted(range(len(counts)), key=lambda i: (-counts[i], i if rising else -i))

    law = variant(2, HALF, stop=1 / DELTA, order=unstable)
    found = excess(law((2, 2, 2, 3)), law((2, 2, 2, 2)), K * 0.5)
    assert found == pytest.approx(1.487 * float(DELTA), rel=1e-3)


def test_the_audit_rejects_a_cutoff_one_rank_too_low() -> None:
    law = variant(2, ONE, stop=2 / DELTA, rank=1)
    assert few_changes(law, 4, K, 3) > 1.5 * float(DELTA)


def laplace_law(mechanism: LaplaceLimitedDomain) -> HasLaw:
    """P(the ranking of noisy scores) for two items and the stop, by quadrature."""
    import numpy as np
    from scipy.stats import laplace

    grid = np.linspace(-60, 60, 24001)

    def law(counts: Counts) -> Law:
        order = ranking(counts)
        values = [counts[i] for i in order] + [0] * (mechanism.kbar + 1)
        cutoff = values[mechanism.kbar]
        rate = float(mechanism.epsilon) / mechanism.max_items_per_unit
        kept = [i for i in order[: mechanism.kbar] if counts[i] >= max(cutoff, 1)]
        scores = {i: rate * (counts[i] - cutoff - 1) for i in kept}
        stop = float(mechanism.threshold)
        found: dict[tuple[int, ...], float] = {}
        density = laplace.pdf(grid - stop)
        above = {i: laplace.sf(grid - scores[i]) for i in kept}
        nobody = density * np.prod([1 - above[i] for i in kept], axis=0)
        found[-1,] = float(np.trapezoid(nobody, grid))
        for i in kept:
            rest = np.prod([1 - above[j] for j in kept if j != i], axis=0)
            found[i,] = float(np.trapezoid(density * above[i] * rest, grid))
        return {outcome: Fraction(p) for outcome, p in found.items()}

    return remembered(law)


def test_the_laplace_threshold_keeps_delta_for_the_set_of_survivors() -> None:
    """Outcomes: nobody passes, or exactly item i does; a lower bound on the whole divergence."""
    mechanism = LaplaceLimitedDomain(
        k=2, kbar=2, epsilon=1, delta=DELTA, neighbors=ADD_OR_REMOVE_ONE, max_items_per_unit=1
    )
    assert few_changes(laplace_law(mechanism), 1, 1.0, 3) <= float(DELTA)


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
