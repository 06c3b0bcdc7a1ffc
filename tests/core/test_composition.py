"""Rules of composition: figures of the papers, bounds from both sides, another library."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import product
from math import comb, exp, expm1

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from askew.dp.composition import (
    Loss,
    basic,
    best_order,
    concentrated_epsilon,
    epsilon_per_round,
    order_for,
    zcdp,
)
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
    PureDP,
)
from askew.errors import ParameterError

SLACK = Fraction(1, 10**9)
SEQUENCES = [
    (10, Fraction(1, 10)),
    (50, Fraction(1, 10)),
    (100, Fraction(1, 10)),
    (20, Fraction(1)),
]
rates = st.fractions(min_value=Fraction(1, 1000), max_value=4, max_denominator=1000)
slacks = st.integers(1, 40).map(lambda n: Fraction(1, 2**n))
rounds = st.integers(1, 300)


def selections(count: int, epsilon: Fraction, delta: Fraction = Fraction(0)) -> BoundedRange:
    return BoundedRange(epsilon, count, delta, ADD_OR_REMOVE_ONE)


def neighbors_of(delta: Fraction) -> ApproximateDP:
    return ApproximateDP(Fraction(1), delta, ADD_OR_REMOVE_ONE)


@pytest.mark.parametrize(
    ("sequence", "by_sum", "by_zcdp"),
    [
        (SEQUENCES[0], 1, "0.91"),
        (SEQUENCES[1], 5, "2.12"),
        (SEQUENCES[2], 10, "3.06"),
        (SEQUENCES[3], 20, "16.12"),
    ],
)
def test_the_rules_give_the_known_figures(
    sequence: tuple[int, Fraction], by_sum: int, by_zcdp: str
) -> None:
    """k exponential mechanisms of one epsilon at delta' = 1e-9.

    Planted bugs: rho = epsilon^2 / 2, slack for 1/slack.
    """
    charge = selections(*sequence)
    assert basic([charge]).epsilon == by_sum
    assert f"{float(zcdp([charge], SLACK).epsilon):.2f}" == by_zcdp


def test_basic_composition_is_an_exact_sum() -> None:
    losses: list[Loss] = [
        PureDP(Fraction(1, 3), ADD_OR_REMOVE_ONE),
        ApproximateDP(Fraction(1, 7), Fraction(1, 11), ADD_OR_REMOVE_ONE),
        selections(5, Fraction(1, 13), Fraction(1, 17)),
    ]
    expected = ApproximateDP(
        Fraction(1, 3) + Fraction(1, 7) + Fraction(5, 13),
        Fraction(1, 11) + Fraction(1, 17),
        ADD_OR_REMOVE_ONE,
    )
    assert expected == basic(losses)


def test_deltas_count_once_by_zcdp() -> None:
    """The proof in `BoundedRange`; the paper's Theorem 2 counts them twice."""
    charges = [selections(2, Fraction(1), Fraction(1, 100)), selections(3, Fraction(1, 2))]
    assert zcdp(charges, SLACK).delta == Fraction(1, 100) + SLACK


def test_a_delta_costs_no_epsilon_by_zcdp() -> None:
    """The proof in `BoundedRange`: the rounds have the range of epsilon where nothing is lost."""
    total = zcdp([selections(100, Fraction(1, 10), Fraction(1, 100))], SLACK)
    assert total.epsilon == concentrated_epsilon(Fraction(1, 8), SLACK)


@given(k=rounds, epsilon=rates, slack=slacks)
def test_rounds_get_all_that_their_total_allows_and_no_more(
    k: int, epsilon: Fraction, slack: Fraction
) -> None:
    """One step more, a 2**-40th of the share by the sum, would be above the total.

    Planted bugs: the looser conversion rho + 2 sqrt(rho ln(1/slack)); rounding up.
    """
    each = epsilon_per_round(epsilon, k, slack)
    assert zcdp([selections(k, each)], slack).epsilon <= epsilon
    more = each + epsilon / k / 2**40
    assert more > epsilon / k
    assert concentrated_epsilon(k * more**2 / 8, slack) > epsilon


def test_without_a_slack_rounds_share_the_sum() -> None:
    assert epsilon_per_round(Fraction(1), 3, Fraction(0)) == Fraction(1, 3)


@given(rho=rates, slack=slacks, order=st.fractions(Fraction(11, 10), 60, max_denominator=100))
def test_the_conversion_is_rounded_up_by_no_more_than_it_says(
    rho: Fraction, slack: Fraction, order: Fraction
) -> None:
    getcontext().prec = 60
    r, s, a = (Decimal(f.numerator) / f.denominator for f in (rho, slack, order))
    formula = max(Decimal(0), r * a - (a * s).ln() / (a - 1) + (1 - 1 / a).ln())
    value = concentrated_epsilon(rho, slack, order)
    assert 0 <= Decimal(value.numerator) / value.denominator - formula <= Decimal(2) ** -39


@given(rho=rates, slack=slacks, other=st.fractions(Fraction(11, 10), 60, max_denominator=100))
def test_no_order_beats_the_best_one(rho: Fraction, slack: Fraction, other: Fraction) -> None:
    best = concentrated_epsilon(rho, slack)
    assert best <= concentrated_epsilon(rho, slack, other) + Fraction(1, 10**9)


@pytest.mark.parametrize(("k", "epsilon"), SEQUENCES)
def test_the_order_of_a_cap_is_the_best_order_of_what_fits_under_it(
    k: int, epsilon: Fraction
) -> None:
    rho = k * epsilon**2 / 8
    cap = concentrated_epsilon(rho, SLACK)
    assert order_for(cap, SLACK) == pytest.approx(best_order(float(rho), SLACK), rel=1e-4)


def hockey_stick(k: int, epsilon: float, low: float, total: float) -> float:
    """delta at `total` of k rounds of two outcomes with log ratios low and low + epsilon.

    The extreme bounded-range mechanism: P(high) = p on D and q on D', ln(p/q) = low + epsilon and
    ln((1-p)/(1-q)) = low, for low in (-epsilon, 0).
    """
    q = -expm1(low) / (exp(low + epsilon) - exp(low))
    p = q * exp(low + epsilon)
    return sum(
        comb(k, j) * p**j * (1 - p) ** (k - j) * max(0.0, -expm1(total - k * low - j * epsilon))
        for j in range(k + 1)
    )


@pytest.mark.parametrize(
    ("sequence", "part"), [*product(SEQUENCES, [0.1, 0.3, 0.5, 0.7, 0.9])], ids=str
)
def test_the_worst_bounded_range_mechanisms_keep_to_the_bounds(
    sequence: tuple[int, Fraction], part: float
) -> None:
    """Exact to floats. Planted bug: rho = epsilon^2 / 16 (see the next test)."""
    k, epsilon = sequence
    total = float(zcdp([selections(k, epsilon)], SLACK).epsilon)
    assert hockey_stick(k, float(epsilon), -part * float(epsilon), total) <= SLACK


def test_a_smaller_rho_would_promise_too_much() -> None:
    """The test above has power: with half the rho, the bound is broken."""
    total = float(concentrated_epsilon(100 * Fraction(1, 100) / 16, SLACK))
    assert hockey_stick(100, 0.1, -0.05, total) > 10 * SLACK


def test_a_mechanism_that_is_not_bounded_range_breaks_the_bound() -> None:
    """Why permute-and-flip and Laplace noise are charged by their sum: log ratios of +-epsilon."""
    total = float(zcdp([selections(100, Fraction(1, 10))], SLACK).epsilon)
    assert hockey_stick(100, 0.2, -0.1, total) > 100 * SLACK


def added_one_by_one(accountant: object, event: dp_accounting.DpEvent, times: int) -> float:
    """Never a count above one: one accountant has dropped it for some events."""
    assert isinstance(accountant, dp_accounting.PrivacyAccountant)
    for _ in range(times):
        accountant.compose(event)
    return float(accountant.get_epsilon(float(SLACK)))


@pytest.mark.parametrize(("k", "epsilon"), SEQUENCES)
def test_zcdp_agrees_with_another_library(k: int, epsilon: Fraction) -> None:
    """Its orders are a grid, so its bound is a little higher."""
    event = dp_accounting.ZCDpEvent(rho=float(epsilon**2 / 8))
    theirs = added_one_by_one(RdpAccountant(), event, k)
    ours = float(concentrated_epsilon(k * epsilon**2 / 8, SLACK))
    assert theirs * 0.99 <= ours <= theirs + 1e-9


@pytest.mark.parametrize(("k", "epsilon"), [(5, Fraction(1, 10)), (10, Fraction(1, 2))])
def test_basic_composition_is_never_below_another_library(k: int, epsilon: Fraction) -> None:
    """Randomized response, the worst pure mechanism, composed by its whole loss distribution."""
    p = 2 / (exp(float(epsilon)) + 1)  # the chance of a fair coin instead of the truth
    event = dp_accounting.RandomizedResponseDpEvent(p, 2)
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE  # of one answer
    accountant = PLDAccountant(neighboring_relation=relation)
    theirs = added_one_by_one(accountant, event, k)
    ours = basic([PureDP(epsilon, ADD_OR_REMOVE_ONE)] * k).epsilon
    assert theirs * 0.99 <= ours
    assert theirs >= float(ours) * 0.5  # it did add them all


@given(st.lists(st.tuples(rounds, rates), min_size=2, max_size=5), slacks)
def test_unequal_epsilons_cost_at_least_their_least_and_at_most_the_sum(
    parts: list[tuple[int, Fraction]], slack: Fraction
) -> None:
    """Planted bug: the rho of the lowest epsilon for all."""
    charges = [selections(k, epsilon) for k, epsilon in parts]
    lowest = min(epsilon for _, epsilon in parts)
    total = sum(k for k, _ in parts)
    least = zcdp([selections(total, lowest)], slack).epsilon
    assert least <= zcdp(charges, slack).epsilon <= basic(charges).epsilon


@pytest.mark.parametrize(
    "losses",
    [
        [],
        [PureDP(Fraction(1), ADD_OR_REMOVE_ONE), PureDP(Fraction(1), REPLACE_ONE)],
        [PureDP(Fraction(0), ADD_OR_REMOVE_ONE)],
        [PureDP(Fraction(-1), ADD_OR_REMOVE_ONE)],
        [PureDP(0.1, ADD_OR_REMOVE_ONE)],  # type: ignore[arg-type]
        [PureDP(Fraction(2**32), ADD_OR_REMOVE_ONE)],
        [PureDP(Fraction(1, 2**257), ADD_OR_REMOVE_ONE)],
        [neighbors_of(Fraction(-1, 2))],
        [neighbors_of(Fraction(1))],
        [selections(0, Fraction(1))],
        [selections(True, Fraction(1))],
        [selections(2**32, Fraction(1))],
    ],
    ids=str,
)
def test_losses_that_make_no_sense_are_refused(losses: list[PureDP]) -> None:
    with pytest.raises(ParameterError):
        basic(losses)


@pytest.mark.parametrize("slack", [0, 1, Fraction(-1, 2), 1e-9, Fraction(1, 2**300)])
def test_a_slack_that_is_no_probability_is_refused(slack: Fraction) -> None:
    with pytest.raises(ParameterError, match="slack"):
        zcdp([selections(1, Fraction(1))], slack)


def test_a_relation_is_carried_along() -> None:
    assert basic([PureDP(Fraction(1), REPLACE_ONE)]).neighbors is NeighboringRelation.REPLACE_ONE
