"""Exact audits: the law of every output on all small count vectors and all their neighbors.

Planted bugs that these tests catch are the `...Wrong` classes and patches below; each has a test
that shows the audit rejecting it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import permutations
from math import comb, exp, prod

import pytest
from guarantees.enumeration import (
    Counts,
    HasLaw,
    Law,
    by_symmetry,
    law_of,
    with_one_more,
    with_one_replaced,
    worst_log_ratio,
)

from askew.exact import Draws
from askew.mechanisms import Canonical, Joint, Lipschitz, OneShot, Peeling, canonical_classes
from askew.mechanisms.joint_classes import SequenceLosses
from askew.mechanisms.tally import tally
from askew.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation

EPSILON = 2
HALF, ALMOST = Fraction(1, 2), 1e-12
SELECTS = Canonical | Joint | Lipschitz | OneShot | Peeling
BUILD: dict[str, Callable[[int, NeighboringRelation], SELECTS]] = {
    "peeling": lambda k, n: Peeling(k=k, epsilon=EPSILON, neighbors=n),
    "one-shot": lambda k, n: OneShot(k=k, epsilon=EPSILON, neighbors=n, noise="gumbel"),
    "joint": lambda k, n: Joint(k=k, epsilon=EPSILON, neighbors=n),
    "joint truncated": lambda k, n: Joint(k=k, epsilon=EPSILON, neighbors=n, truncation=2),
    "canonical": lambda k, n: Canonical(k=k, epsilon=EPSILON, neighbors=n, clipped=True),
    "canonical, gamma 0": lambda k, n: Canonical(k=k, epsilon=EPSILON, neighbors=n, gamma=0),
    "canonical, gamma 1": lambda k, n: Canonical(k=k, epsilon=EPSILON, neighbors=n, gamma=1),
    "canonical, unclipped": lambda k, n: Canonical(k=k, epsilon=EPSILON, neighbors=n),
    "canonical, unclipped, gamma 3/4": lambda k, n: Canonical(
        k=k, epsilon=EPSILON, neighbors=n, gamma=Fraction(3, 4)
    ),
}
TIGHT = {"canonical, gamma 0", "canonical, gamma 1", "canonical, unclipped"}


def exact_law(mechanism: SELECTS) -> HasLaw:
    sets = isinstance(mechanism, Canonical | OneShot)

    def law(counts: Counts) -> Law:
        view = tally(counts, mechanism.k)
        return law_of(partial(mechanism.draw, view))

    return by_symmetry(law, sets=sets)


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("k", [1, 2])
def test_adding_one_unit_moves_no_probability_by_more_than_epsilon(
    name: str, d: int, k: int
) -> None:
    law = exact_law(BUILD[name](k, ADD_OR_REMOVE_ONE))
    assert worst_log_ratio(law, d, with_one_more) <= EPSILON + ALMOST


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("k", [1, 2])
def test_replacing_one_unit_moves_no_probability_by_more_than_epsilon(name: str, k: int) -> None:
    law = exact_law(BUILD[name](k, REPLACE_ONE))
    assert worst_log_ratio(law, 3, with_one_replaced, highest=2) <= EPSILON + ALMOST


@pytest.mark.parametrize("name", sorted(TIGHT))
def test_the_bound_is_reached_where_the_mechanism_is_tight(name: str) -> None:
    """At a larger epsilon and wider gaps the worst pair comes within 1 % of the bound."""
    built = BUILD[name](2, ADD_OR_REMOVE_ONE)
    assert isinstance(built, Canonical)
    law = exact_law(Canonical(**{**vars(built), "epsilon": 6}))
    assert worst_log_ratio(law, 4, with_one_more) >= 0.99 * 6


@pytest.mark.parametrize("name", BUILD)
def test_probabilities_add_to_one_and_no_item_is_repeated(name: str) -> None:
    law = exact_law(BUILD[name](2, ADD_OR_REMOVE_ONE))((3, 1, 1, 0))
    assert sum(law.values()) == 1
    assert all(len(set(outcome)) == 2 for outcome in law)


@pytest.mark.parametrize("name", BUILD)
def test_renaming_the_items_renames_the_outputs(name: str) -> None:
    """What lets the audits enumerate sorted vectors only."""
    mechanism = BUILD[name](2, ADD_OR_REMOVE_ONE)
    for counts in ((0, 2, 1, 2), (1, 0, 3, 1)):
        direct = law_of(partial(mechanism.draw, tally(counts, 2)))
        assert direct == pytest.approx(dict(exact_law(mechanism)(counts)), abs=1e-30)


class PeelingWithTheWholeBudgetEachRound(Peeling):
    @property
    def rate(self) -> Fraction:
        return super().rate * self.k


class PeelingWithoutTheFactorTwo(Peeling):
    @property
    def rate(self) -> Fraction:
        return super().rate * 2


class JointAtTheMonotoneRate(Joint):
    @property
    def rate(self) -> Fraction:
        return super().rate * 2


class CanonicalWithoutTheFactorTwo(Canonical):
    @property
    def rate(self) -> Fraction:
        return super().rate * 2


def test_the_audit_rejects_a_budget_that_is_not_split() -> None:
    wrong = PeelingWithTheWholeBudgetEachRound(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    assert worst_log_ratio(exact_law(wrong), 3, with_one_more) > 1.4 * EPSILON


def test_the_audit_rejects_peeling_without_the_factor_two() -> None:
    wrong = PeelingWithoutTheFactorTwo(k=2, epsilon=2, neighbors=REPLACE_ONE)
    assert worst_log_ratio(exact_law(wrong), 3, with_one_replaced, highest=2) > 1.4 * EPSILON


def test_the_audit_rejects_joint_at_the_monotone_rate() -> None:
    """The joint loss moves both ways even when all counts move one way."""
    wrong = JointAtTheMonotoneRate(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    assert worst_log_ratio(exact_law(wrong), 4, with_one_more) > 1.2 * EPSILON


def test_the_audit_rejects_canonical_without_the_factor_two() -> None:
    wrong = CanonicalWithoutTheFactorTwo(k=2, epsilon=2, neighbors=REPLACE_ONE)
    assert worst_log_ratio(exact_law(wrong), 3, with_one_replaced, highest=2) > 1.4 * EPSILON


def canonical_law(counts: Counts, k: int) -> Law:
    mechanism = Canonical(k=k, epsilon=1, neighbors=ADD_OR_REMOVE_ONE, clipped=True)
    return law_of(partial(mechanism.draw, tally(counts, k)))


def test_a_binomial_off_by_one_is_seen_in_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recurrence as printed, (t-h-1) for (t-h-2), changes P(TOP) of (10,5,1,1) to .754."""
    right = canonical_law((10, 5, 1, 1), 2)[0, 1]
    monkeypatch.setattr(canonical_classes, "comb", lambda n, r: comb(n + 1, r))
    wrong = canonical_law((10, 5, 1, 1), 2)[0, 1]
    assert float(right) == pytest.approx(0.7668726028904856, abs=1e-15)
    assert abs(wrong - right) > Fraction(1, 100)


def test_a_lost_top_class_is_seen_in_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical_classes.CanonicalClasses, "enclose", _without_the_top)
    assert (0, 1) not in {o for o, p in canonical_law((10, 5, 1, 1), 2).items() if p > 0}


def _without_the_top(
    self: canonical_classes.CanonicalClasses, key: int, shift: int
) -> tuple[int, int]:
    return (0, 0) if key == canonical_classes.TOP else (1 << shift, 1 << shift)


def test_a_body_that_is_not_uniform_is_seen_in_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """All subsets of a class have one probability: those of (9, 5, 5, 1, 1, 0) by (h, t)."""
    fair = canonical_law((9, 5, 5, 1, 1, 0), 3)
    assert fair[1, 2, 5] == pytest.approx(fair[2, 3, 5], abs=1e-30)
    monkeypatch.setattr("askew.mechanisms.canonical.subset", lambda n, k, _: [*range(k)])
    skewed = canonical_law((9, 5, 5, 1, 1, 0), 3)
    assert any(abs(skewed.get(o, Fraction(0)) - p) > Fraction(1, 10**6) for o, p in fair.items())


def joint_by_definition(counts: Counts, k: int, epsilon: float) -> dict[tuple[int, ...], float]:
    top = sorted(counts, reverse=True)
    weights = {
        s: exp(-epsilon / 2 * max(top[r] - counts[i] for r, i in enumerate(s)))
        for s in permutations(range(len(counts)), k)
    }
    return {s: weight / sum(weights.values()) for s, weight in weights.items()}


def test_a_number_of_choices_off_by_one_is_seen_in_joints_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """t_r(e) - r + 1 items for position r, where t_r(e) - r are left."""
    expected = joint_by_definition((5, 3, 3, 1), 2, 2.0)
    mechanism = Joint(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    run = partial(mechanism.draw, tally((5, 3, 3, 1), 2))
    assert {o: float(p) for o, p in law_of(run).items()} == pytest.approx(expected, abs=1e-14)
    monkeypatch.setattr(SequenceLosses, "count", _one_choice_too_many)
    wrong = law_of(run)
    assert max(abs(float(wrong.get(o, 0)) - p) for o, p in expected.items()) > 0.01


def _one_choice_too_many(self: SequenceLosses, e: int) -> int:
    return prod(max(t - r + 1, 0) for r, t in enumerate(self.choices(e).tolist()))


def test_a_draw_is_made_of_exact_choices_only() -> None:
    """A mechanism that read bits of its own would exhaust the tape's empty source."""
    mechanism = Joint(k=2, epsilon=1, neighbors=ADD_OR_REMOVE_ONE)

    def run(draws: Draws) -> tuple[int, ...]:
        return mechanism.draw(tally((2, 1, 0), 2), draws)

    assert sum(law_of(run).values()) == 1
