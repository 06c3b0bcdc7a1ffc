"""`askew.top_k` has the law of the mechanism that it names, at the loss that it says.

Exactly, on all of {0,1,2}^3 and all neighbors, as a person has counts: names that nobody chose are
not there. Who is there must not be seen in which names can be selected, in their order or in an
error.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from guarantees.audit.contests import law_of_selecting
from guarantees.audit.enumeration import Counts, Law, lost
from mechanisms.streams import ShakeBits

import askew
from askew import mechanisms
from askew.dp.composition import basic, rounds_of, zcdp
from askew.dp.privacy import (
    ADD_OR_REMOVE_ONE,
    REPLACE_ONE,
    ApproximateDP,
    BoundedRange,
    NeighboringRelation,
)
from askew.mechanisms import LimitedDomain
from askew.mechanisms.noisy_counts import NoisyCounts
from askew.mechanisms.top_k import TopKPlan

MENU = ["a", "b", "c"]
EPSILON, DELTA = Fraction(2), Fraction(1, 20)
ROUNDING = 1e-12  # of sums of floats
BOTH = [ADD_OR_REMOVE_ONE, REPLACE_ONE]
Asked = dict[str, Any]

KNOWN: list[Asked] = [
    {"k": 1},
    {"k": 2},
    {"k": 2, "ordered": True},
    {"k": 2, "mechanism": "Peeling"},
    {"k": 2, "mechanism": "OneShot"},
    {"k": 2, "mechanism": "PNFJoint", "ordered": True},
    {"k": 2, "mechanism": "ConcentratedPeeling", "ordered": True, "delta": DELTA},
    {"k": 2, "mechanism": "LaplaceCounts", "max_items_per_person": 2, "ordered": True},
]
UNKNOWN: list[Asked] = [
    {"k": 1, "delta": DELTA, "unknown": True},
    {"k": 2, "delta": DELTA, "unknown": True, "ordered": True, "max_items_per_person": 3},
    {"k": 2, "delta": DELTA, "unknown": True, "max_items_per_person": 1},
    {"k": 2, "delta": DELTA, "unknown": True},
]


def as_people_have_them(counts: Counts) -> dict[str, int]:
    """Without the names that nobody chose."""
    return {name: n for name, n in zip(MENU, counts, strict=True) if n}


def called(counts: Any, asked: Asked, **more: Any) -> Any:
    """A call by public names, unless those of the data are asked for."""
    public: Asked = {} if asked.get("unknown") else {"items": MENU}
    return askew.top_k(counts, **{"epsilon": EPSILON, **public, **asked, **more})


def law_of_top_k(counts: dict[str, int], asked: Asked) -> Law:
    """Of all that is released: the names by their places in the menu, and -1 for the stop."""

    def run(tape: Any) -> tuple[int, ...]:
        found = called(counts, asked, bits=tape)
        return (*map(MENU.index, found.items), *[-1] * found.stopped)

    return law_of_selecting(run)


def law_of_the_mechanism(counts: Counts, asked: Asked, relation: NeighboringRelation) -> Law:
    """Of the mechanism that it names, built here by hand; a set where no order is asked."""
    known = as_people_have_them((1, 1, 1) if not asked.get("unknown") else counts)
    ids = [MENU.index(name) for name in known]
    made: Asked = {"k": asked["k"], "epsilon": EPSILON, "neighbors": relation}
    name = called({}, asked, neighbors=relation).mechanism
    if name in ("ConcentratedPeeling", "LimitedDomain", "LaplaceLimitedDomain"):
        made["delta"] = DELTA
    if name in ("LimitedDomain", "LaplaceLimitedDomain"):
        made["kbar"] = 1000
    if name in ("LaplaceCounts", "LimitedDomain", "LaplaceLimitedDomain"):
        made["max_items_per_unit"] = asked.get("max_items_per_person")
    if name == "LimitedDomain":
        made["epsilon"], made["delta"] = rounds_of(EPSILON, DELTA, asked["k"])
    mechanism = getattr(mechanisms, name)(**made)

    def run(tape: Any) -> tuple[int, ...]:
        chosen = mechanism.select([counts[i] for i in ids], bits=tape)
        places = [ids[i] for i in chosen]
        end = [-1] * getattr(chosen, "stopped", False)
        return (*(places if asked.get("ordered") else sorted(places)), *end)

    return law_of_selecting(run)


@pytest.mark.parametrize("case", range(len(KNOWN + UNKNOWN)))
def test_one_line_has_the_law_of_the_mechanism_that_it_names(case: int) -> None:
    """Planted bugs: a set in the order of its draw; epsilon of all rounds for one."""
    asked = [*KNOWN, *UNKNOWN][case]
    for counts in [(0, 0, 0), (2, 1, 0), (1, 1, 2), (0, 2, 2)]:
        found = law_of_top_k(as_people_have_them(counts), asked)
        assert found == pytest.approx(law_of_the_mechanism(counts, asked, ADD_OR_REMOVE_ONE))


def lost_by(asked: Asked, relation: NeighboringRelation) -> tuple[float, float]:
    """What a call says that it loses, delta or else epsilon, and what it does lose of that."""
    asked = {**asked, "neighbors": relation}
    loss = called({}, asked).privacy_loss()
    law = cache(lambda counts: law_of_top_k(as_people_have_them(counts), asked))
    return lost(law, loss, asked.get("max_items_per_person", len(MENU)))


@pytest.mark.thin
@pytest.mark.parametrize("relation", BOTH, ids=lambda relation: relation.name)
@pytest.mark.parametrize("case", range(len(KNOWN)))
def test_a_call_with_public_names_costs_no_more_than_it_says(
    case: int, relation: NeighboringRelation, record_property: Callable[[str, object], None]
) -> None:
    """Planted bug: under items= only the names of the data can be selected."""
    claimed, found = lost_by(KNOWN[case], relation)
    record_property("mechanism", "top_k")
    record_property("claimed", claimed)
    record_property("exact", found)
    assert found <= claimed + ROUNDING


@pytest.mark.parametrize("case", range(len(UNKNOWN)))
def test_a_call_with_the_names_of_the_data_costs_no_more_than_it_says(case: int) -> None:
    """Planted bug: epsilon of the call is that of a round."""
    claimed, found = lost_by(UNKNOWN[case], ADD_OR_REMOVE_ONE)
    assert found <= claimed + ROUNDING


@pytest.mark.parametrize("asked", [KNOWN[1], KNOWN[2], UNKNOWN[1]], ids=str)
def test_the_order_of_the_input_says_nothing(asked: Asked) -> None:
    """Not by a tie, not by the order of the result, not by who is drawn from which bits. Planted
    bug: names stay in the order in which they came.
    """
    laws, drawn = [], []
    for order in permutations([("a", 4), ("b", 5), ("c", 5)]):
        laws.append(law_of_top_k(dict(order), asked))
        public: Asked = {} if asked.get("unknown") else {"items": [name for name, _ in order]}
        bits = map(ShakeBits, "12345678")
        drawn.append([called(order, asked, bits=tape, **public) for tape in bits])
        assert asked.get("ordered") or all(each.items == sorted(each.items) for each in drawn[-1])
    assert all(law == laws[0] for law in laws)
    assert all(each == drawn[0] for each in drawn)
    assert len({tuple(each.items) for each in drawn[0]}) > 1


@pytest.mark.parametrize("asked", [{"k": 2}, {"k": 2, "ordered": True, "with_counts": True}])
@pytest.mark.parametrize("name", ["z", "", 0, None, float("nan"), ("a", 1), b"a"], ids=repr)
def test_a_name_of_one_person_never_decides_under_public_names(name: object, asked: Asked) -> None:
    """Same bits, same result, whatever the name is; no error tells that it is there. Planted bugs:
    a name that is not public is selected; it is refused.
    """
    several: list[dict[object, int]] = [{"a": 3, "b": 2}, {"b": 1, "c": 1}, {}]
    for counts in several:
        there = {**counts, name: 1}
        for seed in "123":
            beside, without = (
                called(data, asked, epsilon=0.1, bits=ShakeBits(seed)) for data in (there, counts)
            )
            assert beside == without


@pytest.mark.parametrize("k", [1, 5, 300])
@pytest.mark.parametrize("with_counts", [False, 0.25])
@pytest.mark.parametrize("most", [None, 1, 40])
def test_rounds_and_counts_cost_the_total_together(
    k: int, with_counts: bool | float, most: int | None
) -> None:
    """Of a limited domain, whose epsilon is per round. Planted bugs: epsilon of the call for each
    round; delta spent by both parts.
    """
    plan = TopKPlan(
        n_names=None,
        k=k,
        epsilon=Fraction(1),
        delta=Fraction(1, 10**6),
        ordered=True,
        neighbors=ADD_OR_REMOVE_ONE,
        max_items_per_person=most,
        mechanism_name=None,
        share=Fraction(with_counts),
    )
    left = 1 - Fraction(with_counts)
    assert plan.items_loss.epsilon == left
    if isinstance(plan.mechanism, LimitedDomain):
        rounds = plan.mechanism.ranged_loss()
        assert isinstance(rounds, BoundedRange)
        assert rounds.rounds == k
        slack = plan.items_loss.delta - rounds.delta
        spent = zcdp([rounds], slack) if slack else basic([rounds])
        assert spent.epsilon <= left
        assert spent.delta <= plan.items_loss.delta
    else:
        assert plan.mechanism.privacy_loss() == plan.items_loss
    noise = plan.parts[2]
    if noise is None:
        assert plan.items_loss.delta == Fraction(1, 10**6)
        return
    assert plan.counts_loss == basic([noise.privacy_loss()])
    total = basic([plan.items_loss, plan.counts_loss])
    assert total == ApproximateDP(Fraction(1), Fraction(1, 10**6), ADD_OR_REMOVE_ONE)


@pytest.mark.parametrize("relation", BOTH, ids=lambda relation: relation.name)
@pytest.mark.parametrize("ordered", [False, True])
def test_counts_are_those_of_the_selected_names_with_noise_of_their_own_share(
    relation: NeighboringRelation, ordered: bool
) -> None:
    """By the same bits, drawn behind the names. Planted bugs: counts without noise; noise for all
    of epsilon, beside names for all of it; the counts of other names.
    """
    counts = {"a": 300, "b": 2, "c": 500}
    asked: Asked = {"k": 2, "epsilon": Fraction(1, 50), "ordered": ordered, "neighbors": relation}
    asked |= {"max_items_per_person": 1, "with_counts": Fraction(1, 4)}
    for seed in map(str, range(20)):
        bits = ShakeBits(seed)
        found = called(counts, asked, bits=bits)
        again = ShakeBits(seed)
        kind = mechanisms.Joint if ordered else mechanisms.Canonical
        mechanism = kind(k=2, epsilon=Fraction(3, 200), neighbors=relation)
        names = [MENU[i] for i in mechanism.select([300, 2, 500], bits=again)]
        noise = NoisyCounts(k=2, epsilon=Fraction(1, 200), neighbors=relation, max_items_per_unit=1)
        assert found.items == names
        assert found.counts == [*noise.perturb([counts[name] for name in names], bits=again)]
        assert bits.read(16) == again.read(16)
        each, together = noise.error_bound(), noise.error_bound(of=2)
        assert found.error == f"each within {each}, all within {together}, at 95 %"
        assert found.plan.counts_loss == basic([noise.privacy_loss()])
        assert found.plan.items_loss == basic([mechanism.privacy_loss()])
