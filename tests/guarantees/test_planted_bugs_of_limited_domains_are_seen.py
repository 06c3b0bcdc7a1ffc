"""Variants of the limited-domain mechanisms that leak, each a law written here, and what sees them.

The audit must find more delta than was claimed. The right twins pass in
test_limited_domain_keeps_its_promise.py.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from guarantees.definitions import laplace_domain, rows
from guarantees.enumeration import Counts, HasLaw, Law, excess, law_of, worst_excess
from guarantees.limited import by_rows, exact_law

from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import LaplaceLimitedDomain
from askew.mechanisms.limited_domain import ExponentialClasses
from askew.mechanisms.weights import Draws

K, DELTA = 2, Fraction(1, 20)
HALF, ONE = Fraction(1, 2), Fraction(1)


def peeled(candidates: list[tuple[int, int]], threshold: int, stop: Fraction, e: Fraction) -> Law:
    """The law of K rounds over (item, count) and a stop of the given count and multiplicity."""

    def run(draws: Draws) -> tuple[int, ...]:
        scores = np.array([count for _, count in candidates] + [threshold])
        classes = ExponentialClasses(scores, {len(candidates): stop}, e)
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
    order: Callable[[Counts], list[int]] = rows,
    strict: bool = False,
    rank: int = 0,
) -> HasLaw:
    def law(counts: Counts) -> Law:
        items = order(counts)
        cutoff = counts[items[kbar + rank]] if len(items) > kbar + rank else 0
        kept = [(i, counts[i]) for i in items[:kbar] if not strict or counts[i] > cutoff]
        return peeled(kept, cutoff + extra, stop, e)

    return cache(law)


def test_the_audit_rejects_a_threshold_without_the_plus_one() -> None:
    law = variant(2, ONE, extra=0, stop=1 / DELTA)
    assert excess(law((0, 0, 0, 1)), law((0, 0, 0, 0)), K) > 1.5 * float(DELTA)


def test_the_audit_rejects_ln_of_one_over_delta_where_a_unit_changes_all_counts() -> None:
    law = variant(3, HALF, stop=1 / DELTA)
    assert worst_excess(law, 6, K * 0.5, 6, highest=1) > 1.2 * float(DELTA)


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
    assert worst_excess(law, 3, K, 3) > 1.5 * float(DELTA)


@pytest.mark.parametrize(("rate", "leaks"), [(HALF, False), (ONE, True)])
def test_the_audit_rejects_laplace_noise_at_the_rate_of_one_count(
    rate: Fraction, leaks: bool
) -> None:
    """Units change two counts: two items rise, and the order that puts the others first loses
    e^2 where e^1 is allowed: .059 of excess. At the right rate there is none at all.
    """
    law = by_rows(partial(laplace_domain, k=K, kbar=4, rate=rate, threshold=Fraction(18)))
    assert excess(law((60, 60, 60, 60)), law((61, 61, 60, 60)), 1.0) == pytest.approx(
        0.0594 * leaks, abs=1e-4
    )


@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(3)])
def test_the_audit_rejects_a_laplace_threshold_that_is_too_low(threshold: Fraction) -> None:
    """The right one is 5.65; ln(1 / delta), 3.0, needs twice the delta that is claimed.

    Without the + 1, at 5.15, no more than claimed is needed: the proof's factor 1 + e^epsilon is
    not tight. That bug is seen by the law of the definition, in the test after this one.
    """
    law = by_rows(partial(laplace_domain, k=K, kbar=2, rate=HALF, threshold=threshold))
    assert worst_excess(law, 3, 1.0, 2) > 2 * float(DELTA)


def test_a_laplace_threshold_without_the_plus_one_is_seen_in_the_law() -> None:
    mechanism = LaplaceLimitedDomain(
        k=K, kbar=2, epsilon=1, delta=DELTA, neighbors=ADD_OR_REMOVE_ONE, max_items_per_unit=2
    )
    lower = partial(laplace_domain, k=K, kbar=2, rate=HALF, threshold=mechanism.threshold - HALF)
    law = exact_law(mechanism)((3, 2, 1))
    assert max(abs(law[outcome] - p) for outcome, p in lower((3, 2, 1)).items()) > 0.001
