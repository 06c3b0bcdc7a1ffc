"""Limited domains: exact audits, their composition, and planted bugs that are seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import exp, log
from typing import Any

import numpy as np
import pytest
from guarantees.audit.definitions import laplace_domain, limited_domain
from guarantees.audit.enumeration import (
    Counts,
    HasLaw,
    Law,
    excess,
    law_of,
    neighbors_of,
    sorted_vectors,
    vectors,
    worst_excess,
)
from guarantees.audit.limited import Limited, exact_law

from askew.dp.composition import zcdp
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.mechanisms import LaplaceLimitedDomain, LimitedDomain
from askew.mechanisms.limited_domain import Domain, ExponentialClasses
from askew.mechanisms.lipschitz import ConcentratedPeeling
from askew.mechanisms.weights import Draws

K, DELTA, ALMOST = 2, Fraction(1, 20), Fraction(1, 10**40)
HALF, ONE = Fraction(1, 2), Fraction(1)
BY_ONE: dict[str, Any] = {"neighbors": ADD_OR_REMOVE_ONE}
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
        domain=domain,
        k=k,
        kbar=kbar,
        epsilon=epsilon,
        delta=delta,
        max_items_per_unit=most,
        **BY_ONE,
    )


def build_laplace(kbar: int, most: int, k: int) -> LaplaceLimitedDomain:
    return LaplaceLimitedDomain(
        k=k, kbar=kbar, epsilon=1, delta=DELTA, max_items_per_unit=most, **BY_ONE
    )


def audit(
    mechanism: Limited, definition: HasLaw | None, d: int, epsilon: float, most: int | None
) -> float:
    """The law is the definition's, and needs no more delta than is claimed: the delta."""
    law = exact_law(mechanism)
    for counts in sorted_vectors(d) if definition else ():
        assert definition is not None
        here, there = law(counts), definition(counts)
        assert all(abs(here[outcome] - p) <= ALMOST for outcome, p in there.items())
    needed = worst_excess(law, d, epsilon, most or d)
    assert needed <= float(mechanism.delta)
    return needed


@pytest.mark.thin
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("most", [1, 2, None])
@pytest.mark.parametrize("kbar", [2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_limited_domains_keep_delta(
    domain: Domain,
    most: int | None,
    kbar: int,
    k: int,
    record_property: Callable[[str, object], None],
) -> None:
    needed = 0.0
    for epsilon in (HALF, Fraction(2)):
        mechanism = build(domain, kbar, most, epsilon, k=k)
        stop = Fraction(mechanism.spread) / DELTA
        definition = partial(
            limited_domain, k=k, kbar=kbar, epsilon=epsilon, stop=stop, domain=domain
        )
        for d in (2, 3, 4):
            needed = max(needed, audit(mechanism, definition, d, float(k * epsilon), most))
    record_property("mechanism", "LimitedDomain")
    record_property("claimed", float(DELTA))
    record_property("exact", needed)


@pytest.mark.thin
@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("kbar", [2, 3])
@pytest.mark.parametrize("k", [1, 2])
def test_the_laplace_domain_keeps_delta_both_ways(
    most: int, kbar: int, k: int, record_property: Callable[[str, object], None]
) -> None:
    """The whole divergence, from the exact law of the noisy order: no bound on one side only."""
    mechanism = build_laplace(kbar, most, k)
    definition = partial(
        laplace_domain, k=k, kbar=kbar, rate=Fraction(1, most), threshold=mechanism.threshold
    )
    record_property("mechanism", "LaplaceLimitedDomain")
    record_property("claimed", float(mechanism.delta))
    record_property("exact", max(audit(mechanism, definition, d, 1.0, most) for d in (2, 3, 4)))


@pytest.mark.audit
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("most", [1, 3, None])
@pytest.mark.parametrize("kbar", [2, 3])
def test_limited_domains_of_five_items_keep_delta(
    domain: Domain, most: int | None, kbar: int
) -> None:
    audit(build(domain, kbar, most, HALF), None, 5, K * 0.5, most)
    if domain == "positive":
        audit(build_laplace(kbar, most or 5, K), None, 5, 1.0, most)


@pytest.mark.parametrize("domain", DOMAINS)
def test_delta_is_reached(domain: Domain) -> None:
    """The whole of delta / (1 + delta) is lost where a newcomer is drawn before the stop."""
    small = Fraction(1, 200)
    law = exact_law(build(domain, 2, 1 if domain != "strict" else None, HALF, delta=small))
    assert 0.99 * float(small) <= worst_excess(law, 4, K * 0.5, 4 if domain == "strict" else 1, 2)


def test_the_laplace_threshold_solves_its_equation() -> None:
    mechanism = build_laplace(5, 3, 2)
    tau = float(mechanism.threshold)
    share = 3 * (0.5 + tau / 4) * exp(-tau) * (1 + exp(1))
    assert share == pytest.approx(float(DELTA), rel=1e-5)
    assert share <= float(DELTA)
    assert tau > log(3 / DELTA)


def test_replacing_one_is_refused_with_advice() -> None:
    with pytest.raises(ValueError, match="charge both"):
        LimitedDomain(k=1, kbar=2, epsilon=1, delta=DELTA, neighbors=REPLACE_ONE)


STOP, LOST = -1, -2
ROUNDS = 2
Weights = dict[int, Fraction]


def weights(
    counts: Counts, kbar: int, spread: int, domain: Domain, *, plus_one: int = 1
) -> Weights:
    """exp(epsilon count), for epsilon ln 2, of each item of the domain, ties by id, and of the
    stop.
    """
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    cutoff = counts[order[kbar]] if len(order) > kbar else 0
    least = {"positive": 1, "top": 0, "strict": cutoff + 1}[domain]
    two = Fraction(2)
    weight = {i: two ** counts[i] for i in order[:kbar] if counts[i] >= least}
    weight[STOP] = two ** (cutoff + plus_one) * spread / DELTA
    return weight


def law(weight: Weights, k: int = ROUNDS) -> Law:
    """Of k rounds of the exponential mechanism, up to the stop or the lost outcome."""
    if k == 0:
        return {(): Fraction(1)}
    made: Law = defaultdict(Fraction)
    total = sum(weight.values())
    for item, mass in weight.items():
        rest = {other: w for other, w in weight.items() if other != item}
        tails = {(): Fraction(1)} if item < 0 else law(rest, k - 1)
        for tail, chance in tails.items():
            made[item, *tail] += mass / total * chance
    return made


def neighbors(most: int) -> list[tuple[Counts, Counts]]:
    """All pairs over four items with counts up to 2, in both directions."""
    pairs = [(a, b) for a in vectors(4, 2) for b in neighbors_of(a, ADD_OR_REMOVE_ONE, most)]
    return [pair for a, b in pairs if a != b for pair in ((a, b), (b, a))]


def with_lost(weight: Weights, common: set[int]) -> Weights:
    """In place of the items that the other world lacks, one outcome that moves with the stop."""
    kept = {item: w for item, w in weight.items() if item in common}
    return kept | {LOST: DELTA * weight[STOP]}


def broken_steps(
    kbar: int, most: int, domain: Domain, plus_one: int = 1, spread: int | None = None
) -> set[str]:
    """Which step of the proof fails on any pair of neighbors."""
    broken = set()
    spread = spread or (kbar if domain == "strict" else min(kbar, most))
    for left, right in neighbors(most):
        mine, theirs = (
            weights(each, kbar, spread, domain, plus_one=plus_one) for each in (left, right)
        )
        common = mine.keys() & theirs.keys()
        if sum(w for item, w in mine.items() if item not in common) > DELTA * mine[STOP]:
            broken.add("weight")
        plus, other = with_lost(mine, common), with_lost(theirs, common)
        ratios = {plus[item] / other[item] for item in plus}
        if not (ratios <= {1, 2} or ratios <= {1, Fraction(1, 2)}):
            broken.add("one way")
        true, replaced = law(mine), law(plus)
        good = [outcome for outcome in replaced if LOST not in outcome]
        if any(replaced[outcome] > true[outcome] for outcome in good):
            broken.add("law")
        if 1 - sum(replaced[outcome] for outcome in good) > DELTA / (1 + DELTA):
            broken.add("mass")
    return broken


@pytest.mark.thin
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("kbar", "most"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 4)])
def test_every_step_of_the_proof_holds_on_all_neighbors(
    kbar: int, most: int, domain: Domain
) -> None:
    assert broken_steps(kbar, most, domain) == set()


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_threshold_without_its_one_breaks_the_steps(domain: Domain) -> None:
    """The enumeration has power."""
    assert {"weight", "law"} <= broken_steps(2, 1, domain, plus_one=0)


def test_a_strict_domain_with_the_restricted_threshold_breaks_them() -> None:
    assert {"weight", "law"} <= broken_steps(3, 1, "strict", spread=1)


def test_a_limited_domain_is_charged_as_its_rounds() -> None:
    """100 rounds of 1/10 at a slack of 1e-9: 3.06 by zCDP, 10 by the sum; deltas add."""
    mechanism = build("positive", 200, None, Fraction(1, 10), k=100)
    loss = zcdp([mechanism.ranged_loss()], Fraction(1, 10**9))
    assert f"{float(loss.epsilon):.2f}" == "3.06"
    assert loss.delta == DELTA + Fraction(1, 10**9)
    assert mechanism.privacy_loss().epsilon == 10


def test_concentrated_peeling_runs_each_round_at_what_its_total_allows() -> None:
    """k rounds of epsilon' add up to the claim by zCDP. Planted bug: rounds at the total of all."""
    mechanism = ConcentratedPeeling(k=20, epsilon=1, delta=DELTA, neighbors=ADD_OR_REMOVE_ONE)
    ranged = mechanism.ranged_loss()
    assert (ranged.rounds, ranged.epsilon) == (20, mechanism.epsilon_per_round)
    assert 0.9 < zcdp([ranged], DELTA).epsilon <= 1


def law_of_ties(counts: Counts) -> Law:
    """Of two rounds among the top two, where an odd sum of counts turns the order of ties."""
    sign = 1 if sum(counts) % 2 == 0 else -1
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], sign * i))
    scores = np.array([counts[order[0]], counts[order[1]], counts[order[2]] + 1])

    def run(draws: Draws) -> tuple[int, ...]:
        chosen: list[int] = []
        for key in ExponentialClasses(scores, {2: 1 / DELTA}, HALF).peeled(K, draws):
            if key == 2:
                return (*chosen, -1)
            chosen.append(order[key])
        return tuple(chosen)

    return law_of(run)


def test_the_audit_rejects_ties_in_an_order_that_depends_on_the_counts() -> None:
    """(2,2,2,2) and (2,2,2,3): an unstable sort replaces the whole domain at once."""
    found = excess(law_of_ties((2, 2, 2, 3)), law_of_ties((2, 2, 2, 2)), K * 0.5)
    assert found == pytest.approx(1.487 * float(DELTA), rel=1e-3)
