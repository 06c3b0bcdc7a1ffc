"""A plan is public, complete before any data are read, and allows only what its domain allows."""

from __future__ import annotations

from fractions import Fraction

import pytest
from server.release.conftest import COUNTS, MILLIONTH, MakePlan, delta_for

from askew.dp.composition import basic, delta_of, epsilon_of, rounds_of, zcdp
from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, BoundedRange
from askew.errors import ParameterError
from askew.mechanisms.kinds import KINDS
from askew.mechanisms.limited_domain import LimitedDomain
from askew.noise.randomness import SystemBits
from askew_server.counting import EventSource, TopCounts

KNOWN_ONLY = [name for name, kind in KINDS.items() if kind.needs_catalog]
ANY_DOMAIN = [name for name, kind in KINDS.items() if not kind.needs_catalog]


@pytest.mark.parametrize("mechanism", KNOWN_ONLY)
def test_an_unknown_domain_allows_no_mechanism_that_lists_items_because_they_occur(
    plan_of: MakePlan, mechanism: str
) -> None:
    """And the refusal says why. Nor do numbers that make no mechanism. Planted bug: no guard."""
    with pytest.raises(ParameterError, match="would show that this person is in the data"):
        plan_of(catalog=None, mechanism=mechanism, delta=delta_for(mechanism))
    for changes in ({"k": 10_001}, {"epsilon": 0.5}, {"mechanism": "histogram"}):
        with pytest.raises(ParameterError):
            plan_of(**changes)


@pytest.mark.parametrize("catalog", [None, "films.csv"])
@pytest.mark.parametrize("mechanism", ANY_DOMAIN)
def test_a_limited_domain_needs_no_catalog(
    plan_of: MakePlan, mechanism: str, catalog: str | None
) -> None:
    plan = plan_of(catalog=catalog, mechanism=mechanism, delta=MILLIONTH)
    assert plan.task.limit == (None if catalog else 1001)


@pytest.mark.parametrize("mechanism", list(KINDS))
def test_what_is_counted_of_a_person_is_what_the_mechanism_is_told(
    plan_of: MakePlan, mechanism: str
) -> None:
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), max_items_per_unit=7)
    assert plan.task.max_items_per_unit == 7
    if plan.kind.needs_bound:
        assert vars(plan.selector)["max_items_per_unit"] == 7


# (epsilon of a round, rounds) of epsilon 2 for three items; others are charged by addition.
ROUNDS = {
    "canonical": (2, 1),
    "joint": (2, 1),
    "peeling": (Fraction(2, 3), 3),
    "concentrated-peeling": (Fraction(2, 3), 3),
    "limited-domain": (Fraction(2, 3), 3),
}


@pytest.mark.parametrize("mechanism", KINDS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_a_data_set_that_composes_is_never_charged_more_than_was_asked(
    plan_of: MakePlan, mechanism: str, k: int
) -> None:
    """And never less than the mechanism loses. Planted bugs: rounds whose sum is above epsilon,
    charged as rounds; the rounds of peeling for permute-and-flip.
    """
    plan = plan_of(mechanism=mechanism, k=k, delta=delta_for(mechanism))
    ranged, charged = (plan.charge_request(ranged=ranged).loss for ranged in (True, False))
    assert epsilon_of(ranged) <= plan.asked.epsilon
    assert delta_of(ranged) <= plan.asked.delta
    if k == 3:
        rounds = (ranged.epsilon, ranged.rounds) if isinstance(ranged, BoundedRange) else None
        assert rounds == ROUNDS.get(mechanism)
    selector = plan.selector
    own = selector.privacy_loss()
    if isinstance(selector, LimitedDomain) and selector.delta < plan.asked.delta:
        own = zcdp([selector.ranged_loss()], plan.asked.delta - selector.delta)
    assert own.epsilon <= epsilon_of(charged) == 2
    assert delta_of(own) <= delta_of(charged) == delta_for(mechanism)


@pytest.mark.parametrize("k", [1, 2, 5, 9, 10, 20, 100, 1000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_rounds_cost_the_total_and_never_less_per_round_than_basic_composition(
    epsilon: Fraction, k: int
) -> None:
    """Exact rationals throughout; planted bug: the whole delta spent twice."""
    per_round, threshold = rounds_of(epsilon, MILLIONTH, k)
    assert per_round >= epsilon / k
    slack = MILLIONTH - threshold
    rounds = BoundedRange(per_round, k, threshold, ADD_OR_REMOVE_ONE)
    total = zcdp([rounds], slack) if slack else basic([rounds])
    assert total.epsilon <= epsilon
    assert total.delta <= MILLIONTH
    assert 0 < threshold <= MILLIONTH


@pytest.mark.parametrize("mechanism", KINDS)
def test_a_catalog_needs_k_items_unless_the_mechanism_may_stop_before(
    plan_of: MakePlan, mechanism: str
) -> None:
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), k=6)
    assert plan.least_items == (6 if mechanism in KNOWN_ONLY else 1)


CHANGES: list[dict[str, object]] = [
    {"k": 4},
    {"epsilon": Fraction(3)},
    {"mechanism": "joint"},
    {"mechanism": "limited-domain", "delta": MILLIONTH},
    {"mechanism": "limited-domain", "delta": MILLIONTH / 2},
    {"catalog": "other.csv"},
    {"source": EventSource(events="log.csv", catalog="films.csv", engine="duckdb:other")},
    {"max_items_per_unit": 11},
    {"max_items_per_unit": None},
    {"dataset": "books"},
    {"version": "2"},
    {"neighbors": REPLACE_ONE},
]


def test_any_public_difference_makes_another_request(plan_of: MakePlan) -> None:
    """And none of them the same: a request is its own key."""
    digests = [plan_of(**changes).charge_request().digest for changes in [{}, *CHANGES, {}]]
    assert len(set(digests)) == len(CHANGES) + 1
    assert digests[0] == digests[-1]


# At epsilon 2, gaps of 1,000 leave a chance of error below e^-300.


def test_a_set_is_listed_by_name_and_not_by_count(plan_of: MakePlan) -> None:
    """And a ranking best first."""
    release = plan_of(epsilon=Fraction(2)).select(COUNTS, charge=1, bits=SystemBits())
    assert (release.items, release.ranked) == (("b", "d", "e"), False)
    for mechanism in ("joint", "peeling", "permute-and-flip", "laplace-counts"):
        plan = plan_of(mechanism=mechanism, epsilon=Fraction(20))
        release = plan.select(COUNTS, charge=1, bits=SystemBits())
        assert (release.items, release.ranked) == (("d", "b", "e"), True)


@pytest.mark.parametrize("mechanism", ["canonical", "limited-domain"])
def test_an_item_of_any_name_can_win(plan_of: MakePlan, mechanism: str) -> None:
    counts = TopCounts(("a\nb\x1b", "", "x" * 600), (5000, 4000, 3000))
    plan = plan_of(mechanism=mechanism, delta=delta_for(mechanism), epsilon=Fraction(20))
    release = plan.select(counts, charge=1, bits=SystemBits())
    assert {*release.items} == {"a\\u{a}b\\u{1b}", "(no name)", "x" * 500}
