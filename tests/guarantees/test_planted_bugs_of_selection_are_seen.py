"""Bugs planted in the mechanisms, and what sees them: the audit of ratios, or the exact law.

The right twins of all of these pass in test_selection_keeps_its_promise.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import comb, prod
from typing import Any

import pytest
from guarantees.audited import MECHANISMS, exact_law
from guarantees.contests import TapeContest
from guarantees.enumeration import (
    Counts,
    Law,
    law_of,
    with_one_more,
    with_one_replaced,
    worst_log_ratio,
)

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE
from askew.mechanisms import Canonical, Joint, Peeling, PNFJoint, canonical
from askew.mechanisms.contest import FAMILIES, NoiseFamily
from askew.mechanisms.joint_classes import SequenceLosses
from askew.mechanisms.tally import tally
from askew.mechanisms.value_classes import Urn

EPSILON = 2


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


class PNFJointAtTheMonotoneRate(PNFJoint):
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


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_the_audit_rejects_peeling_without_the_factor_two(noise: NoiseFamily) -> None:
    wrong = PeelingWithoutTheFactorTwo(k=2, epsilon=2, neighbors=REPLACE_ONE, noise=noise)
    assert worst_log_ratio(exact_law(wrong), 3, with_one_replaced, highest=2) > 1.4 * EPSILON


@pytest.mark.parametrize("made", [JointAtTheMonotoneRate, PNFJointAtTheMonotoneRate])
def test_the_audit_rejects_joint_at_the_monotone_rate(made: type[Joint | PNFJoint]) -> None:
    """The joint loss moves both ways even when all counts move one way."""
    wrong = made(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    assert worst_log_ratio(exact_law(wrong), 4, with_one_more) > 1.2 * EPSILON


@pytest.mark.parametrize("noise", FAMILIES)
def test_the_audit_rejects_canonical_without_the_factor_two(noise: NoiseFamily) -> None:
    wrong = CanonicalWithoutTheFactorTwo(k=2, epsilon=2, neighbors=REPLACE_ONE, noise=noise)
    assert worst_log_ratio(exact_law(wrong), 3, with_one_replaced, highest=2) > 1.4 * EPSILON


def canonical_law(counts: Counts, k: int) -> Law:
    mechanism = Canonical(k=k, epsilon=1, neighbors=ADD_OR_REMOVE_ONE, clipped=True)
    return law_of(partial(mechanism.draw, tally(counts, k)))


def test_a_binomial_off_by_one_is_seen_in_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recurrence as printed, (t-h-1) for (t-h-2), changes P(TOP) of (10,5,1,1) to .754."""
    right = canonical_law((10, 5, 1, 1), 2)[0, 1]
    monkeypatch.setattr(canonical, "comb", lambda n, r: comb(n + 1, r))
    wrong = canonical_law((10, 5, 1, 1), 2)[0, 1]
    assert float(right) == pytest.approx(0.7668726028904856, abs=1e-15)
    assert abs(wrong - right) > Fraction(1, 100)


def test_a_lost_top_class_is_seen_in_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical.CanonicalClasses, "enclose", _without_the_top)
    assert (0, 1) not in {o for o, p in canonical_law((10, 5, 1, 1), 2).items() if p > 0}


def _without_the_top(self: canonical.CanonicalClasses, key: int, shift: int) -> tuple[int, int]:
    return (0, 0) if key == canonical.TOP else (1 << shift, 1 << shift)


def test_a_body_that_is_not_uniform_is_seen_in_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """All subsets of a class have one probability: those of (9, 5, 5, 1, 1, 0) by (h, t)."""
    fair = canonical_law((9, 5, 5, 1, 1, 0), 3)
    assert fair[1, 2, 5] == pytest.approx(fair[2, 3, 5], abs=1e-30)
    monkeypatch.setattr("askew.mechanisms.canonical.subset", lambda n, k, _: [*range(k)])
    skewed = canonical_law((9, 5, 5, 1, 1, 0), 3)
    assert any(abs(skewed.get(o, Fraction(0)) - p) > Fraction(1, 10**6) for o, p in fair.items())


def test_a_number_of_choices_off_by_one_is_seen_in_joints_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """t_r(e) - r + 1 items for position r, where t_r(e) - r are left."""
    expected = MECHANISMS["joint"].definition(2, Fraction(2), ADD_OR_REMOVE_ONE)((5, 3, 3, 1))
    mechanism = Joint(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    run = partial(mechanism.draw, tally((5, 3, 3, 1), 2))
    assert law_of(run) == pytest.approx(expected, abs=1e-40)
    monkeypatch.setattr(SequenceLosses, "count", _one_choice_too_many)
    wrong = law_of(run)
    assert max(abs(wrong.get(o, 0) - p) for o, p in expected.items()) > 0.01


def _one_choice_too_many(self: SequenceLosses, e: int) -> int:
    return prod(max(t - r + 1, 0) for r, t in enumerate(self.choices(e).tolist()))


def test_sequences_that_are_not_uniform_are_seen_in_pnf_joints_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Always the first of the items that reach the loss."""
    monkeypatch.setattr(Urn, "take_fresh", lambda self, low, high, _: self.pick(low - self._taken))
    assert worst_difference("pnf joint", (3, 1, 1, 0)) > 0.01


def test_a_lost_top_class_is_seen_under_exponential_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    def enter(self: canonical.CanonicalClasses, contest: TapeContest) -> None:
        whole(self, contest)
        del contest.entered[canonical.TOP]

    whole: Any = canonical.CanonicalClasses.enter
    monkeypatch.setattr(canonical.CanonicalClasses, "enter", enter)
    assert worst_difference("canonical, exponential", (3, 1, 1, 0)) > 0.3


def test_a_size_that_the_float_view_does_not_share_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A binomial or a number of choices off by one, in the exact view only."""
    monkeypatch.setattr(canonical, "comb", lambda n, r: comb(n + 1, r))
    monkeypatch.setattr(SequenceLosses, "count", _one_choice_too_many)
    for name in ("canonical, exponential", "pnf joint"):
        with pytest.raises(AssertionError):
            worst_difference(name, (3, 1, 1, 0))


def worst_difference(name: str, counts: Counts) -> float:
    """How far the code's law of pairs is from its definition's."""
    audited = MECHANISMS[name]
    mechanism = audited.build(k=2, epsilon=2, neighbors=ADD_OR_REMOVE_ONE)
    law = exact_law(mechanism)(counts)
    definition = audited.definition(2, Fraction(2), ADD_OR_REMOVE_ONE)(counts)
    return max(abs(float(law.get(outcome, 0) - p)) for outcome, p in definition.items())
