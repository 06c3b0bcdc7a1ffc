"""How losses add up, which way they are rounded, and the filter that refuses beyond a cap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from math import comb, exp, expm1
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.dp.analyst import AnalystUsage, PayWhatYouGet
from askew.dp.composition import (
    Loss,
    PrivacyFilter,
    RunningLoss,
    basic,
    concentrated_epsilon,
    epsilon_per_round,
    rho_for,
    zcdp,
)
from askew.dp.intervals import exp_minus, log_ratio
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, ApproximateDP, BoundedRange, PureDP
from askew.errors import BudgetExceeded, ParameterError
from askew.mechanisms.limited_domain import Selection

SLACK = Fraction(1, 10**9)
NO_SLACKS: list[Any] = [0, 1, 1e-9, Fraction(1, 2**300)]
SEQUENCES = [(10, Fraction(1, 10)), (50, Fraction(1, 10)), (20, Fraction(1))]
rates = st.fractions(min_value=Fraction(1, 1000), max_value=4, max_denominator=1000)
slacks = st.integers(1, 40).map(lambda n: Fraction(1, 2**n))
ONE = ADD_OR_REMOVE_ONE
TENTH = Fraction(1, 10)


def ranged(count: int, epsilon: Fraction, delta: Fraction = Fraction(0)) -> BoundedRange:
    return BoundedRange(epsilon, count, delta, ONE)


def pure(epsilon: Fraction | int) -> PureDP:
    return PureDP(Fraction(epsilon), ONE)


@pytest.mark.parametrize(
    ("sequence", "by_sum", "by_zcdp"),
    [*zip(SEQUENCES, (1, 5, 20), ("0.91", "2.12", "16.12"), strict=True)],
)
def test_the_rules_give_the_known_figures(
    sequence: tuple[int, Fraction], by_sum: int, by_zcdp: str
) -> None:
    """k exponential mechanisms of one epsilon at delta' = 1e-9.

    Planted bugs: rho = epsilon^2 / 2, slack for 1/slack.
    """
    charge = ranged(*sequence)
    assert basic([charge]).epsilon == by_sum
    assert f"{float(zcdp([charge], SLACK).epsilon):.2f}" == by_zcdp


def test_basic_composition_is_an_exact_sum() -> None:
    losses: list[Loss] = [
        pure(Fraction(1, 3)),
        ApproximateDP(Fraction(1, 7), Fraction(1, 11), ONE),
        ranged(5, Fraction(1, 13), Fraction(1, 17)),
    ]
    epsilon = Fraction(1, 3) + Fraction(1, 7) + Fraction(5, 13)
    assert basic(losses) == ApproximateDP(epsilon, Fraction(1, 11) + Fraction(1, 17), ONE)


def test_deltas_count_once_by_zcdp() -> None:
    """The proof in `BoundedRange`; the paper's Theorem 2 counts them twice."""
    charges = [ranged(2, Fraction(1), Fraction(1, 100)), ranged(3, Fraction(1, 2))]
    assert zcdp(charges, SLACK).delta == Fraction(1, 100) + SLACK


@given(k=st.integers(1, 300), epsilon=rates, slack=slacks)
def test_rounds_get_all_that_their_total_allows_and_no_more(
    k: int, epsilon: Fraction, slack: Fraction
) -> None:
    """One step more, a 2**-40th of the share by the sum, would be above the total.

    Planted bugs: the looser conversion rho + 2 sqrt(rho ln(1/slack)); rounding up.
    """
    share = epsilon_per_round(epsilon, k, slack)
    assert zcdp([ranged(k, share)], slack).epsilon <= epsilon
    more = share + epsilon / k / 2**40
    assert more > epsilon / k
    assert concentrated_epsilon(k * more**2 / 8, slack) > epsilon
    assert epsilon_per_round(1, k, Fraction(0)) == Fraction(1, k)  # and no float of it


@given(epsilon=rates, delta=slacks)
def test_a_rho_is_the_largest_that_converts_to_its_epsilon(
    epsilon: Fraction, delta: Fraction
) -> None:
    """Planted bugs: epsilon^2 / 8, which a bounded range has and Gaussian noise has not; rounding
    up.
    """
    rho = rho_for(epsilon, delta)
    assert concentrated_epsilon(rho, delta) <= epsilon
    assert concentrated_epsilon(rho + Fraction(1, 2**60), delta) > epsilon


@given(rho=rates, slack=slacks, order=st.fractions(Fraction(11, 10), 60, max_denominator=100))
def test_the_conversion_is_rounded_up_by_no_more_than_it_says(
    rho: Fraction, slack: Fraction, order: Fraction
) -> None:
    getcontext().prec = 60
    r, s, a = (Decimal(f.numerator) / f.denominator for f in (rho, slack, order))
    formula = max(Decimal(0), r * a - (a * s).ln() / (a - 1) + (1 - 1 / a).ln())
    value = concentrated_epsilon(rho, slack, order)
    assert 0 <= Decimal(value.numerator) / value.denominator - formula <= Decimal(2) ** -39


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


@pytest.mark.parametrize(("sequence", "part"), [*product(SEQUENCES, [0.1, 0.5, 0.9])], ids=str)
def test_the_worst_bounded_range_mechanisms_keep_to_the_bounds(
    sequence: tuple[int, Fraction], part: float
) -> None:
    """Exact to floats. Planted bug: rho = epsilon^2 / 16 (see the next test)."""
    k, epsilon = sequence
    total = float(zcdp([ranged(k, epsilon)], SLACK).epsilon)
    assert hockey_stick(k, float(epsilon), -part * float(epsilon), total) <= SLACK


NO_LOSSES: list[Any] = [
    [],
    [pure(1), PureDP(Fraction(1), REPLACE_ONE)],
    [PureDP(0.1, ONE)],  # type: ignore[arg-type]
    *([pure(epsilon)] for epsilon in (0, 2**32, Fraction(1, 2**257))),
    *([ApproximateDP(Fraction(1), delta, ONE)] for delta in (Fraction(-1, 2), Fraction(1))),
    *([ranged(rounds, Fraction(1))] for rounds in (0, True, 2**32)),
]


@pytest.mark.parametrize("losses", NO_LOSSES, ids=str)
def test_losses_that_make_no_sense_are_refused(losses: list[Loss]) -> None:
    with pytest.raises(ParameterError):
        basic(losses)


UNIT = Decimal(2) ** -40  # to which the rules of composition round up
FINE = 2**240
PRECISIONS = [64, 128, 300]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with localcontext(prec=400):
        yield


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def just_above_a_unit(formula: Callable[[Decimal], Decimal], near: Fraction) -> Fraction:
    """The argument after `near`, in steps of 1 / FINE, whose value first passes a unit."""
    edge = (formula(decimal(near)) / UNIT).to_integral_value(rounding="ROUND_CEILING") * UNIT
    low, high = int(near * FINE), int(near * FINE * 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if formula(Decimal(middle) / FINE) > edge else (middle, high)
    return Fraction(high, FINE)


def require_next_unit(value: Fraction, true: Decimal) -> None:
    """The true value is less than 2**-190 above a unit, so it is rounded up to the next one."""
    assert true % UNIT < Decimal(2) ** -190
    assert decimal(value) == (true // UNIT + 1) * UNIT


@pytest.mark.parametrize("order", [Fraction(65, 64), Fraction(3, 2), Fraction(100)])
@pytest.mark.parametrize("slack", [Fraction(1, 10**9), Fraction(1, 3 * 10**7)])
def test_the_conversion_is_rounded_up_by_the_last_bit(order: Fraction, slack: Fraction) -> None:
    """Planted bugs: either logarithm rounded down at 2**-128."""
    a = decimal(order)
    tail = -(a * decimal(slack)).ln() / (a - 1) + (1 - 1 / a).ln()

    def formula(rho: Decimal) -> Decimal:
        return rho * a + tail

    rho = just_above_a_unit(formula, Fraction(1, 3))
    require_next_unit(concentrated_epsilon(rho, slack, order), formula(decimal(rho)))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 7, 65537])
def test_exp_is_enclosed_beside_an_integer(precision: int, step: int, n: int) -> None:
    """exp(-x) 2**precision is n and less than n 2**-precision more, or less. Planted bugs: a bound
    that is the nearest integer.
    """
    x = int((Decimal(2**precision) / n).ln() * 2**precision) + step
    low, high = exp_minus(x, precision)
    true = (-Decimal(x) / 2**precision).exp() * 2**precision
    assert abs(true - n) <= Decimal(n) / 2**precision
    assert low <= true <= high
    assert high - low <= 4


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("n", [-(2**60) - 1, -1, 1, 3, 2**63 + 5])
def test_log_is_enclosed_beside_an_integer(precision: int, step: int, n: int) -> None:
    """ln(ratio) 2**precision is just below or above n."""
    scale = 2 ** (3 * precision)
    numerator = int((Decimal(n) / 2**precision).exp() * scale) + step
    low, high = log_ratio(numerator, scale, precision)
    true = (Decimal(numerator) / scale).ln() * 2**precision
    assert abs(true - n) < Decimal(2) ** -precision
    assert low <= true <= high
    assert high - low <= 4


Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
small = st.fractions(Fraction(1, 100), 2, max_denominator=100)
tiny = st.integers(20, 40).map(lambda n: Fraction(1, 2**n))
losses = st.one_of(
    st.builds(pure, small),
    st.builds(ApproximateDP, small, tiny, st.just(ONE)),
    st.builds(ranged, st.integers(1, 30), small, tiny),
)


def test_a_budget_is_spent_to_the_last_and_not_beyond() -> None:
    """Exact: ten tenths are one. Planted bugs: floats; >= for >."""
    budget, spent = PrivacyFilter(epsilon=Fraction(1)), RunningLoss()
    for _ in range(10):
        spent = budget.after(spent, pure(TENTH))
    with pytest.raises(BudgetExceeded):
        budget.after(spent, pure(TENTH))


def test_a_refusal_says_what_was_asked_spent_and_allowed() -> None:
    budget = PrivacyFilter(epsilon=Fraction(1), delta=Fraction(1, 1000))
    spent = budget.after(RunningLoss(), pure(Fraction(3, 4)))
    with pytest.raises(BudgetExceeded, match="epsilon") as refused:
        budget.after(spent, pure(Fraction(1, 2)))
    actual = (refused.value.requested, refused.value.spent, refused.value.cap)
    assert actual == (Fraction(1, 2), Fraction(3, 4), Fraction(1))
    with pytest.raises(BudgetExceeded, match="delta") as refused:
        budget.after(spent, ApproximateDP(TENTH, Fraction(1, 100), ONE))
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
    total = budget.loss(spent)
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
    steps = [budget.loss(RunningLoss(range_epsilon=Fraction(99), rho=Fraction(n, 800)))
             for n in (30, 50, 70)]  # fmt: skip
    first, second, third = (step.epsilon for step in steps)
    assert float(second - first) == pytest.approx(float(third - second), abs=1e-11)
    assert first > concentrated_epsilon(Fraction(30, 800), SLACK)


def test_a_filter_charges_the_deltas_and_the_slack_of_selections() -> None:
    budget = PrivacyFilter(epsilon=Fraction(9), delta=Fraction(1, 10), slack=SLACK)
    total = budget.loss(RunningLoss().plus(ranged(100, TENTH, Fraction(1, 100))))
    rho = 100 * TENTH**2 / 8
    assert total.epsilon == concentrated_epsilon(rho, SLACK, budget.order)
    assert total.delta == Fraction(1, 100) + SLACK


def test_a_filter_charges_the_slack_from_its_first_selection_on() -> None:
    """A single round costs least by the sum, and the filter may convert later. Planted bug: the
    slack only where the conversion is the lesser.
    """
    budget = PrivacyFilter(epsilon=Fraction(9), delta=Fraction(1, 10), slack=SLACK)
    total = budget.loss(RunningLoss().plus(ranged(1, TENTH)))
    assert (total.epsilon, total.delta) == (TENTH, SLACK)


def test_a_filter_refuses_a_loss_between_other_neighbors() -> None:
    """Planted bug: losses of two relations are added, and the sum is said to be of one."""
    for neighbors, other in permutations((ADD_OR_REMOVE_ONE, REPLACE_ONE)):
        budget = PrivacyFilter(epsilon=Fraction(9), neighbors=neighbors)
        spent = budget.after(RunningLoss(), PureDP(TENTH, neighbors))
        assert budget.loss(spent).neighbors is neighbors
        with pytest.raises(ParameterError, match=f"neighbors must be {neighbors.name}"):
            budget.after(spent, PureDP(TENTH, other))


@pytest.mark.parametrize(
    ("name", "convert"),
    [
        ("rho", lambda: concentrated_epsilon(Fraction(-1), SLACK)),
        ("rho", lambda: concentrated_epsilon(Fraction(10**400), SLACK)),
        ("rho", lambda: concentrated_epsilon(0.5, SLACK)),  # type: ignore[arg-type]
        ("slack", lambda: concentrated_epsilon(Fraction(1), Fraction(0))),
        ("slack", lambda: concentrated_epsilon(Fraction(1), Fraction(1))),
        ("order", lambda: concentrated_epsilon(Fraction(1), SLACK, Fraction(1))),
        ("order", lambda: concentrated_epsilon(Fraction(1), SLACK, Fraction(10**400))),
        ("epsilon", lambda: epsilon_per_round(Fraction(0), 3, SLACK)),
        ("epsilon", lambda: epsilon_per_round(Fraction(10**400), 3, SLACK)),
        ("rounds", lambda: epsilon_per_round(Fraction(1), 0, SLACK)),
        ("rounds", lambda: epsilon_per_round(Fraction(1), 10**400, SLACK)),
        ("slack", lambda: epsilon_per_round(Fraction(1), 3, Fraction(1))),
        ("epsilon", lambda: rho_for(Fraction(0), SLACK)),
        ("epsilon", lambda: rho_for(Fraction(1, 10**30), Fraction(1, 10**30))),
        *(("slack", partial(rho_for, Fraction(1), Fraction(slack))) for slack in (0, 1)),
        *(("slack", partial(zcdp, [ranged(1, Fraction(1))], slack)) for slack in NO_SLACKS),
    ],
)
def test_a_conversion_beyond_its_edges_is_refused(name: str, convert: Callable[[], object]) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        convert()


def test_a_budget_that_makes_no_sense_is_refused() -> None:
    changes: list[dict[str, Any]] = [
        {"epsilon": 0.5},
        {"delta": Fraction(1)},
        {"delta": Fraction(-1, 2)},
        {"delta": SLACK / 2, "slack": SLACK},
        {"order": Fraction(2)},
        {"delta": SLACK, "slack": SLACK, "order": Fraction(1)},
    ]
    for change in changes:
        with pytest.raises(ParameterError):
            PrivacyFilter(**{"epsilon": Fraction(1)} | change)


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
    assert grant == ranged(50, TENTH, 8 * Fraction(1, 10**8))


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
            spent = budget.after(spent, ranged(1, epsilon))
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


def test_terms_that_make_no_sense_are_refused() -> None:
    changes: dict[str, list[object]] = {
        "k_star": [0, True],
        "l_star": [0],
        "epsilon": [Fraction(0)],
        "delta": [Fraction(0), Fraction(1, 8)],
        "slack": [Fraction(-1, 2)],
        "neighbors": [REPLACE_ONE],
    }
    for name, values in changes.items():
        for value in values:
            with pytest.raises(ParameterError):
                PayWhatYouGet(**vars(TERMS) | {name: value})
