"""Filters: what they sum, what they refuse, and that a refusal changes nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.dp.analyst import AnalystUsage, PayWhatYouGet
from askew.dp.composition import Loss, PrivacyFilter, RunningLoss, basic, concentrated_epsilon, zcdp
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    PureDP,
)
from askew.errors import BudgetExceeded, ParameterError
from askew.mechanisms import LimitedDomain
from askew.mechanisms.limited_domain import Selection

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
SLACK = Fraction(1, 10**9)
TENTH = Fraction(1, 10)
small = st.fractions(Fraction(1, 100), 2, max_denominator=100)
tiny = st.integers(20, 40).map(lambda n: Fraction(1, 2**n))
losses = st.one_of(
    st.builds(PureDP, small, st.just(ADD_OR_REMOVE_ONE)),
    st.builds(ApproximateDP, small, tiny, st.just(ADD_OR_REMOVE_ONE)),
    st.builds(BoundedRange, small, st.integers(1, 30), tiny, st.just(ADD_OR_REMOVE_ONE)),
)


def pure(epsilon: Fraction | int) -> PureDP:
    return PureDP(Fraction(epsilon), ADD_OR_REMOVE_ONE)


def ranged(epsilon: Fraction, rounds: int = 1) -> BoundedRange:
    return BoundedRange(epsilon, rounds, Fraction(0), ADD_OR_REMOVE_ONE)


def spend_until_refused(budget: PrivacyFilter, loss: Loss) -> int:
    spent, count = RunningLoss(), 0
    while True:
        try:
            spent = budget.after(spent, loss)
        except BudgetExceeded:
            return count
        count += 1


def test_a_budget_is_spent_to_the_last_and_not_beyond() -> None:
    """Exact: ten tenths are one. Planted bugs: floats; >= for >."""
    assert spend_until_refused(PrivacyFilter(epsilon=Fraction(1)), pure(TENTH)) == 10


def test_zcdp_fits_more_selections_under_a_cap_than_the_sum_does() -> None:
    """96, where 30 add up to the cap: conversion(96 / 800) <= 3 < conversion(97 / 800)."""
    with_slack = PrivacyFilter(epsilon=Fraction(3), delta=SLACK, slack=SLACK)
    assert spend_until_refused(with_slack, ranged(TENTH)) == 96
    assert concentrated_epsilon(Fraction(96, 800), SLACK) <= 3
    assert concentrated_epsilon(Fraction(97, 800), SLACK) > 3
    assert spend_until_refused(PrivacyFilter(epsilon=Fraction(3)), ranged(TENTH)) == 30


def test_a_refusal_says_what_was_asked_spent_and_allowed() -> None:
    budget = PrivacyFilter(epsilon=Fraction(1), delta=Fraction(1, 1000))
    spent = budget.after(RunningLoss(), pure(Fraction(3, 4)))
    with pytest.raises(BudgetExceeded, match="epsilon") as refused:
        budget.after(spent, pure(Fraction(1, 2)))
    actual = (refused.value.requested, refused.value.spent, refused.value.cap)
    assert actual == (Fraction(1, 2), Fraction(3, 4), Fraction(1))
    with pytest.raises(BudgetExceeded, match="delta") as refused:
        budget.after(spent, ApproximateDP(TENTH, Fraction(1, 100), ADD_OR_REMOVE_ONE))
    actual = (refused.value.requested, refused.value.spent, refused.value.cap)
    assert actual == (Fraction(1, 100), Fraction(0), Fraction(1, 1000))


@given(st.lists(losses, max_size=12), st.fractions(1, 20, max_denominator=10))
def test_a_filter_never_lets_a_valid_bound_pass_the_cap(
    asked: list[Loss], epsilon: Fraction
) -> None:
    """Whatever was let through: the sum of the added ones, and the better rule for the others."""
    budget = PrivacyFilter(epsilon=epsilon, delta=Fraction(1, 10**5), slack=SLACK)
    spent, taken = RunningLoss(), []
    for loss in asked:
        try:
            spent = budget.after(spent, loss)
        except BudgetExceeded:
            continue
        taken.append(loss)
    total = budget.loss(spent, ADD_OR_REMOVE_ONE)
    assert total.epsilon <= budget.epsilon
    assert total.delta <= budget.delta
    added = [loss for loss in taken if not isinstance(loss, BoundedRange)]
    selected = [loss for loss in taken if isinstance(loss, BoundedRange)]
    least = sum((loss.epsilon for loss in added), Fraction(0))
    if selected:
        least += min(basic(selected).epsilon, zcdp(selected, SLACK).epsilon)
    assert total.epsilon >= least
    if taken:
        assert total.epsilon <= basic(taken).epsilon


def test_the_conversion_of_a_filter_is_linear_in_rho() -> None:
    """One order for ever, as adaptively chosen charges need.

    Planted bug: the best order of each total, with which whoever sees an unlucky selection stops
    selecting, adds plain charges up to the cap, and has passed it: an odometer used as a filter.
    """
    budget = PrivacyFilter(epsilon=Fraction(3), delta=SLACK, slack=SLACK)
    steps = [budget.loss(RunningLoss(range_epsilon=Fraction(99), rho=Fraction(n, 800)),
    ADD_OR_REMOVE_ONE)
             for n in (30, 50, 70)]  # fmt: skip
    first, second, third = (step.epsilon for step in steps)
    assert float(second - first) == pytest.approx(float(third - second), abs=1e-11)
    assert first > concentrated_epsilon(Fraction(30, 800), SLACK)


def test_a_filter_charges_the_deltas_and_the_slack_of_selections() -> None:
    budget = PrivacyFilter(epsilon=Fraction(9), delta=Fraction(1, 10), slack=SLACK)
    selected = BoundedRange(TENTH, 100, Fraction(1, 100), ADD_OR_REMOVE_ONE)
    total = budget.loss(RunningLoss().plus(selected), ADD_OR_REMOVE_ONE)
    rho = 100 * TENTH**2 / 8
    assert total.epsilon == concentrated_epsilon(rho, SLACK, budget.order)
    assert total.delta == Fraction(1, 100) + SLACK


def test_sums_add_and_subtract_by_field() -> None:
    spent = RunningLoss().plus(pure(1)).plus(ranged(Fraction(1, 2), 4))
    expected = RunningLoss(epsilon=Fraction(1), range_epsilon=Fraction(2), rho=Fraction(1, 8))
    assert expected == spent
    assert RunningLoss() == spent - spent
    assert spent == RunningLoss() + spent


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": Fraction(0)},
        {"epsilon": 0.5},
        {"epsilon": Fraction(1), "delta": Fraction(1)},
        {"epsilon": Fraction(1), "delta": Fraction(-1, 2)},
        {"epsilon": Fraction(1), "delta": SLACK / 2, "slack": SLACK},
        {"epsilon": Fraction(1), "order": Fraction(2)},
        {"epsilon": Fraction(1), "delta": SLACK, "slack": SLACK, "order": Fraction(1)},
    ],
    ids=str,
)
def test_a_budget_that_makes_no_sense_is_refused(arguments: dict[str, Fraction]) -> None:
    with pytest.raises(ParameterError):
        PrivacyFilter(**arguments)


TERMS = PayWhatYouGet(k_star=50, l_star=8, epsilon=TENTH, delta=Fraction(1, 10**8), slack=SLACK)


def test_an_analyst_with_a_slack_costs_the_zcdp_of_the_outcomes() -> None:
    """2.12, where equation 3 of Durfee, Rogers is 2.53; l* delta + slack, where Theorem 2 has
    2 l* delta + slack. Planted bugs: delta without l*; without the slack."""
    total = TERMS.total_loss()
    assert TERMS.grant() == total
    assert f"{float(total.epsilon):.2f}" == "2.12"
    assert total.delta == 8 * Fraction(1, 10**8) + SLACK


def test_an_analyst_without_a_slack_is_composed_by_the_data_set() -> None:
    """Planted bug: rounds or deltas of one call for all."""
    grant = replace(TERMS, slack=Fraction(0)).grant()
    assert grant == BoundedRange(TENTH, 50, 8 * Fraction(1, 10**8), ADD_OR_REMOVE_ONE)


def test_ten_analysts_cost_far_less_than_ten_times_one() -> None:
    """The sums of their rho and of their deltas, under a cap for them: 7.34 by one zCDP, 21.2 by
    ten, 25.3 by ten of equation 3."""
    terms = replace(TERMS, slack=Fraction(0))
    budget = PrivacyFilter(epsilon=Fraction(8), delta=Fraction(1, 10**5), slack=SLACK)
    spent = RunningLoss()
    for _ in range(10):
        spent = budget.after(spent, terms.grant())
    total = budget.loss(spent, ADD_OR_REMOVE_ONE)
    assert f"{float(total.epsilon):.2f}" == "7.34"
    assert total.delta == 80 * Fraction(1, 10**8) + SLACK


# -- the theorem of docs/proofs/budget.md, and the best adversary ---------------------------------

PARTS = 4  # the log ratios of a round of epsilon are s / PARTS and (s - PARTS) / PARTS of it


def delta_of_the_best_adversary(part: float, rounds: int, added: int, cap: float) -> float:
    """The most that P(S) - exp(cap) P'(S) can be after adaptive rounds and one added loss.

    One mechanism of epsilon `added` * part, then `rounds` bounded-range ones of PARTS * part. Each
    has two outcomes; where in its range their log ratios lie is chosen anew each time, by all that
    came out before. Whose round it is, an analyst's or a release's, decides nothing else.
    """
    reach = PARTS * rounds + added
    values = np.maximum(0.0, -np.expm1(cap - part * np.arange(-reach, reach + 1)))
    for _ in range(rounds):
        n = len(values) - 2 * PARTS
        shapes = [
            mean(values[PARTS + s :][:n], values[s:][:n], s * part, (s - PARTS) * part)
            for s in range(1, PARTS)
        ]
        values = np.max(shapes, axis=0)
    return float(mean(values[-1], values[0], added * part, -added * part))


def mean(up: Floats, down: Floats, high: float, low: float) -> Floats:
    """Of two outcomes whose log ratios are high and low: exp(-log ratio) has the mean 1."""
    chance = float(np.expm1(-low) / (np.exp(-low) - np.exp(-high)))
    return chance * up + (1 - chance) * down


def rounds_let_through(budget: PrivacyFilter, epsilon: Fraction, added: Fraction) -> int:
    """Of two analysts and of releases, after a plain charge: as many as are not refused."""
    terms = PayWhatYouGet(k_star=800, l_star=800, epsilon=epsilon, delta=Fraction(1, 10**18))
    spent = budget.after(RunningLoss(), pure(added))
    rounds = 0
    for _ in ("ann", "bob"):
        spent = budget.after(spent, terms.grant())
        answered = AnalystUsage()
        for _ in range(terms.k_star // 5):  # each a stop at once, which is an outcome
            answered = terms.settle(terms.reserve(answered, 5), 5, 1)
            rounds += 1
        for _ in range((terms.k_star - answered.outputs) // 5):
            answered = terms.reserve(answered, 5)
            rounds += 5
    with suppress(BudgetExceeded):
        while True:
            spent = budget.after(spent, ranged(epsilon))
            rounds += 1
    return rounds


def test_no_adversary_passes_a_cap_and_the_best_reaches_95_percent_of_it() -> None:
    """Two analysts' sessions, releases and a plain charge; exact to floats.

    Planted bugs: rho = epsilon^2 / 9; grants that charge half of their outcomes; a stop for free.
    """
    slack, epsilon, added = Fraction(1, 10**12), Fraction(1, 20), Fraction(1)
    budget = PrivacyFilter(epsilon=Fraction(10), delta=Fraction(1, 10**9), slack=slack)
    rounds = rounds_let_through(budget, epsilon, added)
    part = float(epsilon) / PARTS
    reached = [
        delta_of_the_best_adversary(part, rounds, round(added / epsilon * PARTS), cap)
        for cap in (10, 9.5)
    ]
    assert reached[0] <= slack < reached[1]


def test_an_answer_costs_its_length_with_the_stop() -> None:
    """Planted bug: the stop symbol is free, so that an empty answer costs nothing."""
    reserved = TERMS.reserve(AnalystUsage(), 5)
    assert reserved == AnalystUsage(outputs=5, calls=1)
    empty, full = Selection([], stopped=True), Selection([1, 2, 3, 4, 5], stopped=False)
    assert TERMS.settle(reserved, 5, empty.outputs) == AnalystUsage(outputs=1, calls=1)
    assert TERMS.settle(reserved, 5, full.outputs) == reserved
    for outcomes in (0, 6, True, None):
        with pytest.raises(ParameterError, match="outputs"):
            TERMS.settle(reserved, 5, outcomes)


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), max_size=30))
def test_no_sequence_of_answers_passes_the_terms(asked: list[tuple[int, int]]) -> None:
    """Theorem 2 needs k_i <= what is left, before each call."""
    answered, outcomes, calls = AnalystUsage(), 0, 0
    for k, length in asked:
        if outcomes + k > TERMS.k_star or calls == TERMS.l_star:
            with pytest.raises(BudgetExceeded, match=r"outputs|questions"):
                TERMS.reserve(answered, k)
            continue
        answered = TERMS.settle(TERMS.reserve(answered, k), k, min(k, length))
        outcomes, calls = outcomes + min(k, length), calls + 1
    assert answered == AnalystUsage(outcomes, calls)
    assert outcomes <= TERMS.k_star
    assert calls <= TERMS.l_star


def test_the_loss_of_an_answer_is_that_of_the_mechanism() -> None:
    mechanism = LimitedDomain(
        k=5, kbar=20, epsilon=TENTH, delta=TERMS.delta, neighbors=ADD_OR_REMOVE_ONE
    )
    assert basic([TERMS.answer(5)]) == mechanism.privacy_loss()


@pytest.mark.parametrize(
    "arguments",
    [
        {"k_star": 0},
        {"l_star": 0},
        {"k_star": True},
        {"epsilon": Fraction(0)},
        {"delta": Fraction(0)},
        {"delta": Fraction(1, 8)},
        {"slack": Fraction(-1, 2)},
        {"neighbors": REPLACE_ONE},
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused(arguments: dict[str, object]) -> None:
    given_terms = dict(vars(TERMS)) | arguments
    with pytest.raises(ParameterError):
        PayWhatYouGet(**given_terms)


@pytest.mark.parametrize("k", [0, -1, True, 1.0])
def test_a_call_asks_for_a_number_of_symbols(k: int) -> None:
    with pytest.raises(ParameterError, match="k"):
        TERMS.reserve(AnalystUsage(), k)
