"""Exact audits: the law of every output on all small count vectors and all their neighbors.

For every mechanism in `audited.MECHANISMS`, under both neighboring relations, for k = 1 and 2, on
all of {0,1,2,3}^d: for d <= 4 the code's law is its definition's, for d <= 3 no neighbor's law is
farther than e^epsilon. Laws are exact to 1e-40 (logistic and half-logistic noise: to 1e-12); `make
audit` goes on to d = 5 and k = 3 (counts of at most 2). Planted bugs that these audits catch:
test_planted_bugs_of_selection_are_seen.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest
from guarantees.audited import MECHANISMS, exact_law
from guarantees.contests import on_the_tape
from guarantees.enumeration import (
    Counts,
    HasLaw,
    Law,
    law_of,
    sorted_vectors,
    with_one_more,
    with_one_replaced,
    worst_log_ratio,
)

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation
from askew.mechanisms import Joint, Lipschitz
from askew.mechanisms.parameters import tally_for
from askew.mechanisms.tally import tally
from askew.mechanisms.weights import Draws

EPSILON, ALMOST = 2, Decimal("1e-40")
BOTH = [ADD_OR_REMOVE_ONE, REPLACE_ONE]
NEIGHBORS: dict[NeighboringRelation, Callable[[Counts], Iterable[Counts]]]
NEIGHBORS = {ADD_OR_REMOVE_ONE: with_one_more, REPLACE_ONE: with_one_replaced}
# The others cannot be: half of a joint loss or of a clipped one is all that a unit can move, and
# the tails of Laplace and logistic noise are reached at wider gaps only.
TIGHT = sorted(
    name
    for name in MECHANISMS
    if "joint" not in name and "clipped" not in name and name[-7:] not in ("laplace", "ogistic")
)


@cache
def law_named(name: str, k: int, neighbors: NeighboringRelation, epsilon: int = EPSILON) -> HasLaw:
    return exact_law(MECHANISMS[name].build(k=k, epsilon=epsilon, neighbors=neighbors))


def differences(name: str, d: int, k: int, neighbors: NeighboringRelation) -> Fraction:
    """How far the code's law is from the definition's, over all vectors and outputs."""
    law = law_named(name, k, neighbors)
    definition = MECHANISMS[name].definition(k, Fraction(EPSILON), neighbors)
    worst = Fraction(0)
    for counts in sorted_vectors(d):
        here, there = law(counts), definition(counts)
        assert set(here) == set(there)
        worst = max(worst, *(abs(p - there[outcome]) for outcome, p in here.items()))
    return worst


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
@pytest.mark.parametrize("k", [1, 2])
def test_the_code_has_its_definitions_law_and_no_unit_moves_it_by_more_than_epsilon(
    name: str, neighbors: NeighboringRelation, k: int
) -> None:
    law = law_named(name, k, neighbors)
    for d in (2, 3):
        assert worst_log_ratio(law, d, NEIGHBORS[neighbors]) <= EPSILON + ALMOST
    for d in (2, 3, 4):
        assert differences(name, d, k, neighbors) <= ALMOST


@pytest.mark.audit
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_unit_among_four_or_five_items_moves_a_law_by_more_than_epsilon(
    name: str, neighbors: NeighboringRelation, k: int
) -> None:
    law = law_named(name, k, neighbors)
    assert differences(name, 5, k, neighbors) <= ALMOST
    highest = 3 if k < 3 else 2
    for d in (4, 5):
        assert worst_log_ratio(law, d, NEIGHBORS[neighbors], highest) <= EPSILON + ALMOST


@pytest.mark.parametrize("name", TIGHT)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
def test_the_bound_is_reached_where_the_mechanism_is_tight(
    name: str, neighbors: NeighboringRelation
) -> None:
    """At a larger epsilon, where gaps weigh more, the worst pair comes within 1 % of the bound."""
    law = law_named(name, 2, neighbors, epsilon=6)
    worst = worst_log_ratio(law, 3, NEIGHBORS[neighbors])
    assert Decimal("0.99") * 6 <= worst <= 6 + ALMOST


@pytest.mark.parametrize("name", ["joint", "pnf joint"])
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
def test_a_joint_choice_of_one_item_reaches_the_bound(
    name: str, neighbors: NeighboringRelation
) -> None:
    """Its loss is a count and a shift. Planted bug: the rate of longer sequences, half of it."""
    law = law_named(name, 1, neighbors, epsilon=6)
    worst = worst_log_ratio(law, 3, NEIGHBORS[neighbors])
    assert Decimal("0.99") * 6 <= worst <= 6 + ALMOST


@pytest.mark.parametrize(
    ("stated", "monotone", "moves", "keeps"),
    [(2, None, (-2, 2), True), (1, None, (-2, 2), False), (1, True, (-1, 1), True)],
)
def test_the_sensitivity_of_scores_is_that_of_a_replacement(
    stated: int, monotone: bool | None, moves: tuple[int, ...], keeps: bool
) -> None:
    """A unit that comes moves a score by 1: one that takes another's place by up to 2 where it may
    move both ways, and by no more than 1 where coming moves no score down.
    """
    mechanism = Lipschitz(
        epsilon=EPSILON, neighbors=REPLACE_ONE, linf_sensitivity=stated, monotone=monotone
    )

    def law(scores: Counts) -> Law:
        return law_of(partial(mechanism.draw, tally_for(mechanism, scores)))

    here = law((20, 20, 20))
    ratios = []
    for change in product((*moves, 0), repeat=3):
        there = law(tuple(20 + step for step in change))
        ratios += [max(p / there[o], there[o] / p) for o, p in here.items()]
    worst = max(ratios)
    loss = (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()
    assert (loss <= EPSILON + Decimal("1e-20")) == keeps


@pytest.mark.parametrize("name", MECHANISMS)
def test_probabilities_add_to_one_and_no_item_is_repeated(name: str) -> None:
    law = law_named(name, 2, ADD_OR_REMOVE_ONE)((3, 1, 1, 0))
    assert float(sum(law.values()) - 1) == pytest.approx(0, abs=1e-12)
    assert all(len(set(outcome)) == 2 for outcome in law)


@pytest.mark.parametrize("name", MECHANISMS)
def test_renaming_the_items_renames_the_outputs(name: str) -> None:
    """What lets the audits enumerate sorted vectors only."""
    mechanism = MECHANISMS[name].build(k=2, epsilon=EPSILON, neighbors=ADD_OR_REMOVE_ONE)
    for counts in ((0, 2, 1, 2), (1, 0, 3, 1)):
        with on_the_tape():
            direct = law_of(partial(mechanism.draw, tally(counts, 2)))
        assert direct == pytest.approx(dict(exact_law(mechanism)(counts)), abs=1e-30)


def test_a_draw_is_made_of_exact_choices_only() -> None:
    """A mechanism that read bits of its own would exhaust the tape's empty source."""
    mechanism = Joint(k=2, epsilon=1, neighbors=ADD_OR_REMOVE_ONE)

    def run(draws: Draws) -> tuple[int, ...]:
        return mechanism.draw(tally((2, 1, 0), 2), draws)

    assert sum(law_of(run).values()) == 1
