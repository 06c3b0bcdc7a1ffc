"""The steps of the proof that LimitedDomain composes as bounded-range rounds, and what they prove.

The steps are enumerated at e^epsilon = 2, so every weight is rational and no step has a tolerance.
The one step that speaks of the mechanism's own law is then taken with the code's.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import pytest
from guarantees.limited import exact_law

from askew.dp.composition import zcdp
from askew.dp.privacy import ADD_OR_REMOVE_ONE
from askew.mechanisms import LimitedDomain
from askew.mechanisms.limited_domain import Domain

STOP, LOST = -1, -2
DELTA = Fraction(1, 20)
ROOT = Fraction(Decimal("0.5").exp(Context(prec=60)))  # exp(1/2)
ALMOST = Fraction(1, 10**40)
ROUNDS = 2
DOMAINS: list[Domain] = ["positive", "top", "strict"]
Counts = tuple[int, ...]
Law = dict[tuple[int, ...], Fraction]
Weights = dict[int, Fraction]


def weights(
    counts: Counts,
    kbar: int,
    spread: int,
    domain: Domain,
    *,
    plus_one: int = 1,
    base: Fraction = Fraction(2),
) -> Weights:
    """exp(epsilon count) of each item of the domain, ties by id, and of the stop."""
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    cutoff = counts[order[kbar]] if len(order) > kbar else 0
    least = {"positive": 1, "top": 0, "strict": cutoff + 1}[domain]
    found = {i: base ** counts[i] for i in order[:kbar] if counts[i] >= least}
    found[STOP] = base ** (cutoff + plus_one) * spread / DELTA
    return found


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
    pairs = []
    for counts in product(range(3), repeat=4):
        for step in product(range(2), repeat=4):
            if 0 < sum(step) <= most:
                more = tuple(a + b for a, b in zip(counts, step, strict=True))
                pairs += [(counts, more), (more, counts)]
    return pairs


def with_lost(weight: Weights, common: set[int]) -> Weights:
    """In place of the items that the other world lacks, one outcome that moves with the stop."""
    found = {item: w for item, w in weight.items() if item in common}
    return found | {LOST: DELTA * weight[STOP]}


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


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("kbar", "most"), [(1, 1), (2, 1), (3, 2)])
def test_the_codes_own_law_is_above_that_of_the_proof(kbar: int, most: int, domain: Domain) -> None:
    """At epsilon 1/2, to 40 digits. Planted bug: the code's threshold without its one."""
    mechanism = LimitedDomain(
        k=ROUNDS,
        kbar=kbar,
        epsilon=Fraction(1, 2),
        delta=DELTA,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_unit=most,
        domain=domain,
    )
    law_of_it = exact_law(mechanism)
    for left, right in neighbors(most):
        mine, theirs = (
            weights(each, kbar, mechanism.spread, domain, base=ROOT) for each in (left, right)
        )
        true, replaced = law_of_it(left), law(with_lost(mine, mine.keys() & theirs.keys()))
        for outcome, p in replaced.items():
            assert LOST in outcome or p <= true[outcome] + ALMOST


def test_a_limited_domain_is_charged_as_its_rounds() -> None:
    """100 rounds of 1/10 at a slack of 1e-9: 3.06 by zCDP, 10 by the sum; deltas add."""
    mechanism = LimitedDomain(
        k=100, kbar=200, epsilon=Fraction(1, 10), delta=DELTA, neighbors=ADD_OR_REMOVE_ONE
    )
    loss = zcdp([mechanism.ranged_loss()], Fraction(1, 10**9))
    assert f"{float(loss.epsilon):.2f}" == "3.06"
    assert loss.delta == DELTA + Fraction(1, 10**9)
    assert mechanism.privacy_loss().epsilon == 10
