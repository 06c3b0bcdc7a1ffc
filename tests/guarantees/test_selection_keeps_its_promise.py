"""Selection keeps its promise: exact audits by enumeration, and planted bugs that are seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import log
from typing import Any, cast

import pytest
from guarantees.audit import definitions
from guarantees.audit.audited import MECHANISMS, exact_law
from guarantees.audit.contests import on_the_tape
from guarantees.audit.enumeration import (
    Counts,
    HasLaw,
    Law,
    by_symmetry,
    law_of,
    sorted_vectors,
    with_one_more,
    with_one_replaced,
    worst_log_ratio,
)
from mechanisms.streams import ShakeBits, p_value

from askew.dp.privacy import ADD_OR_REMOVE_ONE, REPLACE_ONE, NeighboringRelation
from askew.errors import ParameterError
from askew.mechanisms import Canonical, Joint, Lipschitz, OneShot, Peeling, PNFJoint
from askew.mechanisms.contest import FAMILIES, NoiseFamily
from askew.mechanisms.tally import Tally, tally_for

Record = Callable[[str, object], None]
EPSILON, ALMOST = 2, Decimal("1e-40")
BOTH = [ADD_OR_REMOVE_ONE, REPLACE_ONE]
NEIGHBORS: dict[NeighboringRelation, Callable[[Counts], Iterable[Counts]]]
NEIGHBORS = {ADD_OR_REMOVE_ONE: with_one_more, REPLACE_ONE: with_one_replaced}
# The others cannot be: half of a joint loss or of a clipped one is all that a unit can move, and
# the tails of Laplace noise are reached at wider gaps only.
TIGHT = sorted(
    name
    for name in MECHANISMS
    if "joint" not in name and "clipped" not in name and "laplace" not in name
)


@cache
def law_named(name: str, k: int, neighbors: NeighboringRelation, epsilon: int = EPSILON) -> HasLaw:
    return exact_law(MECHANISMS[name].build(k=k, epsilon=epsilon, neighbors=neighbors))


def kind_of(name: str) -> str:
    """What the report calls it: its class."""
    return type(MECHANISMS[name].build(k=1, epsilon=1, neighbors=ADD_OR_REMOVE_ONE)).__name__


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


@pytest.mark.thin
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
@pytest.mark.parametrize("k", [1, 2])
def test_the_code_has_its_definitions_law_and_no_unit_moves_it_by_more_than_epsilon(
    name: str, neighbors: NeighboringRelation, k: int, record_property: Record
) -> None:
    law = law_named(name, k, neighbors)
    worst = max(worst_log_ratio(law, d, NEIGHBORS[neighbors]) for d in (2, 3))
    record_property("mechanism", kind_of(name))
    record_property("claimed", EPSILON)
    record_property("exact", float(worst))
    assert worst <= EPSILON + ALMOST
    for d in (2, 3, 4):
        assert differences(name, d, k, neighbors) <= ALMOST


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
@pytest.mark.parametrize(
    ("k", "d", "highest"),
    [
        *(pytest.param(k, 4, 5 - k, marks=pytest.mark.audit) for k in (1, 2, 3)),
        *(pytest.param(k, 5, 2, marks=pytest.mark.nightly) for k in (1, 2, 3)),
    ],
)
def test_no_unit_among_four_or_five_items_moves_a_law_by_more_than_epsilon(
    name: str, neighbors: NeighboringRelation, k: int, d: int, highest: int
) -> None:
    """The counts of neighbors are 0 to `highest`."""
    law = law_named(name, k, neighbors)
    assert differences(name, d, k, neighbors) <= ALMOST
    assert worst_log_ratio(law, d, NEIGHBORS[neighbors], highest) <= EPSILON + ALMOST


def worst_range(law: HasLaw, d: int, neighbors: Callable[[Counts], Iterable[Counts]]) -> Decimal:
    """The largest difference of ln P(o | h) - ln P(o | h') between two outputs of neighbors."""
    worst = Fraction(1)
    for counts in sorted_vectors(d):
        here = law(counts)
        for there in map(law, neighbors(counts)):
            ratios = [p / there[outcome] for outcome, p in here.items()]
            worst = max(worst, max(ratios) / min(ratios))
    with localcontext(prec=60):
        return (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()


RANGED = sorted(name for name in MECHANISMS if name.startswith(("peeling", "joint", "canonical")))
WIDER = ("exponential", "laplace")  # noise whose rounds have no range of epsilon


@pytest.mark.thin
@pytest.mark.parametrize("name", RANGED)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
@pytest.mark.parametrize("k", [1, 2])
def test_no_selection_has_a_range_beyond_what_it_states(
    name: str, neighbors: NeighboringRelation, k: int, record_property: Record
) -> None:
    """What zCDP at epsilon**2 / 8 rests on; other noise than Gumbel's is refused, and would break
    it. Planted bugs: a round of any family; of half its epsilon.
    """
    mechanism: Any = MECHANISMS[name].build(k=k, epsilon=EPSILON, neighbors=neighbors)
    worst = max(worst_range(law_named(name, k, neighbors), d, NEIGHBORS[neighbors]) for d in (2, 3))
    if any(noise in name for noise in WIDER):
        with pytest.raises(ParameterError, match="bounded-range"):
            mechanism.ranged_loss()
        return
    ranged = mechanism.ranged_loss()
    record_property("mechanism", type(mechanism).__name__)
    record_property("claimed", float(ranged.epsilon * ranged.rounds))
    record_property("exact", float(worst))
    assert worst <= ranged.epsilon * ranged.rounds + Fraction(ALMOST)


def test_permute_and_flip_has_a_wider_range_than_its_epsilon() -> None:
    """So the test above has power, and its rounds are charged at their pure epsilon."""
    law = law_named("permute-and-flip", 1, ADD_OR_REMOVE_ONE)
    assert worst_range(law, 3, with_one_more) > Decimal("1.1") * EPSILON


@pytest.mark.thin
@pytest.mark.parametrize("name", TIGHT)
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
def test_the_bound_is_reached_where_the_mechanism_is_tight(
    name: str, neighbors: NeighboringRelation, record_property: Record
) -> None:
    """At a larger epsilon, where gaps weigh more, the worst pair comes within 1 % of the bound."""
    law = law_named(name, 2, neighbors, epsilon=6)
    worst = worst_log_ratio(law, 3, NEIGHBORS[neighbors])
    record_property("mechanism", kind_of(name))
    record_property("claimed", 6)
    record_property("exact", float(worst))
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
def test_renaming_the_items_renames_the_outputs(name: str) -> None:
    """What lets the audits enumerate sorted vectors only."""
    mechanism = MECHANISMS[name].build(k=2, epsilon=EPSILON, neighbors=ADD_OR_REMOVE_ONE)
    for counts in ((0, 2, 1, 2), (1, 0, 3, 1)):
        with on_the_tape():
            direct = law_of(partial(mechanism.draw, Tally(counts, 2)))
        assert direct == pytest.approx(dict(exact_law(mechanism)(counts)), abs=1e-30)


NOISE: tuple[NoiseFamily, ...] = ("exponential", "laplace")


@cache
def one_shot_law(noise: NoiseFamily, rate: Fraction, k: int) -> HasLaw:
    """From the definition; `rate` is what one count adds to a score."""
    return by_symmetry(definitions.one_shot(noise, rate, k), sets=True)


def law_of_mechanism(mechanism: OneShot) -> HasLaw:
    """The law at the rate that the mechanism runs at."""
    return one_shot_law(mechanism.noise, Lipschitz(**vars(mechanism)).rate, mechanism.k)


def build(noise: NoiseFamily, k: int, neighbors: NeighboringRelation) -> OneShot:
    return OneShot(k=k, epsilon=EPSILON, neighbors=neighbors, noise=noise)


@pytest.mark.thin
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("counts", [(3, 1, 0), (2, 2, 1, 0)])
def test_the_mechanism_has_the_law_of_its_definition(noise: NoiseFamily, counts: Counts) -> None:
    """1,500 draws from fixed bits; a run without kappa is rejected on the same bits."""
    mechanism = build(noise, 2, ADD_OR_REMOVE_ONE)
    wrong = Lipschitz(**vars(mechanism), kappa=1)
    expected = {str(o): float(p) for o, p in law_of_mechanism(mechanism)(counts).items()}
    name, drawn = f"{noise}{counts}", list(counts)
    right_bits, wrong_bits = ShakeBits(name), ShakeBits(name)
    assert p_value(lambda: str(mechanism.select(drawn, bits=right_bits)), expected, 1500) > 1e-4
    assert p_value(lambda: str(wrong.select(drawn, bits=wrong_bits)), expected, 1500) < 1e-9


@pytest.mark.thin
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("neighbors", BOTH, ids=lambda n: n.name)
def test_no_unit_moves_a_set_by_more_than_epsilon(
    noise: NoiseFamily, k: int, neighbors: NeighboringRelation
) -> None:
    law = law_of_mechanism(build(noise, k, neighbors))
    for d in range(k + 1, 5):  # with d = k there is one set
        assert worst_log_ratio(law, d, NEIGHBORS[neighbors]) <= EPSILON + ALMOST


def ratio_of_a_set_far_behind(law: HasLaw, step: int) -> float:
    """Two items trail three by 16, then by `step` more; the threshold is rarely below both."""
    near, far = law((16, 16, 16, 0, 0))[3, 4], law((16 + step,) * 3 + (0, 0))[3, 4]
    return log(near / far)


@pytest.mark.parametrize("noise", NOISE)
def test_the_bound_is_reached_by_a_set_far_behind(noise: NoiseFamily) -> None:
    """And one shot without kappa, or without the factor two, is rejected there."""
    mechanism = build(noise, 2, ADD_OR_REMOVE_ONE)
    law = law_of_mechanism(mechanism)
    assert 0.99 * EPSILON <= ratio_of_a_set_far_behind(law, 1) <= EPSILON + 1e-12
    assert ratio_of_a_set_far_behind(law, 2) > 1.9 * EPSILON
    wrong = one_shot_law(noise, Lipschitz(**vars(mechanism), kappa=1).rate, 2)
    assert ratio_of_a_set_far_behind(wrong, 1) > 1.9 * EPSILON


@pytest.fixture
def at_twice_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """For k = 2: the whole budget in each round, or the factor of a score that moves both ways left
    out.
    """
    for kind in (Peeling, Joint, PNFJoint, Canonical):
        rate = cast("property", kind.rate).fget
        assert rate is not None
        monkeypatch.setattr(kind, "rate", doubled(rate))


def doubled(rate: Callable[[Any], Fraction]) -> property:
    return property(lambda self: 2 * rate(self))


def lost(wrong: Any, d: int, neighbors: NeighboringRelation, highest: int = 3) -> Decimal:
    return worst_log_ratio(exact_law(wrong), d, NEIGHBORS[neighbors], highest) / EPSILON


@pytest.mark.usefixtures("at_twice_the_rate")
def test_the_audit_rejects_a_budget_that_is_not_split() -> None:
    wrong = Peeling(k=2, epsilon=EPSILON, neighbors=ADD_OR_REMOVE_ONE)
    assert lost(wrong, 3, ADD_OR_REMOVE_ONE) > Decimal("1.4")


@pytest.mark.usefixtures("at_twice_the_rate")
@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_the_audit_rejects_peeling_without_the_factor_two(noise: NoiseFamily) -> None:
    wrong = Peeling(k=2, epsilon=EPSILON, neighbors=REPLACE_ONE, noise=noise)
    assert lost(wrong, 3, REPLACE_ONE, highest=2) > Decimal("1.4")


@pytest.mark.slow
@pytest.mark.usefixtures("at_twice_the_rate")
@pytest.mark.parametrize("made", [Joint, PNFJoint])
def test_the_audit_rejects_joint_at_the_monotone_rate(made: type[Joint | PNFJoint]) -> None:
    """The joint loss moves both ways even when all counts move one way."""
    wrong = made(k=2, epsilon=EPSILON, neighbors=ADD_OR_REMOVE_ONE)
    assert lost(wrong, 4, ADD_OR_REMOVE_ONE) > Decimal("1.2")


@pytest.mark.usefixtures("at_twice_the_rate")
@pytest.mark.parametrize("noise", FAMILIES)
def test_the_audit_rejects_canonical_without_the_factor_two(noise: NoiseFamily) -> None:
    wrong = Canonical(k=2, epsilon=EPSILON, neighbors=REPLACE_ONE, noise=noise)
    assert lost(wrong, 3, REPLACE_ONE, highest=2) > Decimal("1.4")
